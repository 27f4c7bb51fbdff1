/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The bound is neither too tight nor too loose: correct kernels of every type, order, tile and
 * declared accumulator pass on ordinary and on nasty data, and every classic mistake fails.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/numerics.h"
#include "core/status.h"
#include "tests/float_kernel.h"
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
    DATA_ALL
};

static const char *const data_names[DATA_ALL] = {"normal",   "mean",    "uniform",  "equal keys",
                                                 "peaky",    "channel", "negative", "tiny",
                                                 "constant", "deep",    "small",    "rows"};

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

/* The long problems take minutes under a sanitizer and have nothing new for one. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

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

static void fails(struct bench *bench, enum mutation mutation, const char *what)
{
    struct float_kernel how = {
        .numerics = fb_numerics_standard, .bm = 64, .bn = 64, .mutation = mutation};
    float_kernel_run(&bench->args, &how);
    struct fb_judgement j = judge(bench, &how, "");
    tap_ok(j.verdict == FB_VERDICT_FAIL, "%s: %s fails: %s", bench->name, what, j.reason);
}

/* Does one thing, declares another. */
static void fails_undeclared(struct bench *bench, const char *does, int64_t bm, int64_t bn)
{
    struct float_kernel how = {.numerics = numerics_of(does), .bm = bm, .bn = bn};
    float_kernel_run(&bench->args, &how);
    struct fb_judgement j = judge(bench, &how, "");
    tap_ok(j.verdict == FB_VERDICT_FAIL, "%s: undeclared [%s] fails: %s", bench->name, does,
           j.reason);
    j = judge(bench, &how, does);
    tap_ok(j.verdict == FB_VERDICT_PASS && j.verdict_standard == FB_VERDICT_FAIL,
           "%s: declared [%s] passes, and fails the standard %s", bench->name, does, j.reason);
}

/* Declares accumulators that it does not have: no fault, but worth a remark. */
static void remarks(void)
{
    struct bench b;
    struct float_kernel how = {.numerics = fb_numerics_standard, .bm = 32, .bn = 32};
    open_bench(&b, "n=300,d=32,dtype=fp32", DATA_NORMAL);
    float_kernel_run(&b.args, &how);
    static const char *const declared[] = {"dq=bf16", "dkv=bf16-truncate", "dq=bf16-stochastic",
                                           "dkv=fp16"};
    for (int n = 0; n < 4; n++) {
        struct fb_judgement j = judge(&b, &how, declared[n]);
        tap_ok(j.verdict == FB_VERDICT_PASS && j.remark[0], "declared [%s] only: %s", declared[n],
               j.remark);
        how.numerics = numerics_of(declared[n]);
        float_kernel_run(&b.args, &how);
        j = judge(&b, &how, declared[n]);
        tap_ok(j.verdict == FB_VERDICT_PASS && !j.remark[0], "[%s] declared and done %s",
               declared[n], j.remark);
        how.numerics = fb_numerics_standard;
        float_kernel_run(&b.args, &how);
    }
    close_bench(&b);
}

/* Under a sanitizer each type takes a third of the shapes and of the data. */
static void correct_kernels(void)
{
    const int step = SANITIZED ? 3 : 1;
    static const char *const types[] = {"fp32", "bf16", "fp16"};
    static const char *const shapes[] = {"n=300,d=32", "n=256,d=32,causal",
                                         "nq=200,nk=333,d=40,causal",
                                         "nq=333,nk=200,d=64,dv=48,causal", "h=6,hk=2,n=130,d=24"};
    for (int t = 0; t < 3; t++) {
        for (int s = t % step; s < 5; s += step) {
            char text[128];
            struct bench bench;
            snprintf(text, sizeof text, "%s,dtype=%s", shapes[s], types[t]);
            open_bench(&bench, text, DATA_NORMAL);
            passes(&bench, "", 64, 64, false);
            passes(&bench, "", 32, 128, true);
            passes(&bench, "delta=recomputed,ps=fp32", 64, 64, false);
            close_bench(&bench);
        }
        for (int data = DATA_NORMAL + 1 + t % step; data < DATA_COUNT; data += step) {
            char text[128];
            struct bench bench;
            snprintf(text, sizeof text, "n=%d,d=32,%sdtype=%s", data & 1 ? 300 : 257,
                     data & 2 ? "causal," : "", types[t]);
            open_bench(&bench, text, data);
            passes(&bench, "", 64, 64, false);
            passes(&bench, "", 64, 128, true);
            passes(&bench, "delta=recomputed", 64, 64, false);
            passes(&bench, "delta=bf16", 64, 64, false);
            passes(&bench, "lse=bf16", 64, 64, false);
            close_bench(&bench);
        }
    }
}

