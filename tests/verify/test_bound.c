/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The bound is neither too tight nor too loose: correct kernels of every type, order, tile and
 * declared accumulator pass on ordinary and on nasty data, and every classic mistake fails.
 */
#include "tests/verify/bound_bench.h"

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
    mistakes();
    accumulators();
    say_margins();
    return tap_done();
}
