/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The judge is judged: rounded reference outputs must pass, and must fail once they are spoilt in
 * one place, with every tensor of a problem, in the full and in the sampled mode.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/numerics.h"
#include "core/problem.h"
#include "core/status.h"
#include "reference/reference.h"
#include "tests/random_tensor.h"
#include "tests/tap.h"
#include "verify/hash.h"
#include "verify/judge.h"

struct bench {
    struct fb_problem p;
    struct fb_args a;
    struct fb_judge *judge;
    int64_t cu_q[8], cu_k[8];
};

static int64_t offsets(const int64_t *lengths, int64_t b, int64_t *cu)
{
    cu[0] = 0;
    for (int64_t s = 0; s < b; s++)
        cu[s + 1] = cu[s] + lengths[s];
    return cu[b];
}

static void write_all(const struct fb_tensor *t, const double *from)
{
    for (int64_t n = 0; from && n < t->shape[0] * t->shape[1] * t->shape[2] * t->shape[3]; n++)
        fb_element_write(t->data, t->dtype, n, from[n]);
}

/* What a perfect kernel would write: the reference, rounded once. */
static void write_perfect(struct bench *w)
{
    struct fb_ref_inputs in;
    struct fb_ref_tensors values;
    struct fb_ref_request want = {.values = &values};
    fb_ref_inputs_from_args(&in, &w->a);
    fb_ref_compute(&in, &want);
    write_all(&w->a.o, values.o);
    write_all(&w->a.lse, values.lse);
    write_all(&w->a.dq, values.dq);
    write_all(&w->a.dk, values.dk);
    write_all(&w->a.dv, values.dv);
    write_all(&w->a.dbias, values.dbias);
    write_all(&w->a.dsink, values.dsink);
    fb_ref_free(&values);
}

static void open_bench(struct bench *w, const char *text, enum fb_judge_mode mode, double spread)
{
    memset(w, 0, sizeof *w);
    struct fb_problem *p = &w->p;
    struct fb_args *a = &w->a;
    if (fb_problem_parse(p, text) != FB_OK) {
        printf("Bail out! %s: %s\n", text, fb_status_message());
        exit(1);
    }
    a->problem = p;
    int64_t b = p->b, nq = p->nq, nk = p->nk;
    if (p->qlens) {
        b = 1;
        nq = offsets(p->qlens, p->b, w->cu_q);
        nk = offsets(p->klens, p->b, w->cu_k);
        a->cu_qlens = w->cu_q;
        a->cu_klens = w->cu_k;
    }
    a->q = tensor(p->dtype, b, p->h, nq, p->d);
    a->k = tensor(p->dtype, b, p->hk, nk, p->d);
    a->v = tensor(p->dtype, b, p->hk, nk, p->dv);
    a->dout = tensor(p->dtype, b, p->h, nq, p->dv);
    a->o = tensor(p->dtype, b, p->h, nq, p->dv);
    a->lse = tensor(FB_FP32, b, p->h, nq, 1);
    a->dq = tensor(p->dtype, b, p->h, nq, p->d);
    a->dk = tensor(p->dtype, b, p->hk, nk, p->d);
    a->dv = tensor(p->dtype, b, p->hk, nk, p->dv);
    if (p->dlse)
        a->dlse = tensor(FB_FP32, b, p->h, nq, 1);
    if (p->sink) {
        a->sink = tensor(FB_FP32, 1, p->h, 1, 1);
        a->dsink = tensor(FB_FP32, 1, p->h, 1, 1);
    }
    if (p->bias != FB_BIAS_NONE) {
        a->bias = tensor(FB_FP32, 1, p->h, p->nq, p->nk);
        a->dbias = tensor(FB_FP32, 1, p->h, p->nq, p->nk);
    }
    struct fb_tensor *inputs[] = {&a->q, &a->k, &a->v, &a->dout, &a->dlse, &a->sink, &a->bias};
    for (size_t n = 0; n < sizeof inputs / sizeof *inputs; n++)
        if (inputs[n]->data)
            randomize(inputs[n]);
    for (int64_t n = 0; spread != 1 && n < b * p->h * nq * p->d; n++)
        fb_element_write(a->q.data, p->dtype, n, spread * fb_element_read(a->q.data, p->dtype, n));
    struct fb_judge_options options = {.mode = mode, .seed = 3, .no_device = true};
    if (fb_judge_open(&w->judge, a, &options) != FB_OK) {
        printf("Bail out! %s: %s\n", text, fb_status_message());
        exit(1);
    }
    write_perfect(w);
}