static void small_and_odd(void)
{
    static const char *const shapes[] = {"n=1,d=16,dtype=fp16",
                                         "n=1,d=64,causal,dtype=bf16",
                                         "nq=1,nk=500,d=64,dtype=bf16",
                                         "nq=300,nk=1,d=64,dtype=bf16",
                                         "nq=256,nk=3,d=32,causal,dtype=fp16",
                                         "n=2,d=1,dtype=fp32",
                                         "n=100,d=80,scale=0,dtype=bf16",
                                         "n=100,d=80,scale=-0.1,dtype=bf16",
                                         "n=100,d=64,scale=0.3,softcap=2,dtype=bf16",
                                         "n=100,d=64,scale=0.3,softcap=2,dtype=fp32",
                                         "n=150,d=64,window=16:0,dtype=bf16",
                                         "nq=40,nk=12,d=16,window=3:0,dtype=fp32",
                                         "n=128,d=256,causal,dtype=fp16"};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        struct bench bench;
        open_bench(&bench, shapes[s], DATA_NORMAL);
        passes(&bench, "", 64, 64, false);
        passes(&bench, "", 16, 32, true);
        close_bench(&bench);
    }
}

/* Sums in fp16 beside values in another type: what is below 2^-24 gets lost, or rounded up to it.
 */
static void small_sums(void)
{
    static const char *const shapes[] = {"n=300,d=32,causal,dtype=bf16",
                                         "n=300,d=32,scale=3,dtype=fp32",
                                         "h=4,hk=2,n=200,d=24,scale=0.01,dtype=bf16"};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        struct bench bench;
        open_bench(&bench, shapes[s], DATA_TINY);
        passes(&bench, "dkv=fp16,dq=fp16", 64, 64, false);
        passes(&bench, "dkv=fp16,dq=fp16", 16, 32, true);
        close_bench(&bench);
    }
    struct bench bench; /* scaled at the end, by more than 1 */
    open_bench(&bench, "h=2,n=200,d=32,scale=8,dtype=fp32", DATA_SMALL);
    passes(&bench, "dkv=fp16,dq=fp16", 64, 64, false);
    close_bench(&bench);
}

/* Rows of one key that is dropped, whose o is subnormal in fp16; or kept in one row after the
 * other, with the same rounding of 1 / (1 - dropout) in all of them. */
static void deep_dropout(void)
{
    static const char *const shapes[] = {
        "b=2,h=6,hk=3,nq=256,nk=108,d=64,window=36:-1,dropout=0.17@1:0,dtype=fp16",
        "b=2,h=6,hk=3,nq=513,nk=127,d=111,window=42:-1,dropout=0.17@1:0,dtype=fp16",
        "h=6,hk=3,nq=307,nk=256,d=64,causal,window=64:0,dropout=0.17@1:0,dtype=fp16",
        "h=6,hk=3,nq=307,nk=256,d=64,causal,dropout=0.3@1:0,dtype=bf16"};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        struct bench bench;
        open_bench(&bench, shapes[s], DATA_DEEP);
        passes(&bench, "", 64, 64, false);
        passes(&bench, "", 64, 64, true);
        passes(&bench, "delta=recomputed", 64, 64, false);
        close_bench(&bench);
    }
}

