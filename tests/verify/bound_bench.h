/* SPDX-License-Identifier: BSD-3-Clause
 *
 * bound_bench.h: a problem with inputs of a kind, its judge, and what the judge makes of the float
 * kernel on it. For tests of the bound, one program each.
 */
#ifndef FB_TESTS_VERIFY_BOUND_BENCH_H
#define FB_TESTS_VERIFY_BOUND_BENCH_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/numerics.h"
#include "core/status.h"
#include "tests/verify/float_kernel.h"
#include "tests/tap.h"
#include "verify/judge.h"

enum data {
    DATA_NORMAL,
    DATA_MEAN,     /* v, dout = 1 + N/4 */
    DATA_UNIFORM,  /* q = 0 */
    DATA_EQUAL,    /* all keys equal */
    DATA_PEAKY,    /* q times 8: nearly one-hot rows */
    DATA_CHANNEL,  /* one large channel in k */
    DATA_NEGATIVE, /* all scores far below 0 */
    DATA_TINY,     /* dout of 1e-4: subnormal products in fp16 */
    DATA_CONSTANT, /* every token the same */
    DATA_COUNT,
    DATA_DEEP = DATA_COUNT, /* every second query far from all keys, one dout for all; d = 64 */
    DATA_SMALL,             /* 1/32 of normal: sums that are subnormal in fp16 */
    DATA_ROWS,              /* one dout of 64 is large; v and k have a mean */
    DATA_ONE,               /* all queries, and their dout, the same; v has a mean */
    DATA_ALL
};

static const char *const data_names[DATA_ALL] = {
    "normal", "mean",     "uniform", "equal keys", "peaky", "channel",  "negative",
    "tiny",   "constant", "deep",    "small",      "rows",  "one query"};

static double uniform(void)
{
    static uint64_t state = 7;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return ((double)(state >> 11) + 0.5) / 0x1p53;
}

static double normal(void)
{
    return sqrt(-2 * log(uniform())) * cos(2 * M_PI * uniform());
}

static struct fb_tensor tensor(enum fb_dtype dtype, int64_t b, int64_t h, int64_t n, int64_t d)
{
    struct fb_tensor t = {
        .dtype = dtype, .shape = {b, h, n, d}, .stride = {h * n * d, n * d, d, 1}};
    t.data = calloc((size_t)(b * h * n * d + 1), 4);
    return t;
}

/* What element c of row n is, beyond N(0, 1). which: 'q', 'k', 'v' or 'o' (dout). */
static double value(enum data data, char which, int64_t n, int64_t c, double x)
{
    bool v_side = which == 'v' || which == 'o';
    switch (data) {
    case DATA_MEAN:
        return v_side ? 1 + x / 4 : x;
    case DATA_UNIFORM:
        return which == 'q' ? 0 : x;
    case DATA_EQUAL:
        return which == 'k' ? 0.3 * (double)(c % 5) - 0.5 : x;
    case DATA_PEAKY:
        return which == 'q' ? 8 * x : x;
    case DATA_CHANNEL:
        return c == 3 && which == 'k' ? 20 + x : c == 3 && which == 'q' ? 1 + x / 8 : x;
    case DATA_NEGATIVE:
        return which == 'k' ? x + 2 : which == 'q' ? x - 10 : x;
    case DATA_TINY:
        return which == 'o' ? 1e-4 * x : x;
    case DATA_DEEP:
        return which == 'k'            ? x + 2
               : which == 'q' && n & 1 ? x - 20
               : which == 'o'          ? 0.3 * (double)(c * 37 % 19 - 9)
                                       : x;
    case DATA_SMALL:
        return x / 32;
    case DATA_ROWS:
        return which == 'q' ? x : which == 'o' ? (n % 64 == 0 ? 2 : 0.01) * (1 + x) : 1 + 0.25 * x;
    case DATA_ONE:
        return which == 'q'   ? (double)(c * 5 % 11 - 5) / 8
               : which == 'o' ? 0.3 * (double)(c * 37 % 19 - 9)
               : which == 'v' ? 1 + x / 4
                              : x;
    case DATA_CONSTANT:
        return 0.1 * (double)(c % 7) - 0.25 + 0 * (double)n;
    default:
        return x;
    }
}

static void fill(struct fb_tensor *t, enum data data, char which)
{
    int64_t rows = t->shape[0] * t->shape[1] * t->shape[2], d = t->shape[3];
    for (int64_t n = 0; n < rows; n++)
        for (int64_t c = 0; c < d; c++)
            fb_element_write(t->data, t->dtype, n * d + c, value(data, which, n, c, normal()));
}

struct bench {
    struct fb_problem problem;
    struct fb_args args;
    struct fb_judge *judge;
    uint8_t *keep; /* NULL without dropout */
    char name[256];
};