static void close_bench(struct bench *w)
{
    struct fb_args *a = &w->a;
    struct fb_tensor *all[] = {&a->q,  &a->k,  &a->v,    &a->dout, &a->o,    &a->lse,   &a->dq,
                               &a->dk, &a->dv, &a->dlse, &a->sink, &a->bias, &a->dsink, &a->dbias};
    for (size_t n = 0; n < sizeof all / sizeof *all; n++)
        free(all[n]->data);
    fb_judge_close(w->judge);
    fb_problem_free(&w->p);
}

static struct fb_judgement judge(struct bench *w)
{
    struct fb_judgement j;
    const struct fb_declaration standard = {&fb_numerics_standard, 64, 64, 0};
    if (fb_judge_compare(w->judge, &standard, &w->a, &j) != FB_OK)
        printf("Bail out! %s\n", fb_status_message());
    return j;
}

/* Spoils one element at a time of each tensor and expects that tensor, and no other, to fail. */
static void spoil_each(struct bench *w, const char *text)
{
    struct fb_args *a = &w->a;
    struct fb_tensor *tensors[FB_JUDGED_COUNT] = {&a->o,  &a->lse,   &a->dq,   &a->dk,
                                                  &a->dv, &a->dbias, &a->dsink};
    for (int t = 0; t < FB_JUDGED_COUNT; t++) {
        if (!tensors[t]->data)
            continue;
        int64_t count = tensors[t]->shape[0] * tensors[t]->shape[1] * tensors[t]->shape[2] *
                        tensors[t]->shape[3];
        int64_t at = count - 1;
        double was = fb_element_read(tensors[t]->data, tensors[t]->dtype, at);
        const double faults[] = {was + 1, NAN, INFINITY};
        bool caught = true;
        for (int f = 0; f < 3; f++) {
            fb_element_write(tensors[t]->data, tensors[t]->dtype, at, faults[f]);
            struct fb_judgement j = judge(w);
            caught = caught && j.verdict == FB_VERDICT_FAIL && j.declared[t] == FB_VERDICT_FAIL &&
                     strstr(j.reason, fb_judged_name(t)) == j.reason;
            for (int other = 0; other < FB_JUDGED_COUNT; other++)
                caught = caught && (other == t || j.declared[other] != FB_VERDICT_FAIL);
        }
        fb_element_write(tensors[t]->data, tensors[t]->dtype, at, was);
        tap_ok(caught, "%s: +1, NaN, Inf in the last element of %s", text, fb_judged_name(t));
    }
    tap_ok(judge(w).verdict == FB_VERDICT_PASS, "%s: passes again", text);
}

static void test_judge(void)
{
    static const char *const problems[] = {
        "h=2,n=70,d=16,dtype=fp32",
        "b=2,h=4,hk=2,nq=50,nk=70,d=16,dv=8,causal,dtype=bf16",
        "h=2,n=40,d=16,softcap=3,sink,dlse,window=20:0,dtype=fp16",
        "b=2,h=2,n=33,d=8,bias=head,dropout=0.2@3:4,alibi=auto,dtype=fp32",
        "b=3,h=2,hk=1,nq=30,nk=40,d=8,qlens=30+0+17,klens=21+5+40,causal,dtype=bf16",
    };
    for (size_t n = 0; n < sizeof problems / sizeof *problems; n++) {
        struct bench w;
        open_bench(&w, problems[n], FB_JUDGE_AUTO, 1);
        struct fb_judgement j = judge(&w);
        tap_ok(j.verdict == FB_VERDICT_PASS && j.verdict_standard == FB_VERDICT_PASS &&
                   !j.reason[0],
               "%s: the rounded reference passes %s", problems[n], j.reason);
        tap_is(fb_judge_coverage(w.judge), "all", "and all of it was judged");
        spoil_each(&w, problems[n]);
        close_bench(&w);
    }
}

