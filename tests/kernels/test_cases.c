/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Shapes and terms that attention kernels were reported to get wrong, on every CPU variant: scales,
 * head counts and widths that are no powers of two, shared biases, sinks, gradients of LSE, packed
 * batches with empty and one-token sequences; and settings that are the same problem in other words
 * (windows, strides), which must have the same bits.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/half.h"
#include "tests/cpu_case.h"
#include "tests/tap.h"
#include "tests/term_case.h"
#include "verify/hash.h"

static void for_each(void (*test)(const struct fb_variant *))
{
    for (int t = 0; cpu_case_tables[t]; t++)
        for (int i = 0; cpu_case_tables[t][i]; i++)
            test(cpu_case_tables[t][i]);
}

/* ---- Judged -------------------------------------------------------------------------------------
 */

static void judge_all(const char *problem)
{
    struct term_case c;
    int bad = 0;
    if (!term_case_init(&c, problem, "", "randn@3") || !term_case_judge(&c)) {
        tap_ok(false, "no case for %s", problem);
        return;
    }
    for (int t = 0; cpu_case_tables[t]; t++)
        for (int i = 0; cpu_case_tables[t][i]; i++)
            bad += !term_case_passes(&c, cpu_case_tables[t][i], 2);
    tap_is_int((long long)bad, 0, "%.100s", problem);
    term_case_free(&c);
}

static void test_problems(void)
{
    static const char *const problems[] = {
        /* the scale is that of the true head size, or as given */
        "n=128,d=80,dtype=bf16",
        "n=128,d=80,dtype=bf16,scale=0.05",
        "n=128,d=80,dtype=bf16,scale=1",
        "n=128,d=80,dtype=bf16,scale=0",
        "n=128,d=80,dtype=bf16,scale=-0.1",
        /* values of another width than keys */
        "h=2,n=150,d=128,dv=96,dtype=bf16",
        "h=2,n=150,d=192,dv=128,dtype=bf16",
        "h=2,n=150,d=64,dv=128,dtype=bf16",
        /* packed: empty and one-token sequences, first, between and last */
        "h=9,hk=3,qlens=0+1+0+1,klens=0+3+0+5,d=64,causal,dtype=bf16",
        "h=2,qlens=0+0+523,klens=0+1+1045,d=32,causal,dtype=bf16",
        "h=2,qlens=76+34+146+0,klens=1+1+1+9,d=16,dtype=fp16",
        "h=2,qlens=3+0,klens=0+7,d=16",
        "h=1,qlens=64+128+1,klens=64+128+1,d=8,window=5:0,sink,dlse",
        /* one bias for the whole batch */
        "b=8,h=4,n=128,d=32,bias=head,dtype=bf16",
        "h=4,qlens=100+0+7,klens=90+5+130,d=16,bias=all",
        "h=4,qlens=100+0+7,klens=90+5+130,d=16,bias=full,softcap=4,dropout=0.2@3:9",
        /* the loss depends on lse */
        "n=65,d=64,dlse",
        "b=2,h=2,nq=65,nk=40,d=64,causal,dlse,sink,dtype=fp16",
    };
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++)
        judge_all(problems[i]);
}

/* 40 heads, a slope each, none of it a power of two. */
static void test_slopes(void)
{
    char problem[800] = "h=40,n=100,d=64,causal,alibi=";
    for (int h = 0; h < 40; h++) {
        const size_t used = strlen(problem);
        snprintf(problem + used, sizeof problem - used, "%s%g", h ? ":" : "", 1.0 / (h + 3));
    }
    judge_all(problem);
}

/* A sink a head: none, one among the logits, one above them all. */
static void test_sinks(const struct fb_variant *variant)
{
    static const double sinks[] = {-INFINITY, 0, 5, 40};
    struct term_case c;
    if (!term_case_init(&c, "h=4,n=130,d=64,causal,sink", "", "randn@1"))
        return;
    for (int64_t h = 0; h < 4; h++)
        fb_element_write(c.inputs.args.sink.data, FB_FP32, h, sinks[h]);
    tap_ok(term_case_judge(&c) && term_case_passes(&c, variant, 2),
           "%s: sinks of -inf, 0, 5 and 40", variant->name);
    term_case_free(&c);
}

