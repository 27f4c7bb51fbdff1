/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Every CPU variant against plain loops in double precision: dtypes, masks, windows, grouped heads,
 * lengths around the tiles, widths around the vectors, strided and expanded tensors, empty
 * problems, declared numerics, thread counts and instruction sets. Workspace and outputs hold NaN
 * at entry and the gaps between rows must keep it. Tolerances are those of the dtype's own
 * rounding; the derived bound is the judge's business, not this test's.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/hot/ops.h"
#include "kernels/cpu/threads.h"
#include "measure/devices.h"
#include "tests/cpu_case.h"
#include "tests/tap.h"

static const char *const output_names[] = {"o", "lse", "dq", "dk", "dv"};

/* Largest difference over largest sum of terms: a few roundings to the dtype. */
static double tolerance(enum fb_dtype dtype)
{
    return dtype == FB_FP32 ? 4e-6 : dtype == FB_FP16 ? 1.5e-3 : 1.2e-2;
}

/* 1 where the variant agrees with the loops in every output; says which did not. */
static int agrees(struct cpu_case *c, const struct fb_variant *variant, const char *text,
                  double allowed)
{
    if (cpu_case_run(c, variant) != FB_OK)
        return 0;
    int good = 1;
    for (int i = 0; i < 5; i++) {
        const double error = cpu_case_error(c, i);
        if (!(error <= allowed)) {
            tap_note("%s: %s of %s is off by %.3g", variant->name, output_names[i], text, error);
            good = 0;
        }
    }
    const int64_t strays = cpu_case_strays(c);
    if (strays)
        tap_note("%s: %lld bytes outside the outputs changed in %s", variant->name,
                 (long long)strays, text);
    return good && !strays;
}

/* A case, or a failed check. */
static int tap_case(struct cpu_case *c, const char *problem, const char *numerics, int threads,
                    int strided)
{
    if (cpu_case_init(c, problem, numerics, threads, strided))
        return 1;
    tap_ok(0, "no case for %s", problem);
    return 0;
}

static void for_each(void (*test)(const struct fb_variant *))
{
    for (int t = 0; cpu_case_tables[t]; t++)
        for (int i = 0; cpu_case_tables[t][i]; i++)
            test(cpu_case_tables[t][i]);
}

static const char *const shapes[] = {
    "b=1,h=1,n=1,d=16",
    "b=2,h=3,n=64,d=64",
    "b=1,h=2,n=65,d=33",
    "b=1,h=2,n=127,d=1,dv=7",
    "b=1,h=1,nq=3,nk=300,d=40,dv=72",
    "b=1,h=1,nq=300,nk=3,d=40,dv=72",
    "b=2,h=4,hk=2,nq=100,nk=161,d=17,dv=31",
    "b=1,h=6,hk=1,nq=161,nk=100,d=48,dv=16",
    "b=1,h=1,nq=70,nk=129,d=256,dv=200",
    "b=1,h=2,n=600,d=8",
};

static const char *const masks[] = {
    "mask=full",    "mask=causal",       "mask=causal-topleft",        "window=10:0",
    "window=40:25", "causal,window=7:3", "causal-topleft,window=30:5", "window=-1:20",
    "scale=0",      "causal,scale=-0.5",
};

static const struct {
    const char *text;
    enum fb_dtype dtype;
} dtypes[] = {{"fp32", FB_FP32}, {"bf16", FB_BF16}, {"fp16", FB_FP16}};

/* Some problems are outside the language ("causal-topleft," without "mask="). */
static void join(char *text, size_t size, const char *shape, const char *mask, const char *dtype)
{
    snprintf(text, size, "%s,%s%s,dtype=%s", shape,
             strncmp(mask, "causal-topleft", 14) == 0 ? "mask=" : "", mask, dtype);
}

/* Off problems of every variant, in the order of the tables. All shapes with all masks in fp32;
 * in the other types, where only loads, stores and roundings differ, every shape and every mask. */