static void test_dead_rows(void)
{
    struct bench w;
    open_bench(&w, "nq=50,nk=20,d=16,causal,dtype=bf16", FB_JUDGE_AUTO, 1);
    struct fb_judgement j = judge(&w);
    tap_ok(j.verdict == FB_VERDICT_PASS && j.metrics[FB_JUDGED_LSE].nonfinite == 0,
           "an lse of -inf is right for rows without keys %s", j.reason);
    fb_element_write(w.a.dq.data, FB_BF16, 3, 1e-30);
    j = judge(&w);
    tap_ok(j.declared[FB_JUDGED_DQ] == FB_VERDICT_FAIL, "1e-30 in such a row of dq fails: %s",
           j.reason);
    fb_element_write(w.a.dq.data, FB_BF16, 3, 0);
    ((float *)w.a.lse.data)[40] = -INFINITY;
    j = judge(&w);
    tap_ok(j.declared[FB_JUDGED_LSE] == FB_VERDICT_FAIL, "-inf for a row with keys fails: %s",
           j.reason);
    ((float *)w.a.lse.data)[40] = 0;
    ((float *)w.a.lse.data)[0] = -1e30f;
    j = judge(&w);
    tap_ok(j.declared[FB_JUDGED_LSE] == FB_VERDICT_FAIL, "a finite lse for one without fails: %s",
           j.reason);
    close_bench(&w);
}

static void test_sampled(void)
{
    struct bench w;
    open_bench(&w, "h=2,n=700,d=16,causal,dtype=bf16", FB_JUDGE_SAMPLED, 1);
    struct fb_judgement j = judge(&w);
    tap_note("%s", fb_judge_coverage(w.judge));
    tap_ok(j.verdict == FB_VERDICT_PASS, "sampled: the rounded reference passes %s", j.reason);
    tap_ok(j.metrics[FB_JUDGED_DQ].elements < 700 * 2 * 16 &&
               strstr(fb_judge_coverage(w.judge), " of "),
           "and says how much it saw");
    spoil_each(&w, "sampled");
    static const int64_t edges[] = {0, 63, 64, 127, 128, 639, 640, 699};
    bool caught = true;
    for (size_t n = 0; n < sizeof edges / sizeof *edges; n++) {
        double was = fb_element_read(w.a.dv.data, FB_BF16, edges[n] * 16);
        fb_element_write(w.a.dv.data, FB_BF16, edges[n] * 16, was + 1);
        caught = caught && judge(&w).declared[FB_JUDGED_DV] == FB_VERDICT_FAIL;
        fb_element_write(w.a.dv.data, FB_BF16, edges[n] * 16, was);
    }
    tap_ok(caught, "faults at tile edges are in the sample");
    int missed = 0;
    for (int64_t n = 0; n < 1400; n++) {
        double was = fb_element_read(w.a.dq.data, FB_BF16, n * 16 + 5);
        fb_element_write(w.a.dq.data, FB_BF16, n * 16 + 5, NAN);
        missed += judge(&w).declared[FB_JUDGED_DQ] != FB_VERDICT_FAIL;
        fb_element_write(w.a.dq.data, FB_BF16, n * 16 + 5, was);
    }
    tap_ok(missed == 0, "a NaN in any row is seen, sampled or not");
    struct fb_tensor o = tensor(FB_BF16, 1, 2, 700, 16), lse = tensor(FB_FP32, 1, 2, 700, 1);
    tap_ok(fb_judge_forward(w.judge, &o, &lse) == FB_OK &&
               fb_hash_tensor(&o) == fb_hash_tensor(&w.a.o) &&
               fb_hash_tensor(&lse) == fb_hash_tensor(&w.a.lse),
           "the reference's forward is complete all the same");
    free(o.data);
    free(lse.data);
    close_bench(&w);
}

