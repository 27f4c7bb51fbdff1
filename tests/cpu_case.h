/* SPDX-License-Identifier: BSD-3-Clause
 *
 * cpu_case.h: one problem with its tensors, for tests and timings of the CPU variants that stand
 * on their own: random inputs, a call of a variant with poisoned outputs and workspace, and plain
 * loops in double precision to compare with.
 */
#ifndef FB_TESTS_CPU_CASE_H
#define FB_TESTS_CPU_CASE_H

#include "flashback.h"

struct cpu_case {
    struct fb_problem problem;
    struct fb_numerics numerics;
    struct fb_context ctx;
    struct fb_args args;
    void *memory[16]; /* what free must free */
    int count;
    double *ref[5];   /* o, lse, dq, dk, dv as double, contiguous [b, h, n, .]; or NULL */
    double *terms[5]; /* for each element the sum of the magnitudes of its terms */
};

/* Tensors with padding between rows and heads, and an expanded dout, where `strided` is set. 0 when
 * the text is no problem or memory is short. */
int cpu_case_init(struct cpu_case *c, const char *problem, const char *numerics, int threads,
                  int strided);
void cpu_case_free(struct cpu_case *c);

/* Fills ref and terms. */
void cpu_case_reference(struct cpu_case *c);

/* Sets saved and workspace up for a variant, everything poisoned with NaN. */
enum fb_status cpu_case_prepare(struct cpu_case *c, const struct fb_variant *variant);

/* prepare, forward, workspace poisoned again, backward. */
enum fb_status cpu_case_run(struct cpu_case *c, const struct fb_variant *variant);

/* Largest difference of output `which` (0 to 4) from ref, relative to the largest term sum of that
 * output, so that gradients which cancel to nothing are held to what they cancel from. Infinite
 * where a value is not finite and ref is, or the other way round. */
double cpu_case_error(const struct cpu_case *c, int which);
/* The same without the division. */
double cpu_case_max_abs(const struct cpu_case *c, int which);

/* FNV-1a over the bytes of an output's elements. */
uint64_t cpu_case_hash(const struct cpu_case *c, int which);

/* Elements outside the views that were written to. */
int64_t cpu_case_strays(const struct cpu_case *c);

extern const struct fb_variant *const *const cpu_case_tables[]; /* NULL-terminated */
const struct fb_variant *cpu_case_variant(const char *name);

#endif
