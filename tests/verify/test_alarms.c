/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the judge once failed correct kernels for: data on which roundings that are usually lost in
 * others stand alone, or are few, or alike.
 */
#include "tests/verify/bound_bench.h"

/* How a correct kernel computes; see passes(). */
struct way {
    const char *numerics;
    int bm, bn;
    bool descending;
};

/* On each of the problems each of the ways passes. Both lists end with NULL. */
static void all_pass(const char *const *problems, enum data data, const struct way *ways)
{
    for (; *problems; problems++) {
        struct bench bench;
        open_bench(&bench, *problems, data);
        for (const struct way *way = ways; way->numerics; way++)
            passes(&bench, way->numerics, way->bm, way->bn, way->descending);
        close_bench(&bench);
    }
}

static const struct way up_and_down[] = {{"", 64, 64, false}, {"", 64, 64, true}, {NULL}};

/* Sums in fp16 beside values in another type: what is below 2^-24 gets lost, or rounded up to it.
 */
static void small_sums(void)
{
    static const char *const problems[] = {"n=300,d=32,causal,dtype=bf16",
                                           "n=300,d=32,scale=3,dtype=fp32",
                                           "h=4,hk=2,n=200,d=24,scale=0.01,dtype=bf16", NULL};
    /* Scaled at the end, by more than 1. */
    static const char *const scaled[] = {"h=2,n=200,d=32,scale=8,dtype=fp32", NULL};
    static const struct way ways[] = {
        {"dkv=fp16,dq=fp16", 64, 64, false}, {"dkv=fp16,dq=fp16", 16, 32, true}, {NULL}};
    static const struct way up[] = {{"dkv=fp16,dq=fp16", 64, 64, false}, {NULL}};
    all_pass(problems, DATA_TINY, ways);
    all_pass(scaled, DATA_SMALL, up);
}

/* Rows of one key that is dropped, whose o is subnormal in fp16; or kept in one row after the
 * other, with the same rounding of 1 / (1 - dropout) in all of them. */
static void deep_dropout(void)
{
    static const char *const problems[] = {
        "b=2,h=6,hk=3,nq=256,nk=108,d=64,window=36:-1,dropout=0.17@1:0,dtype=fp16",
        "b=2,h=6,hk=3,nq=513,nk=127,d=111,window=42:-1,dropout=0.17@1:0,dtype=fp16",
        "h=6,hk=3,nq=307,nk=256,d=64,causal,window=64:0,dropout=0.17@1:0,dtype=fp16",
        "h=6,hk=3,nq=307,nk=256,d=64,causal,dropout=0.3@1:0,dtype=bf16", NULL};
    static const struct way ways[] = {
        {"", 64, 64, false}, {"", 64, 64, true}, {"delta=recomputed", 64, 64, false}, {NULL}};
    all_pass(problems, DATA_DEEP, ways);
}

/* Small p in fp16 that the factor of dropout, 10, follows: what was lost is 10 times as much. */
static void late_factor(void)
{
    static const char *const problems[] = {
        "h=4,hk=2,nq=22,nk=407,d=96,scale=1,dropout=0.9@1:0,dtype=fp16", NULL};
    all_pass(problems, DATA_NORMAL, up_and_down);
}

/* Rows of one key that is dropped by a peaky p: o is subnormal in fp16, and delta is made of it. */
static void small_o(void)
{
    static const char *const problems[] = {
        "b=2,h=6,hk=2,nq=14,nk=85,d=16,scale=1,causal,dropout=0.9@1:0,dtype=fp16",
        "h=4,hk=2,n=64,d=32,scale=1,causal,dropout=0.5@1:0,dtype=fp16", NULL};
    static const struct way ways[] = {{"ps=fp32", 64, 64, false}, {"", 64, 64, true}, {NULL}};
    all_pass(problems, DATA_PEAKY, ways);
}

/* Rows whose sink outweighs their keys: the lse is nearly the sink, and near 0. */
static void sinks(void)
{
    static const char *const problems[] = {
        "h=4,hk=2,n=300,d=32,scale=1,causal,window=1:0,sink,dtype=fp32",
        "h=4,hk=2,n=300,d=32,scale=1,causal,window=1:0,sink,dtype=bf16", NULL};
    all_pass(problems, DATA_NORMAL, up_and_down);
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
    draws("h=1,n=300,d=64,dtype=bf16", DATA_ONE, "one query, many times");
    draws("h=2,nq=600,nk=200,d=128,dtype=fp16", DATA_ONE, "one query, many times");
    draws("h=4,hk=2,n=256,d=64,dtype=bf16", DATA_ONE, "one query, many times, grouped");
}

int main(void)
{
    small_sums();
    deep_dropout();
    late_factor();
    small_o();
    sinks();
    few_queries();
    say_margins();
    return tap_done();
}