/* Small p in fp16 that the factor of dropout, 10, follows: what was lost is 10 times as much. */
static void late_factor(void)
{
    struct bench bench;
    open_bench(&bench, "h=4,hk=2,nq=22,nk=407,d=96,scale=1,dropout=0.9@1:0,dtype=fp16",
               DATA_NORMAL);
    passes(&bench, "", 64, 64, false);
    passes(&bench, "", 64, 64, true);
    close_bench(&bench);
}

/* Rows of one key that is dropped by a peaky p: o is subnormal in fp16, and delta is made of it. */
static void small_o(void)
{
    static const char *const shapes[] = {
        "b=2,h=6,hk=2,nq=14,nk=85,d=16,scale=1,causal,dropout=0.9@1:0,dtype=fp16",
        "h=4,hk=2,n=64,d=32,scale=1,causal,dropout=0.5@1:0,dtype=fp16"};
    for (int n = 0; n < 2; n++) {
        struct bench bench;
        open_bench(&bench, shapes[n], DATA_PEAKY);
        passes(&bench, "ps=fp32", 64, 64, false);
        passes(&bench, "", 64, 64, true);
        close_bench(&bench);
    }
}

/* Rows whose sink outweighs their keys: the lse is nearly the sink, and near 0. */
static void sinks(void)
{
    static const char *const types[] = {"fp32", "bf16"};
    for (int n = 0; n < 2; n++) {
        struct bench bench;
        char text[96];
        snprintf(text, sizeof text, "h=4,hk=2,n=300,d=32,scale=1,causal,window=1:0,sink,dtype=%s",
                 types[n]);
        open_bench(&bench, text, DATA_NORMAL);
        passes(&bench, "", 64, 64, false);
        passes(&bench, "", 64, 64, true);
        close_bench(&bench);
    }
}

/* Correct kernels that fail on draws of such data. */
static void draws(const char *problem, enum data data, const char *what)
{
    const struct float_kernel how = {
        .numerics = fb_numerics_standard, .bm = 64, .bn = 64, .late = true};
    int failed = 0;
    char reason[256] = "";
    for (int draw = 0; draw < 40; draw++) {
        struct bench bench;
        open_bench(&bench, problem, data);
        float_kernel_run(&bench.args, &how);
        struct fb_judgement j = judge(&bench, &how, "");
        if (j.verdict != FB_VERDICT_PASS && failed++ == 0)
            memcpy(reason, j.reason, sizeof reason);
        close_bench(&bench);
    }
    tap_ok(failed == 0, "%s: %d of 40 correct kernels fail %s", what, failed, reason);
}

/* delta errs once a query: with three of them a few numbers are the error of all of dk, and of many
 * with a few large ones that of dq; such norms are a matter of luck. */
static void few_queries(void)
{
    draws("h=6,hk=2,nq=3,nk=300,d=64,scale=0.25,dtype=bf16", DATA_MEAN, "three queries");
    draws("h=2,nq=512,nk=20,d=128,dtype=bf16", DATA_ROWS, "few large queries");
}

