/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The reference on a device against the reference on the CPU: every row of every tensor to 1e-10,
 * over masks, windows, grouped heads, score terms and packed lengths. And, without a device, what
 * the judge makes of rows outside its sample.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/half.h"
#include "core/numerics.h"
#include "core/problem.h"
#include "core/status.h"
#include "data/buffers.h"
#include "data/inputs.h"
#include "measure/memory_host.h"
#include "verify/device/device.h"
#include "tests/tap.h"
#include "verify/whole.h"

/* A problem with its inputs and the CPU's values of every row. */
struct trial {
    struct fb_problem problem;
    struct fb_buffers buffers;
    struct fb_ref_inputs inputs;
    struct fb_ref_tensors values;
};

static bool trial_open(struct trial *t, const char *text)
{
    static const struct fb_numerics numerics = {0};
    const struct fb_buffers_options plain = {0};
    struct fb_recipe recipe;
    memset(t, 0, sizeof *t);
    struct fb_ref_request want = {.values = &t->values};
    if (fb_problem_parse(&t->problem, text) != FB_OK ||
        fb_buffers_make(&t->buffers, &fb_memory_host, &t->problem, &numerics, &plain) != FB_OK ||
        fb_recipe_parse(&recipe, "randn@5") != FB_OK)
        return tap_ok(false, "%s: %s", text, fb_status_message());
    fb_inputs_fill(&recipe, &t->problem, &t->buffers.args);
    fb_ref_inputs_from_args(&t->inputs, &t->buffers.args);
    return fb_ref_compute(&t->inputs, &want) == FB_OK || tap_ok(false, "%s: not computed", text);
}

static void trial_close(struct trial *t)
{
    fb_ref_free(&t->values);
    fb_buffers_free(&t->buffers);
    fb_problem_free(&t->problem);
}

/* The largest difference relative to 1 + |value|; rows without keys must agree exactly. */
static double difference(const double *a, const double *b, int64_t count)
{
    double worst = 0;
    for (int64_t n = 0; n < count; n++) {
        if (a[n] == b[n])
            continue;
        double one = fabs(a[n] - b[n]) / (1 + fabs(a[n]));
        worst = isnan(one) ? INFINITY : fmax(worst, one);
    }
    return worst;
}

static void compare(const char *text)
{
    struct trial t;
    struct fb_ref_tensors device;
    if (!trial_open(&t, text))
        return;
    const struct fb_ref_tensors *v = &t.values;
    const int64_t d = t.problem.d, dv = t.problem.dv, q = v->q_count, k = v->k_count;
    if (tap_ok(fb_ref_device_offers(&t.problem) &&
                   fb_ref_device_compute(&t.inputs, &device) == FB_OK,
               "%s: computed", text)) {
        double o = difference(v->o, device.o, q * dv), lse = difference(v->lse, device.lse, q);
        double dq = difference(v->dq, device.dq, q * d), dk = difference(v->dk, device.dk, k * d);
        double dvalue = difference(v->dv, device.dv, k * dv);
        tap_ok(fmax(fmax(o, lse), fmax(fmax(dq, dk), dvalue)) <= 1e-10,
               "agrees to 1e-10: o %.1e lse %.1e dq %.1e dk %.1e dv %.1e", o, lse, dq, dk, dvalue);
        fb_ref_free(&device);
    }
    trial_close(&t);
}

static void test_device(void)
{
    static const char *const problems[] = {
        "b=2,h=3,n=67,d=64,dtype=fp32",
        "b=1,h=4,hk=2,nq=50,nk=131,d=40,dv=72,causal,dtype=bf16",
        "b=1,h=2,nq=131,nk=50,d=33,causal,dtype=fp16",
        "b=1,h=2,nq=131,nk=50,d=33,mask=causal-topleft,dtype=fp32",
        "b=1,h=2,n=100,d=256,window=20:3,dtype=bf16",
        "b=1,h=4,n=90,d=32,softcap=2,alibi=auto,causal,dtype=fp32",
        "b=2,h=2,n=70,d=16,sink,dlse,causal,dtype=fp32",
        "h=4,hk=2,qlens=3+0+40,klens=17+5+40,d=24,causal,dtype=fp32",
        "b=1,h=1,nq=256,nk=3,d=32,causal,scale=-0.3,dtype=fp32",
        "b=66000,h=1,n=2,d=8,dtype=fp32",                      /* two chunks of sequences */
        "b=1,h=2,hk=1,nq=40000,nk=1024,d=8,causal,dtype=fp32", /* two blocks of queries */
    };
    struct fb_problem any;
    if (fb_problem_parse(&any, problems[0]) != FB_OK || !fb_ref_device_offers(&any)) {
        tap_skip("cuda reference: no CUDA device, or built without CUDA");
        return;
    }
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++)
        compare(problems[i]);
    fb_problem_parse(&any, "n=8,d=8,bias=all,dtype=fp32");
    tap_ok(!fb_ref_device_offers(&any), "a bias is left to the CPU");
}