static void test_shapes(size_t dtype)
{
    const size_t step = dtypes[dtype].dtype == FB_FP32 ? 1 : 3;
    int bad[16] = {0}, count = 0;
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (size_t m = s % step; m < sizeof masks / sizeof *masks; m += step) {
            char text[256];
            struct cpu_case c;
            join(text, sizeof text, shapes[s], masks[m], dtypes[dtype].text);
            if (!tap_case(&c, text, "", 3, (s + m) % 2 == 1))
                continue;
            cpu_case_reference(&c);
            for (int t = 0, at = 0; cpu_case_tables[t]; t++)
                for (int i = 0; cpu_case_tables[t][i]; i++, at++)
                    bad[at] +=
                        !agrees(&c, cpu_case_tables[t][i], text, tolerance(dtypes[dtype].dtype));
            count++;
            cpu_case_free(&c);
        }
    for (int t = 0, at = 0; cpu_case_tables[t]; t++)
        for (int i = 0; cpu_case_tables[t][i]; i++, at++)
            tap_ok(bad[at] == 0, "%s, %s: %d of %d problems off", cpu_case_tables[t][i]->name,
                   dtypes[dtype].text, bad[at], count);
}

/* A length of 0 is a success; what there is of the outputs is zero (lse: -inf). */
static void test_empty(const struct fb_variant *variant)
{
    static const char *const texts[] = {"b=0,h=2,n=8,d=16", "b=1,h=2,nq=0,nk=9,d=16",
                                        "b=1,h=2,nq=9,nk=0,d=16", "b=1,h=2,n=0,d=16,dtype=bf16"};
    int bad = 0;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct cpu_case c;
        if (!tap_case(&c, texts[i], "", 2, 0))
            continue;
        cpu_case_reference(&c);
        bad += !agrees(&c, variant, texts[i], 0);
        cpu_case_free(&c);
    }
    tap_ok(bad == 0, "%s: empty problems succeed", variant->name);
}

static const struct {
    const char *text;
    double allowed;
} numerics[] = {
    {"dkv=fp64,dq=fp64", 4e-6},
    {"dkv=fp32-kahan,dq=fp32-kahan", 4e-6},
    {"dkv=bf16,dq=bf16", 4e-2},
    {"dkv=bf16-stochastic,dq=bf16-stochastic", 8e-2},
    {"dkv=bf16-kahan,dq=bf16-kahan", 1e-3},
    {"dkv=bf16-truncate,dq=bf16-truncate", 1e-1},
    {"dkv=fp16,dq=fp16", 5e-3},
    {"delta=bf16", 2e-2},
    {"delta=recomputed", 4e-6},
    {"lse=bf16", 3e-2},
    {"round=row", 4e-6},
    {"dkv=bf16,round=row", 2e-1},
    {"dq=bf16,round=row", 2e-1},
    {"dkv=fp64,dq=fp64,round=row", 4e-6},
    {"ps=fp32", 4e-6},
};

/* In fp32, so that what is seen is the accumulator: it is there (not better than its own rounding
 * allows, where the type is narrow) and it is right. */
static void test_numerics(const struct fb_variant *variant)
{
    int bad = 0, refused = 0, idle = 0;
    const int count = sizeof numerics / sizeof *numerics;
    for (int i = 0; i < count; i++) {
        struct cpu_case c;
        const char *text = "b=1,h=4,hk=2,nq=200,nk=330,d=24,dv=40,causal";
        if (!tap_case(&c, text, numerics[i].text, 2, 1))
            continue;
        cpu_case_reference(&c);
        if (fb_variant_why_not(variant, &c.problem, &c.numerics)) {
            refused++;
        } else {
            bad += !agrees(&c, variant, numerics[i].text, numerics[i].allowed);
            const double least = numerics[i].allowed > 1e-2 ? 1e-4 : 0;
            idle += fmax(cpu_case_error(&c, 2), cpu_case_error(&c, 3)) < least;
        }
        cpu_case_free(&c);
    }
    tap_ok(bad == 0 && idle == 0 && refused < count,
           "%s: declared numerics (%d of %d refused, %d off, %d without effect)", variant->name,
           refused, count, bad, idle);
}