static void mistakes(void)
{
    static const char *const types[] = {"fp32", "bf16", "fp16"};
    for (int t = 0; t < 3; t++) {
        char text[128];
        struct bench b;
        snprintf(text, sizeof text, "h=6,hk=2,nq=96,nk=224,d=64,scale=0.2,causal,dtype=%s",
                 types[t]);
        open_bench(&b, text, DATA_MEAN);
        fails(&b, MUT_DROP_LAST_KEY, "a dropped key");
        fails(&b, MUT_TOPLEFT, "the wrong alignment");
        fails(&b, MUT_LEAK, "a leak of one key");
        fails(&b, MUT_STRICT, "a strict mask");
        fails(&b, MUT_NO_DELTA, "no delta");
        fails(&b, MUT_TILE_DELTA, "delta by tile");
        fails(&b, MUT_NO_LSE, "p without lse");
        fails(&b, MUT_LOG2, "lse of base 2");
        fails(&b, MUT_DK_UNSCALED, "dk unscaled");
        fails(&b, MUT_DQ_TWICE, "dq scaled twice");
        fails(&b, MUT_SCALE, "scale 1 % off");
        fails(&b, MUT_LOST_TILE, "a lost tile");
        fails(&b, MUT_GQA_LAST, "last head wins");
        fails(&b, MUT_GQA_MOD, "h mod hk");
        fails(&b, MUT_ONE_NAN, "one NaN");
        fails(&b, MUT_ONE_FLIP, "one flipped sign");
        fails(&b, MUT_SWAP, "dk and dv swapped");
        fails(&b, MUT_ZERO, "zeros");
        close_bench(&b);
        snprintf(text, sizeof text, "n=200,d=64,window=64:0,dtype=%s", types[t]);
        open_bench(&b, text, DATA_NORMAL);
        fails(&b, MUT_WINDOW, "a window off by one");
        fails(&b, MUT_LEAK, "a window off by one on the right");
        close_bench(&b);
        snprintf(text, sizeof text, "n=200,d=64,softcap=2,scale=0.3,dtype=%s", types[t]);
        open_bench(&b, text, DATA_NORMAL);
        fails(&b, MUT_SOFTCAP, "no derivative of the softcap");
        close_bench(&b);
    }
}

/* Small everywhere, large nowhere: what only the norm can see. */
static void accumulators(void)
{
    struct bench b;
    if (SANITIZED) {
        tap_skip("long problems: under a sanitizer");
        return;
    }
    open_bench(&b, "n=2048,d=32,dtype=bf16", DATA_NORMAL);
    passes(&b, "", 64, 128, false);
    fails(&b, MUT_DROP_LAST_KEY, "one key of 2048");
    fails(&b, MUT_SCALE, "scale 1 % off");
    fails_undeclared(&b, "dkv=bf16", 64, 128);
    fails_undeclared(&b, "dq=bf16", 64, 64);
    fails_undeclared(&b, "dkv=bf16-stochastic,dq=bf16-truncate", 64, 128);
    close_bench(&b);
    open_bench(&b, "n=2048,d=32,causal,dtype=bf16", DATA_MEAN);
    passes(&b, "", 64, 128, true);
    fails_undeclared(&b, "dkv=bf16", 64, 128);
    passes(&b, "dkv=bf16,dq=bf16", 64, 128, false);
    passes(&b, "dkv=bf16,dq=bf16", 64, 128, true);
    passes(&b, "dkv=bf16-truncate,dq=bf16-truncate", 64, 128, true);
    close_bench(&b);
    open_bench(&b, "n=2048,d=32,causal,dtype=bf16", DATA_NORMAL);
    passes(&b, "", 64, 64, true);
    fails(&b, MUT_DROP_LAST_KEY, "one key of one row");
    fails_undeclared(&b, "dkv=bf16,dq=bf16", 64, 64);
    close_bench(&b);
    open_bench(&b, "n=1024,d=32,dtype=fp32", DATA_NORMAL);
    passes(&b, "", 64, 128, false);
    fails(&b, MUT_DROP_LAST_KEY, "one key of 1024");
    fails_undeclared(&b, "dkv=bf16,dq=bf16", 64, 128);
    fails_undeclared(&b, "dkv=fp16", 64, 128);
    close_bench(&b);
}

int main(void)
{
    remarks();
    correct_kernels();
    small_and_odd();
    small_sums();
    deep_dropout();
    late_factor();
    small_o();
    sinks();
    few_queries();
    mistakes();
    accumulators();
    tap_note("largest error of a correct kernel: %.2f of 4 units, %.2f of the emulated noise",
             4 * worst_bound, worst_noise);
    tap_ok(worst_bound < 0.75, "correct kernels stay below three quarters of the bound: %.2f",
           worst_bound);
    return tap_done();
}
