/* SPDX-License-Identifier: BSD-3-Clause
 *
 * self_test.c: one small problem a dtype, the reference's gradients rounded once, and a table of
 * faults. Each fault names the mutant that must miss it; every other mutant is not asked about it.
 */
#include "verify/self_test/self_test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/half.h"
#include "core/numerics.h"
#include "core/problem.h"
#include "core/status.h"
#include "reference/reference.h"
#include "verify/judge.h"

/* Grouped heads, unequal lengths and a head size off every vector; 1.5 tiles of 64. */
static const char *const problems[] = {"b=1,h=4,hk=2,nq=96,nk=96,d=20,causal,dtype=fp32",
                                       "b=1,h=4,hk=2,nq=96,nk=96,d=20,causal,dtype=bf16"};

enum { INPUTS = 4, TENSORS = 9 };

struct trial {
    struct fb_problem problem;
    struct fb_args args;
    struct fb_ref_tensors values;
};

/* ---- Perfect gradients --------------------------------------------------------------------------
 */

static void all_tensors(struct fb_args *a, struct fb_tensor *all[TENSORS])
{
    struct fb_tensor *const list[TENSORS] = {&a->q,   &a->k,  &a->v,  &a->dout, &a->o,
                                             &a->lse, &a->dq, &a->dk, &a->dv};
    memcpy(all, list, sizeof list);
}

static void shape(struct trial *t)
{
    const struct fb_problem *p = &t->problem;
    struct fb_tensor *all[TENSORS];
    all_tensors(&t->args, all);
    for (int i = 0; i < TENSORS; i++) {
        bool keys = all[i] == &t->args.k || all[i] == &t->args.v || all[i] == &t->args.dk ||
                    all[i] == &t->args.dv;
        bool lse = all[i] == &t->args.lse;
        int64_t h = keys ? p->hk : p->h, n = keys ? p->nk : p->nq, d = lse ? 1 : p->d;
        *all[i] = (struct fb_tensor){.dtype = lse ? FB_FP32 : p->dtype,
                                     .shape = {p->b, h, n, d},
                                     .stride = {h * n * d, n * d, d, 1}};
    }
}

static int64_t elements(const struct fb_tensor *t)
{
    return t->shape[0] * t->shape[1] * t->shape[2] * t->shape[3];
}

/* Roughly normal: the sum of four uniform numbers. */
static double draw(uint64_t *state)
{
    double sum = 0;
    for (int i = 0; i < 4; i++) {
        *state = *state * 6364136223846793005u + 1442695040888963407u;
        sum += (double)(*state >> 40) * 0x1p-24 - 0.5;
    }
    return sum * 1.7;
}

static void write_all(const struct fb_tensor *t, const double *from)
{
    for (int64_t n = 0; n < elements(t); n++)
        fb_element_write(t->data, t->dtype, n, from[n]);
}

/* What a perfect kernel would write: the reference, rounded once. */
static void write_perfect(const struct trial *t)
{
    write_all(&t->args.o, t->values.o);
    write_all(&t->args.lse, t->values.lse);
    write_all(&t->args.dq, t->values.dq);
    write_all(&t->args.dk, t->values.dk);
    write_all(&t->args.dv, t->values.dv);
}

static void close_trial(struct trial *t)
{
    struct fb_tensor *all[TENSORS];
    all_tensors(&t->args, all);
    for (int i = 0; i < TENSORS; i++)
        free(all[i]->data);
    fb_ref_free(&t->values);
    fb_problem_free(&t->problem);
}

static enum fb_status open_trial(struct trial *t, const char *text)
{
    enum fb_status status;
    struct fb_tensor *all[TENSORS];
    uint64_t state = 20240229;
    memset(t, 0, sizeof *t);
    FB_TRY(fb_problem_parse(&t->problem, text));
    t->args.problem = &t->problem;
    shape(t);
    all_tensors(&t->args, all);
    for (int i = 0; i < TENSORS; i++) {
        all[i]->data = calloc((size_t)elements(all[i]) + 1, sizeof(float));
        if (!all[i]->data) {
            status = fb_fail(FB_NO_MEMORY, "no memory for the judge's test");
            goto out;
        }
        for (int64_t n = 0; i < INPUTS && n < elements(all[i]); n++)
            fb_element_write(all[i]->data, all[i]->dtype, n, draw(&state));
    }
    struct fb_ref_inputs inputs;
    const struct fb_ref_request want = {.values = &t->values};
    fb_ref_inputs_from_args(&inputs, &t->args);
    FB_TRY_OUT(fb_ref_compute(&inputs, &want));
out:
    if (status != FB_OK)
        close_trial(t);
    return status;
}

static enum fb_status judge_with(const struct trial *t, enum fb_judge_mutant mutant,
                                 struct fb_judgement *judgement)
{
    const struct fb_judge_options options = {.mode = FB_JUDGE_FULL, .mutant = mutant};
    const struct fb_declaration declared = {&fb_numerics_standard, 64, 64, 0};
    struct fb_judge *judge;
    FB_TRY(fb_judge_open(&judge, &t->args, &options));
    enum fb_status status = fb_judge_compare(judge, &declared, &t->args, judgement);
    fb_judge_close(judge);
    return status;
}

/* ---- Faults -------------------------------------------------------------------------------------
 */

static double read_at(const struct fb_tensor *t, int64_t n)
{
    return fb_element_read(t->data, t->dtype, n);
}