/* ---- Rows outside the sample --------------------------------------------------------------------
 */

static void write_dq(struct trial *t)
{
    for (int64_t n = 0; n < t->values.q_count * t->problem.d; n++)
        fb_element_write(t->buffers.args.dq.data, t->problem.dtype, n, t->values.dq[n]);
}

static void test_stray_row(void)
{
    struct trial t;
    struct fb_whole_suspects suspects;
    if (!trial_open(&t, "b=2,h=2,n=40,d=16,causal,dtype=bf16"))
        return;
    const struct fb_tensor *dq = &t.buffers.args.dq;
    struct fb_metrics sampled = {.row_rel_l2 = 4e-3, .bound_ratio = 0.5};
    write_dq(&t);
    fb_whole_compare(&t.values, FB_JUDGED_DQ, dq, FB_BF16, &sampled, &suspects);
    tap_ok(!suspects.count && sampled.rel_l2 < 4e-3 && sampled.rel_l2 > 0 &&
               sampled.cosine > 0.9999 && sampled.elements == 2 * 2 * 40 * 16 &&
               sampled.bound_ratio == 0.5,
           "rounded values pass, and all elements are counted");
    sampled.row_rel_l2 = 4e-3;
    for (int64_t c = 0; c < 16; c++) /* row [1,0,17] */
        fb_element_write(dq->data, FB_BF16, ((1 * 2 + 0) * 40 + 17) * 16 + c, 0);
    fb_whole_compare(&t.values, FB_JUDGED_DQ, dq, FB_BF16, &sampled, &suspects);
    tap_ok(suspects.count == 1 && suspects.rows[0] == 97, "a lost row is suspect");
    sampled.row_rel_l2 = 0.3;
    fb_whole_compare(&t.values, FB_JUDGED_DQ, dq, FB_BF16, &sampled, &suspects);
    tap_ok(!suspects.count, "where sampled rows are as far off, it is no news");
    sampled.row_rel_l2 = 4e-3;
    for (int64_t r = 60; r < 100; r++)
        for (int64_t c = 0; c < 16; c++)
            fb_element_write(dq->data, FB_BF16, r * 16 + c,
                             (r == 71 ? 9 : 3) * t.values.dq[r * 16 + c]);
    fb_whole_compare(&t.values, FB_JUDGED_DQ, dq, FB_BF16, &sampled, &suspects);
    bool sorted = suspects.count == FB_WHOLE_SUSPECTS, worst = false;
    for (int64_t n = 0; n < suspects.count; n++) {
        sorted &= n == 0 || suspects.rows[n] > suspects.rows[n - 1];
        worst |= suspects.rows[n] == 71;
    }
    tap_ok(sorted && worst, "of many the furthest are, in order");
    trial_close(&t);
}

/* Element 5 of row 47 of dq or dk, so many times its bound off: what the judge says. */
static enum fb_verdict verdict_at(struct trial *t, const struct fb_model *model,
                                  const struct fb_ref_tensors *values, enum fb_judged which,
                                  double times, char *text)
{
    const struct fb_whole_suspects suspects = {.rows = {47}, .count = 1};
    const struct fb_args *a = &t->buffers.args;
    const struct fb_tensor *tensor = which == FB_JUDGED_DQ ? &a->dq : &a->dk;
    const double *value = fb_judged_array(values, which);
    enum fb_verdict verdict = FB_VERDICT_ABSENT;
    double *allowed = fb_model_allowed(model, values, which, 16, true);
    memset(tensor->data, 0, 2 * 40 * 16 * 2);
    for (int64_t c = 0; allowed && c < 16; c++)
        fb_element_write(tensor->data, FB_BF16, 47 * 16 + c,
                         value[c] + (c == 5 ? times * allowed[c] : 0));
    if (fb_whole_judge(&t->inputs, model, which, tensor, &suspects, &verdict, text) != FB_OK)
        snprintf(text, 256, "%s", fb_status_message());
    free(allowed);
    return verdict;
}

