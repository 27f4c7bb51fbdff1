/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The judge is judged: metrics on hand-made tensors, hashes and run-to-run comparison, and the
 * judge itself on rounded reference outputs (which must pass) that are spoilt in one place (which
 * must fail), with every tensor of a problem, in the full and in the sampled mode.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/half.h"
#include "core/numerics.h"
#include "core/problem.h"
#include "core/status.h"
#include "tests/tap.h"
#include "verify/determinism.h"
#include "verify/hash.h"
#include "reference/reference.h"
#include "verify/judge.h"

static double draw(void)
{
    static uint64_t state = 5;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(int64_t)(state >> 11) / 0x1p52 - 1;
}

static struct fb_tensor tensor(enum fb_dtype dtype, int64_t b, int64_t h, int64_t n, int64_t d)
{
    struct fb_tensor t = {
        .dtype = dtype, .shape = {b, h, n, d}, .stride = {h * n * d, n * d, d, 1}};
    t.data = calloc((size_t)(b * h * n * d + 1), 4);
    return t;
}

static void randomize(struct fb_tensor *t)
{
    for (int64_t n = 0; n < t->shape[0] * t->shape[1] * t->shape[2] * t->shape[3]; n++)
        fb_element_write(t->data, t->dtype, n, draw());
}

/* ---- Metrics ----------------------------------------------------------------------------------
 */

static struct fb_metrics measure(struct fb_tensor *t, const double *reference,
                                 const double *allowed, int64_t rows)
{
    struct fb_metrics m;
    struct fb_metrics_input in = {.tensor = t, .reference = reference, .allowed = allowed};
    in.count = rows;
    in.band = FB_FP32;
    fb_metrics_compare(&in, &m);
    return m;
}

static void test_metrics(void)
{
    struct fb_tensor t = tensor(FB_FP32, 1, 1, 2, 3);
    float *x = t.data;
    const double reference[6] = {3, 0, 4, 0, 0, 12}, allowed[6] = {1, 1, 1, 1, 1, 1};
    for (int n = 0; n < 6; n++)
        x[n] = (float)reference[n];
    struct fb_metrics m = measure(&t, reference, allowed, 2);
    tap_ok(m.max_abs == 0 && m.rel_l2 == 0 && m.row_rel_l2 == 0 && m.cosine == 1 &&
               m.norm_ratio == 1 && m.bound_ratio == 0 && m.nonfinite == 0 && m.elements == 6,
           "equal tensors");
    x[1] = 0.5f;
    m = measure(&t, reference, allowed, 2);
    tap_ok(m.max_abs == 0.5 && fabs(m.rel_l2 - 0.5 / 13) < 1e-15 && m.bound_ratio == 0.5 &&
               m.worst[2] == 0 && m.worst[3] == 1 && m.worst_got == 0.5 && m.worst_want == 0,
           "one difference: size, place and values");
    tap_ok(fabs(m.row_rel_l2 - 0.5 / sqrt(169.0 / 2)) < 1e-15, "worst row against a typical one");
    x[1] = 0;
    x[5] = -12;
    m = measure(&t, reference, allowed, 2);
    tap_ok(m.row_rel_l2 == 2 && m.norm_ratio == 1 && m.cosine < 0, "a flipped sign");
    const float bad[] = {NAN, INFINITY, -INFINITY};
    for (int n = 0; n < 3; n++) {
        x[5] = bad[n];
        m = measure(&t, reference, allowed, 2);
        tap_ok(m.nonfinite == 1 && m.bound_ratio == INFINITY && m.band_ratio == INFINITY &&
                   m.rel_l2 == INFINITY && m.max_abs == INFINITY && m.cosine == 0 &&
                   m.worst[2] == 1 && m.worst[3] == 2,
               "%f is reported and never small", (double)bad[n]);
    }
    memset(x, 0, 6 * sizeof *x);
    m = measure(&t, reference, allowed, 2);
    tap_ok(m.rel_l2 == 1 && m.norm_ratio == 0 && m.cosine == 0, "all zeros");
    t.shape[2] = 0;
    m = measure(&t, reference, allowed, 0);
    tap_ok(m.elements == 0 && m.rel_l2 == 0 && m.bound_ratio == 0 && m.worst[0] == -1,
           "an empty tensor");
    free(t.data);
    struct fb_tensor half = tensor(FB_FP16, 1, 1, 1, 1);
    const double large = 70000, room = 10;
    fb_element_write(half.data, FB_FP16, 0, INFINITY);
    m = measure(&half, &large, &room, 1);
    tap_ok(m.nonfinite == 0 && m.bound_ratio == 0, "an overflow of fp16 that is right");
    fb_element_write(half.data, FB_FP16, 0, -INFINITY);
    m = measure(&half, &large, &room, 1);
    tap_ok(m.nonfinite == 1, "and one of the wrong sign");
    free(half.data);
}

/* ---- Hash and determinism ---------------------------------------------------------------------
 */