static void open_bench(struct bench *bench, const char *text, enum data data)
{
    struct fb_problem *p = &bench->problem;
    struct fb_args *a = &bench->args;
    memset(bench, 0, sizeof *bench);
    snprintf(bench->name, sizeof bench->name, "%s %s", text, data_names[data]);
    if (fb_problem_parse(p, text) != FB_OK) {
        printf("Bail out! %s: %s\n", text, fb_status_message());
        exit(1);
    }
    a->problem = p;
    a->q = tensor(p->dtype, p->b, p->h, p->nq, p->d);
    a->k = tensor(p->dtype, p->b, p->hk, p->nk, p->d);
    a->v = tensor(p->dtype, p->b, p->hk, p->nk, p->dv);
    a->dout = tensor(p->dtype, p->b, p->h, p->nq, p->dv);
    a->o = tensor(p->dtype, p->b, p->h, p->nq, p->dv);
    a->lse = tensor(FB_FP32, p->b, p->h, p->nq, 1);
    a->dq = tensor(p->dtype, p->b, p->h, p->nq, p->d);
    a->dk = tensor(p->dtype, p->b, p->hk, p->nk, p->d);
    a->dv = tensor(p->dtype, p->b, p->hk, p->nk, p->dv);
    fill(&a->q, data, 'q');
    fill(&a->k, data, 'k');
    fill(&a->v, data, 'v');
    fill(&a->dout, data, 'o');
    const int64_t entries = p->b * p->h * p->nq * p->nk;
    if (p->sink)
        a->sink = tensor(FB_FP32, 1, p->h, 1, 1);
    for (int64_t h = 0; p->sink && h < p->h; h++)
        fb_element_write(a->sink.data, FB_FP32, h, 0.1 * (double)h - 0.12);
    bench->keep = p->dropout > 0 ? malloc((size_t)entries) : NULL;
    for (int64_t n = 0; bench->keep && n < entries; n++)
        bench->keep[n] = uniform() >= p->dropout;
    const struct fb_judge_options options = {.keep = bench->keep};
    if (fb_judge_open(&bench->judge, a, &options) != FB_OK) {
        printf("Bail out! %s: %s\n", text, fb_status_message());
        exit(1);
    }
}

static void close_bench(struct bench *bench)
{
    struct fb_args *a = &bench->args;
    struct fb_tensor *all[] = {&a->q,   &a->k,  &a->v,  &a->dout, &a->o,
                               &a->lse, &a->dq, &a->dk, &a->dv,   &a->sink};
    for (size_t n = 0; n < sizeof all / sizeof *all; n++)
        free(all[n]->data);
    free(bench->keep);
    fb_judge_close(bench->judge);
    fb_problem_free(&bench->problem);
}

static double worst_bound, worst_noise; /* of all that passed */

static struct fb_numerics numerics_of(const char *text)
{
    struct fb_numerics numerics;
    if (fb_numerics_parse(&numerics, text) != FB_OK)
        printf("Bail out! %s\n", fb_status_message());
    return numerics;
}

static struct fb_judgement judge(struct bench *bench, const struct float_kernel *how,
                                 const char *declared)
{
    struct fb_judgement j;
    struct fb_numerics numerics = numerics_of(declared);
    const struct fb_declaration said = {&numerics, how->bm, how->bn, 0};
    if (fb_judge_compare(bench->judge, &said, &bench->args, &j) != FB_OK)
        printf("Bail out! %s\n", fb_status_message());
    return j;
}

static void note_margins(const struct bench *bench, const struct fb_judgement *j)
{
    char line[256] = "";
    for (int t = 0; t < FB_JUDGED_COUNT; t++) {
        if (j->declared[t] == FB_VERDICT_ABSENT)
            continue;
        size_t used = strlen(line);
        snprintf(line + used, sizeof line - used, " %s %.2f/%.2f", fb_judged_name(t),
                 j->metrics[t].bound_ratio * 4, j->metrics[t].noise_ratio);
        worst_bound = fmax(worst_bound, j->metrics[t].bound_ratio);
        if (j->metrics[t].noise_ratio > worst_noise)
            worst_noise = j->metrics[t].noise_ratio;
    }
    tap_note("%s:%s", bench->name, line);
}

/* A correct kernel that does what it declares. What goes down has a late maximum and dropout's
 * factor last, too. */
static void passes(struct bench *bench, const char *numerics, int64_t bm, int64_t bn,
                   bool descending)
{
    struct float_kernel how = {.numerics = numerics_of(numerics),
                               .bm = bm,
                               .bn = bn,
                               .descending = descending,
                               .late = descending,
                               .keep = bench->keep,
                               .factor_last = descending};
    float_kernel_run(&bench->args, &how);
    struct fb_judgement j = judge(bench, &how, numerics);
    note_margins(bench, &j);
    tap_ok(j.verdict == FB_VERDICT_PASS, "%s [%s] %lldx%lld%s passes %s", bench->name, numerics,
           (long long)bm, (long long)bn, descending ? " down" : "", j.reason);
}

static void say_margins(void)
{
    tap_note("largest error of a correct kernel: %.2f of 4 units, %.2f of the emulated noise",
             4 * worst_bound, worst_noise);
    tap_ok(worst_bound < 0.75, "correct kernels stay below three quarters of the bound: %.2f",
           worst_bound);
}

#endif