/* The same of a problem of two heads with 40 queries and keys, d = 16. */
static enum fb_verdict suspect(const char *problem, const char *declared, enum fb_judged which,
                               double times, char text[256])
{
    static const int64_t row = 47;
    const struct fb_ref_rows rows = {&row, &row, 1, 1};
    struct fb_ref_tensors values = {0};
    struct fb_numerics numerics;
    struct fb_model *model;
    struct trial t;
    enum fb_verdict verdict = FB_VERDICT_ABSENT;
    snprintf(text, 256, "not judged");
    if (!trial_open(&t, problem))
        return verdict;
    if (fb_numerics_parse(&numerics, declared) == FB_OK &&
        fb_model_make(&t.inputs, &rows, &numerics, 0, 0, &values, &model) == FB_OK) {
        verdict = verdict_at(&t, model, &values, which, times, text);
        fb_model_free(model);
        fb_ref_free(&values);
    }
    trial_close(&t);
    return verdict;
}

static void test_suspects(void)
{
    static const char plain[] = "b=1,h=2,n=40,d=16,dtype=bf16";
    char text[256];
    enum fb_verdict within = suspect(plain, "", FB_JUDGED_DK, 0.9, text);
    tap_ok(within == FB_VERDICT_PASS && !*text, "a suspect within its bound passes %s", text);
    enum fb_verdict beyond = suspect(plain, "", FB_JUDGED_DK, 1.3, text);
    tap_ok(beyond == FB_VERDICT_FAIL && strstr(text, "dk: row [0,1,7]"), "... beyond fails: %s",
           text);
    enum fb_verdict lost =
        suspect("b=1,h=2,n=40,d=16,scale=1e4,dtype=bf16", "", FB_JUDGED_DK, 1.3, text);
    tap_ok(lost == FB_VERDICT_NOT_CHECKABLE, "... a key's, too, only where fp32 knows p: %s", text);
    enum fb_verdict choice =
        suspect("b=1,h=2,n=40,d=16,scale=10,dtype=bf16", "lse=bf16", FB_JUDGED_DQ, 1.3, text);
    tap_ok(choice == FB_VERDICT_FAIL, "... which a declared bf16 lse does not change: %s", text);
}

/* Every second query: the CPU's values and the same with one number off. */
static void test_agreement(void)
{
    struct trial t;
    int64_t rows[80];
    if (!trial_open(&t, "b=1,h=2,n=40,d=8,causal,dtype=fp32"))
        return;
    for (int64_t r = 0; r < 80; r++)
        rows[r] = r;
    const struct fb_ref_rows all = {rows, rows, 80, 80};
    double *zeros = calloc(80 * 8, sizeof *zeros);
    const struct fb_ref_tensors spread = {
        .o = zeros, .lse = zeros, .dq = zeros, .dk = zeros, .dv = zeros};
    struct fb_ref_tensors other = t.values;
    tap_ok(fb_whole_agrees(&other, &t.inputs, &all, &t.values, &spread), "values agree with "
                                                                         "themselves");
    other.dk = malloc(80 * 8 * sizeof *other.dk);
    memcpy(other.dk, t.values.dk, 80 * 8 * sizeof *other.dk);
    other.dk[500] += 1e-9;
    tap_ok(!fb_whole_agrees(&other, &t.inputs, &all, &t.values, &spread),
           "and not with others by 1e-9");
    free(other.dk);
    free(zeros);
    trial_close(&t);
}

/* Keys' rows from a forward that is known are those from one that is not. */
static void test_known_forward(void)
{
    struct trial t;
    static const int64_t none = 0, keys[] = {0, 7, 39, 40, 66};
    if (!trial_open(&t, "b=1,h=4,hk=2,n=40,d=8,causal,dlse,softcap=3,dtype=fp32"))
        return;
    struct fb_ref_tensors known = {0}, fresh = {0};
    struct fb_ref_request want = {.rows = {&none, keys, 0, 5}, .values = &fresh};
    bool computed = fb_ref_compute(&t.inputs, &want) == FB_OK;
    t.inputs.known_o = t.values.o;
    t.inputs.known_lse = t.values.lse;
    want.values = &known;
    computed &= fb_ref_compute(&t.inputs, &want) == FB_OK;
    tap_ok(computed && difference(fresh.dk, known.dk, 5 * 8) < 1e-13 &&
               difference(fresh.dv, known.dv, 5 * 8) < 1e-13,
           "a known forward gives the same rows of dk and dv");
    fb_ref_free(&known);
    fb_ref_free(&fresh);
    trial_close(&t);
}

int main(void)
{
    test_device();
    test_stray_row();
    test_suspects();
    test_agreement();
    test_known_forward();
    return tap_done();
}