static void test_limits(void)
{
    struct bench w;
    open_bench(&w, "n=64,d=64,dtype=bf16", FB_JUDGE_AUTO, 4e6);
    struct fb_judgement j = judge(&w);
    tap_ok(j.declared[FB_JUDGED_DV] == FB_VERDICT_NOT_CHECKABLE &&
               j.verdict == FB_VERDICT_NOT_CHECKABLE,
           "logits beyond fp32: %s", j.reason);
    fb_element_write(w.a.dv.data, FB_BF16, 7, NAN);
    tap_ok(judge(&w).verdict == FB_VERDICT_FAIL, "but a NaN fails there too");
    close_bench(&w);
    open_bench(&w, "n=64,d=64,dtype=bf16", FB_JUDGE_AUTO, 1);
    struct fb_args outputs = {.problem = &w.p, .dq = w.a.dq};
    const struct fb_declaration no_tiles = {&fb_numerics_standard, 0, 0, 0};
    fb_judge_compare(w.judge, &no_tiles, &outputs, &j);
    tap_ok(j.verdict == FB_VERDICT_PASS && j.declared[FB_JUDGED_O] == FB_VERDICT_ABSENT &&
               j.declared[FB_JUDGED_DQ] == FB_VERDICT_PASS,
           "tensors that are not handed over are not judged");
    outputs.dq.data = NULL;
    fb_judge_compare(w.judge, &no_tiles, &outputs, &j);
    tap_ok(j.verdict == FB_VERDICT_ABSENT, "and nothing at all is no pass");
    struct fb_judge *none;
    w.a.v.shape[3] = 63;
    tap_ok(fb_judge_open(&none, &w.a, NULL) == FB_USAGE && !none, "misshapen inputs: %s",
           fb_status_message());
    fb_status_clear();
    close_bench(&w);
}

/* The next number of bf16: within any bound, but not exact. */
static void nudge(const struct fb_tensor *t, int64_t element)
{
    ((uint16_t *)t->data)[element] += 1;
}

/* On data that leave nothing to round each bit counts, but where a rounding is declared: the share
 * of a query head in dk and dv, where several share a key head. */
static void expect_certificate(const char *text, unsigned roundings, bool on_dq,
                               enum fb_verdict declared, const char *what)
{
    const struct fb_judge_options exact = {.mode = FB_JUDGE_FULL, .exact = true};
    const struct fb_declaration said = {&fb_numerics_standard, 64, 64, roundings};
    struct fb_judgement perfect, nudged;
    struct bench w;
    open_bench(&w, text, FB_JUDGE_FULL, 1);
    fb_judge_close(w.judge);
    if (fb_judge_open(&w.judge, &w.a, &exact) != FB_OK)
        printf("Bail out! %s\n", fb_status_message());
    fb_judge_compare(w.judge, &said, &w.a, &perfect);
    nudge(on_dq ? &w.a.dq : &w.a.dk, 77);
    fb_judge_compare(w.judge, &said, &w.a, &nudged);
    tap_ok(perfect.verdict == FB_VERDICT_PASS && perfect.verdict_standard == FB_VERDICT_PASS &&
               nudged.verdict == declared && nudged.verdict_standard == FB_VERDICT_FAIL &&
               (declared == FB_VERDICT_PASS) == !nudged.reason[0] &&
               (declared == FB_VERDICT_PASS) == !!strstr(nudged.remark, "a declared rounding"),
           "%s", what);
    close_bench(&w);
}

static void test_certificate(void)
{
    const char *grouped = "h=4,hk=2,n=33,d=16,dtype=bf16", *plain = "h=4,n=33,d=16,dtype=bf16";
    expect_certificate(grouped, 0, false, FB_VERDICT_FAIL, "exact data: a bit of dk fails");
    expect_certificate(grouped, FB_ROUNDS_HEADS, false, FB_VERDICT_PASS,
                       "... but not where shares of heads are declared to be rounded");
    expect_certificate(grouped, FB_ROUNDS_HEADS, true, FB_VERDICT_FAIL, "... which dq has none of");
    expect_certificate(plain, FB_ROUNDS_HEADS, false, FB_VERDICT_FAIL,
                       "... nor dk without grouped heads");
}

int main(void)
{
    test_certificate();
    test_judge();
    test_dead_rows();
    test_sampled();
    test_limits();
    return tap_done();
}