/* ---- The same problem in other words ------------------------------------------------------------
 */

/* Bits of o, lse and the gradients that the variant says are deterministic; false after a fault. */
static bool hash_run(struct term_case *c, const struct fb_variant *variant, uint64_t hash[5])
{
    struct term_run run;
    const bool good = term_run(&run, c, variant, 2);
    const struct fb_args *a = &run.buffers.args;
    const struct fb_tensor *const outputs[] = {&a->o, &a->lse, &a->dq, &a->dk, &a->dv};
    for (int i = 0; good && i < 5; i++) {
        const bool claimed = i < 2 || variant->properties.deterministic >> (i - 2) & 1;
        hash[i] = claimed ? fb_hash_tensor(outputs[i]) : 0;
    }
    term_run_free(&run);
    return good;
}

static bool hash_outputs(const char *problem, const struct fb_variant *variant, uint64_t hash[5])
{
    struct term_case c;
    const bool good = term_case_init(&c, problem, "", "randn@2") && hash_run(&c, variant, hash);
    term_case_free(&c);
    return good;
}

static bool all_alike(const char *const *problems, int count, const struct fb_variant *variant)
{
    uint64_t first[5] = {0}, other[5] = {0};
    bool good = hash_outputs(problems[0], variant, first);
    for (int i = 1; i < count; i++) {
        good = good && hash_outputs(problems[i], variant, other);
        if (good && memcmp(first, other, sizeof first)) {
            tap_note("%s is not %s", problems[i], problems[0]);
            good = false;
        }
    }
    return good;
}

static void test_alike(const struct fb_variant *variant)
{
    static const char *const windows[] = {"h=2,n=212,d=24,causal", "h=2,n=212,d=24,window=-1:0",
                                          "h=2,n=212,d=24,window=212:0",
                                          "h=2,n=212,d=24,window=211:0,causal"};
    static const char *const layouts[] = {"b=2,h=4,hk=2,n=90,d=40,dtype=fp16",
                                          "b=2,h=4,hk=2,n=90,d=40,dtype=fp16,layout=bnhd",
                                          "b=2,h=4,hk=2,n=90,d=40,dtype=fp16,layout=packed-qkv"};
    static const char *const terms[] = {"h=2,n=90,d=40", "h=2,n=90,d=40,dropout=1e-12@1:1",
                                        "qlens=90,h=2,d=40"};
    tap_ok(all_alike(windows, 4, variant), "%s: windows that say causal", variant->name);
    tap_ok(all_alike(layouts, 3, variant), "%s: the same bits in every layout", variant->name);
    tap_ok(all_alike(terms, 3, variant), "%s: terms that change nothing", variant->name);
}

/* Turn counters with tiles that a window leaves out and sequences of all lengths. */
static void test_repeats(const struct fb_variant *variant)
{
    static const char *const problems[] = {"b=1,h=2,n=500,d=16,window=100:0",
                                           "h=2,qlens=300+1+0+129,klens=200+64+7+300,d=16,causal",
                                           "b=2,h=2,n=300,d=16,bias=all,window=40:40"};
    int bad = 0;
    for (int i = 0; i < 3; i++) {
        uint64_t first[5] = {0}, again[5] = {0};
        struct term_case c;
        if (!term_case_init(&c, problems[i], "", "randn@2"))
            return;
        bad += !hash_run(&c, variant, first);
        for (int n = 0; n < 20; n++)
            bad += !hash_run(&c, variant, again) || memcmp(first, again, sizeof first) != 0;
        term_case_free(&c);
    }
    tap_is_int((long long)bad, 0, "%s: 20 repeats with windows, lengths and shared biases",
               variant->name);
}

int main(void)
{
    test_problems();
    test_slopes();
    for_each(test_sinks);
    for_each(test_alike);
    for_each(test_repeats);
    return tap_done();
}