/* The bits for 1 thread are the bits for 2, 3 and as many as may be, where determinism is claimed.
 * What the BLAS does may depend on their number, though not on the run. */
static void test_threads(const struct fb_variant *variant)
{
    static const char *const texts[] = {"b=1,h=1,n=700,d=32,causal", "b=2,h=2,hk=1,n=300,d=64"};
    const int any = strncmp(variant->name, "cpu-naive", 9) != 0;
    int bad = 0;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        uint64_t first[5] = {0};
        struct cpu_case c;
        if (!tap_case(&c, texts[i], "", 1, 0))
            continue;
        for (int run = 0; run < 12; run++) {
            c.ctx.threads = any ? (run < 4 ? run + 1 : 64) : 2;
            bad += cpu_case_run(&c, variant) != FB_OK;
            for (int o = 0; o < 5; o++) {
                const uint64_t hash = cpu_case_hash(&c, o);
                const int claimed = o < 2 || variant->properties.deterministic >> (o - 2) & 1;
                if (run == 0)
                    first[o] = hash;
                bad += claimed && hash != first[o];
            }
        }
        cpu_case_free(&c);
    }
    tap_ok(bad == 0, "%s: the same bits %s", variant->name,
           any ? "for any number of threads" : "in every run");
}

static void test_isa(const struct fb_variant *variant)
{
    static const char *const names[] = {"generic", "v2", "v3", "v4"};
    int bad = 0, count = 0;
    for (int i = 0; i < 4; i++) {
        setenv("FLASHBACK_ISA", names[i], 1);
        if (!fb_cpu_ops())
            continue;
        struct cpu_case c;
        if (!tap_case(&c, "b=1,h=2,nq=90,nk=130,d=40,dv=24,causal,dtype=bf16", "", 2, 1))
            continue;
        cpu_case_reference(&c);
        bad += !agrees(&c, variant, names[i], tolerance(FB_BF16));
        cpu_case_free(&c);
        count++;
    }
    unsetenv("FLASHBACK_ISA");
    tap_ok(bad == 0, "%s: all %d instruction sets", variant->name, count);
}

/* All problems are taken; numerics that mean nothing to a variant are not. */
static void test_refusals(const struct fb_variant *variant)
{
    struct cpu_case c;
    if (!tap_case(&c, "n=8,d=8", "", 1, 0))
        return;
    bool good = fb_variant_why_not(variant, &c.problem, &c.numerics) == NULL;
    setenv("FLASHBACK_ISA", "v9", 1);
    const char *reason = fb_variant_why_not(variant, &c.problem, &c.numerics);
    good &= reason && strstr(reason, "FLASHBACK_ISA");
    unsetenv("FLASHBACK_ISA");
    cpu_case_free(&c);
    tap_ok(good, "%s: refuses an instruction set by name", variant->name);
}

/* 1 when some dQ of 200 runs in several threads has other bits than the first. */
static void test_atomic_is_atomic(void)
{
    const struct fb_variant *variant = cpu_case_variant("cpu-atomic");
    struct cpu_case c;
    int differs = 0;
    if (fb_cpu_threads_max() < 2 || !cpu_case_init(&c, "b=1,h=1,n=1024,d=64", "", 2, 0)) {
        tap_skip("one processor: no order of additions but one");
        return;
    }
    cpu_case_run(&c, variant);
    const uint64_t first = cpu_case_hash(&c, 2);
    for (int run = 0; run < 200 && !differs; run++) {
        cpu_case_run(&c, variant);
        differs = cpu_case_hash(&c, 2) != first;
    }
    tap_ok(differs, "cpu-atomic: dQ is not the same in every run, as it says");
    cpu_case_free(&c);
}

int main(void)
{
    for (size_t dtype = 0; dtype < sizeof dtypes / sizeof *dtypes; dtype++)
        test_shapes(dtype);
    for_each(test_empty);
    for_each(test_numerics);
    for_each(test_threads);
    for_each(test_isa);
    for_each(test_refusals);
    test_atomic_is_atomic();
    return tap_done();
}
