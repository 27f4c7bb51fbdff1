/* SPDX-License-Identifier: BSD-3-Clause
 *
 * cpu_key_major.h: the frame of the variants that differ only in how dQ is reduced: delta, the
 * key-major main loop with a policy, the last pass over dQ. A variant supplies the policy's `add`
 * and says how many copies of dQ it wants.
 */
#ifndef FB_VARIANTS_COMMON_CPU_KEY_MAJOR_H
#define FB_VARIANTS_COMMON_CPU_KEY_MAJOR_H

#include "flashback.h"
#include "kernels/cpu/dq.h"
#include "kernels/cpu/kv_major.h"
#include "kernels/cpu/q_major.h"
#include "variants/common/cpu.h"

/* Everything a key-major backward keeps in its workspace. */
struct fb_cpu_key_major {
    struct fb_cpu_job job;
    struct fb_cpu_rows rows;
    struct fb_cpu_q recompute; /* with delta=recomputed */
    struct fb_cpu_dq dq;
    struct fb_cpu_kv kv;
    _Atomic int64_t *turns; /* one a query tile, zero at the start; NULL unless asked for */
};

/* The counter of a query tile. */
_Atomic int64_t *fb_cpu_key_major_turn(const struct fb_cpu_key_major *k,
                                       const struct fb_cpu_dq_tile *tile);

/* fb_variant.family */
struct fb_cpu_key_major_policy {
    void (*add)(void *state,
                const struct fb_cpu_dq_tile *tile); /* state: struct fb_cpu_key_major */
    /* Copies of dQ, and groups of key tiles where there are two or more; NULL: one. */
    int64_t (*copies)(const struct fb_cpu_job *job);
    bool turns;
};

/* The functions of a descriptor. */
const char *fb_cpu_key_major_why_not(const struct fb_variant *self,
                                     const struct fb_problem *problem,
                                     const struct fb_numerics *numerics);
enum fb_status fb_cpu_key_major_sizes(const struct fb_variant *self,
                                      const struct fb_problem *problem,
                                      const struct fb_numerics *numerics, size_t *saved,
                                      size_t *workspace);
void fb_cpu_key_major_describe(const struct fb_variant *self, const struct fb_problem *problem,
                               const struct fb_numerics *numerics, struct fb_description *what);
enum fb_status fb_cpu_key_major_backward(const struct fb_variant *self, struct fb_context *ctx,
                                         void *state, const struct fb_args *args);

/* The descriptor's members that are the same for all, FB_ANY numerics among them. */
#define FB_CPU_KEY_MAJOR                                                                           \
    .offer = {FB_CPU_ANY_PROBLEM, FB_CPU_ANY_NUMERICS}, .why_not = fb_cpu_key_major_why_not,       \
    .sizes = fb_cpu_key_major_sizes, .describe = fb_cpu_key_major_describe,                        \
    .forward = fb_cpu_forward_only, .backward = fb_cpu_key_major_backward

#endif