static void test_hash(void)
{
    struct fb_tensor t = tensor(FB_BF16, 2, 3, 5, 7), moved = tensor(FB_BF16, 2, 5, 3, 9);
    randomize(&t);
    const struct fb_tensor bnhd = {
        .data = moved.data, .dtype = FB_BF16, .shape = {2, 3, 5, 7}, .stride = {135, 9, 27, 1}};
    for (int64_t b = 0; b < 2; b++)
        for (int64_t h = 0; h < 3; h++)
            for (int64_t n = 0; n < 5; n++)
                for (int64_t d = 0; d < 7; d++)
                    fb_element_write(
                        moved.data, FB_BF16, b * 135 + n * 27 + h * 9 + d,
                        fb_element_read(t.data, FB_BF16, ((b * 3 + h) * 5 + n) * 7 + d));
    uint64_t hash = fb_hash_tensor(&t);
    tap_ok(hash == fb_hash_tensor(&bnhd), "the layout does not matter");
    int collisions = 0;
    for (int64_t n = 0; n < 210; n++) {
        uint16_t *bits = (uint16_t *)t.data + n;
        *bits ^= 1;
        collisions += fb_hash_tensor(&t) == hash;
        *bits ^= 1 ^ 0x8000;
        collisions += fb_hash_tensor(&t) == hash;
        *bits ^= 0x8000;
    }
    tap_ok(collisions == 0, "every flipped bit shows");
    uint16_t first = ((uint16_t *)t.data)[0];
    ((uint16_t *)t.data)[0] = ((uint16_t *)t.data)[1];
    ((uint16_t *)t.data)[1] = first;
    tap_ok(fb_hash_tensor(&t) != hash, "and so does a swap");
    struct fb_tensor known = tensor(FB_FP32, 1, 1, 1, 4);
    const float values[4] = {0, -0.0f, 1, -2};
    memcpy(known.data, values, sizeof values);
    tap_ok(fb_hash_tensor(&known) == 0xcda981da3df02a1eu, "a known hash: %016llx",
           (unsigned long long)fb_hash_tensor(&known));
    free(known.data);
    free(t.data);
    free(moved.data);
}

static void test_determinism(void)
{
    struct fb_determinism d;
    struct fb_tensor t = tensor(FB_FP32, 1, 1, 1, 3);
    float *x = t.data;
    x[0] = 1, x[1] = 0, x[2] = -4;
    fb_determinism_init(&d);
    fb_determinism_add(&d, &t);
    tap_ok(!fb_determinism_holds(&d), "one run proves nothing");
    fb_determinism_add(&d, &t);
    tap_ok(fb_determinism_holds(&d) && d.elements == 3, "two equal runs");
    x[0] = nextafterf(nextafterf(1, 2), 2);
    x[1] = -0.0f;
    fb_determinism_add(&d, &t);
    tap_ok(!fb_determinism_holds(&d) && d.differing == 1 && d.changed == 2 && d.max_ulp == 2 &&
               d.rel_l2 > 0 && d.rel_l2 < 1e-7,
           "two units in the last place, and a -0: %lld elements", (long long)d.changed);
    x[2] = NAN;
    fb_determinism_add(&d, &t);
    tap_ok(d.runs == 4 && d.differing == 2 && d.max_ulp == INT64_MAX, "a NaN is infinitely far");
    t.shape[3] = 2;
    tap_ok(fb_determinism_add(&d, &t) == FB_USAGE, "another shape is refused");
    fb_status_clear();
    tap_ok(!fb_determinism_meaningful(FB_BF16, 20000, 16) &&
               !fb_determinism_meaningful(FB_BF16, 2000000, 2) &&
               fb_determinism_meaningful(FB_BF16, 2000000, 3) &&
               fb_determinism_meaningful(FB_FP32, 20000, 3) &&
               !fb_determinism_meaningful(FB_FP32, 2000, 3),
           "small cases prove little");
    fb_determinism_free(&d);
    free(t.data);
}

/* ---- The judge --------------------------------------------------------------------------------
 */

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
    if (fb_judge_compare(w->judge, &fb_numerics_standard, 64, 64, &w->a, &j) != FB_OK)
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
        tap_ok(!strcmp(fb_judge_coverage(w.judge), "all"), "and all of it was judged");
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
    fb_judge_compare(w.judge, &fb_numerics_standard, 0, 0, &outputs, &j);
    tap_ok(j.verdict == FB_VERDICT_PASS && j.declared[FB_JUDGED_O] == FB_VERDICT_ABSENT &&
               j.declared[FB_JUDGED_DQ] == FB_VERDICT_PASS,
           "tensors that are not handed over are not judged");
    outputs.dq.data = NULL;
    fb_judge_compare(w.judge, &fb_numerics_standard, 0, 0, &outputs, &j);
    tap_ok(j.verdict == FB_VERDICT_ABSENT, "and nothing at all is no pass");
    struct fb_judge *none;
    w.a.v.shape[3] = 63;
    tap_ok(fb_judge_open(&none, &w.a, NULL) == FB_USAGE && !none, "misshapen inputs: %s",
           fb_status_message());
    fb_status_clear();
    close_bench(&w);
}

static void test_bands(void)
{
    double atol, rtol;
    fb_metrics_band(FB_FP32, &atol, &rtol);
    tap_ok(atol == 1e-5 && rtol == 1e-4, "fp32 band");
    fb_metrics_band(FB_BF16, &atol, &rtol);
    tap_ok(atol == 5e-3 && rtol == 5e-3, "bf16 band");
    fb_metrics_band(FB_FP16, &atol, &rtol);
    tap_ok(atol == 1e-3 && rtol == 1e-3, "fp16 band");
}

int main(void)
{
    test_metrics();
    test_bands();
    test_hash();
    test_determinism();
    test_judge();
    test_dead_rows();
    test_sampled();
    test_limits();
    return tap_done();
}