static void write_at(const struct fb_tensor *t, int64_t n, double value)
{
    fb_element_write(t->data, t->dtype, n, value);
}

static void one_nan(const struct trial *t)
{
    write_at(&t->args.dq, elements(&t->args.dq) / 3, NAN);
}

static void one_infinity(const struct trial *t)
{
    write_at(&t->args.dv, elements(&t->args.dv) / 3, INFINITY);
}

static void one_element(const struct trial *t)
{
    int64_t n = elements(&t->args.dk) / 3;
    write_at(&t->args.dk, n, -read_at(&t->args.dk, n) - 1);
}

/* Four times what is allowed, as found out by going further first. */
static void four_bounds(const struct trial *t)
{
    const struct fb_tensor *dk = &t->args.dk;
    const int64_t n = elements(dk) / 3;
    const double was = read_at(dk, n);
    struct fb_judgement j;
    write_at(dk, n, was + 1);
    if (judge_with(t, FB_MUTANT_NONE, &j) == FB_OK)
        write_at(dk, n, was + 4 / j.metrics[FB_JUDGED_DK].bound_ratio);
}

static void last_rows(const struct trial *t)
{
    const struct fb_tensor *dv = &t->args.dv;
    const int64_t head = dv->shape[2] * dv->shape[3];
    for (int64_t n = elements(dv) - 16 * dv->shape[3]; n < elements(dv); n++)
        write_at(dv, n, read_at(dv, n - head));
}

static void all_zero(const struct trial *t)
{
    for (int64_t n = 0; n < elements(&t->args.dq); n++)
        write_at(&t->args.dq, n, 0);
}

static void swapped(const struct trial *t)
{
    for (int64_t n = 0; n < elements(&t->args.dk); n++) {
        double dk = read_at(&t->args.dk, n);
        write_at(&t->args.dk, n, read_at(&t->args.dv, n));
        write_at(&t->args.dv, n, dk);
    }
}

static void lost_row(const struct trial *t)
{
    const int64_t d = t->args.dq.shape[3];
    for (int64_t c = 0; c < d; c++)
        write_at(&t->args.dq, 40 * d + c, 0);
}

static void one_percent(const struct trial *t)
{
    for (int64_t n = 0; n < elements(&t->args.dq); n++)
        write_at(&t->args.dq, n, 1.01 * read_at(&t->args.dq, n));
}

static const struct {
    const char *name;
    void (*put)(const struct trial *t);
    enum fb_judge_mutant missed_by;
} faults[] = {
    {"one NaN in dq", one_nan, FB_MUTANT_NAN_PASSES},
    {"one infinity in dv", one_infinity, FB_MUTANT_NAN_PASSES},
    {"one element of dk four bounds off", four_bounds, FB_MUTANT_LOOSE},
    {"dq all zero", all_zero, FB_MUTANT_SELF},
    {"dk and dv swapped", swapped, FB_MUTANT_SELF},
    {"the last 16 rows of dv from another head", last_rows, FB_MUTANT_SHORT},
    {"one element of dk of the other sign", one_element, FB_MUTANT_NONE},
    {"one row of dq lost", lost_row, FB_MUTANT_NONE},
    {"dq off by one percent", one_percent, FB_MUTANT_NONE},
};

/* ---- The trial ----------------------------------------------------------------------------------
 */

static void tell(const struct fb_self_test_report *report, const struct trial *t, const char *judge,
                 const char *fault, bool as_expected, const char *reason)
{
    char text[96];
    snprintf(text, sizeof text, "%s: %s", fb_dtype_name(t->problem.dtype), fault);
    report->line(report->user, judge, text, as_expected, reason);
}

/* The sound judge must fail the fault, the mutant that it is meant for must pass it. */
static enum fb_status try_fault(const struct trial *t, size_t fault,
                                const struct fb_self_test_report *report)
{
    struct fb_judgement j;
    enum fb_judge_mutant mutant = faults[fault].missed_by;
    write_perfect(t);
    faults[fault].put(t);
    FB_TRY(judge_with(t, FB_MUTANT_NONE, &j));
    tell(report, t, "judge", faults[fault].name, j.verdict == FB_VERDICT_FAIL, j.reason);
    if (mutant == FB_MUTANT_NONE)
        return FB_OK;
    FB_TRY(judge_with(t, mutant, &j));
    tell(report, t, fb_mutant_name(mutant), faults[fault].name, j.verdict == FB_VERDICT_PASS,
         j.reason);
    return FB_OK;
}

static enum fb_status try_all(const struct trial *t, const struct fb_self_test_report *report)
{
    struct fb_judgement j;
    write_perfect(t);
    for (int mutant = FB_MUTANT_NONE; mutant < FB_MUTANT_COUNT; mutant++) {
        FB_TRY(judge_with(t, mutant, &j));
        tell(report, t, mutant ? fb_mutant_name(mutant) : "judge", "no fault at all",
             j.verdict == FB_VERDICT_PASS, j.reason);
    }
    for (size_t f = 0; f < sizeof faults / sizeof *faults; f++)
        FB_TRY(try_fault(t, f, report));
    return FB_OK;
}

enum fb_status fb_judge_self_test(const struct fb_self_test_report *report)
{
    for (size_t p = 0; p < sizeof problems / sizeof *problems; p++) {
        struct trial t;
        FB_TRY(open_trial(&t, problems[p]));
        enum fb_status status = try_all(&t, report);
        close_trial(&t);
        FB_TRY(status);
    }
    return FB_OK;
}
