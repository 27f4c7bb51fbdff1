/* SPDX-License-Identifier: BSD-3-Clause
 *
 * cpu_key_major.h: the frame of the variants that differ only in how dQ is reduced: delta, the
 * key-major main loop with a policy, the last pass over dQ. A variant supplies the policy's `add`
 * and says how many copies of dQ it wants.
 */
#ifndef FB_VARIANTS_CPU_KEY_MAJOR_H
#define FB_VARIANTS_CPU_KEY_MAJOR_H

#include "flashback.h"
#include "kernels/cpu/dq.h"
#include "kernels/cpu/kv_major.h"
#include "kernels/cpu/q_major.h"

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

struct fb_cpu_key_major_policy {
    void (*add)(void *state,
                const struct fb_cpu_dq_tile *tile); /* state: struct fb_cpu_key_major */
    int64_t copies; /* of dQ, and groups of key tiles; 1 copy and no groups unless above 1 */
    int turns;
};

/* fb_variant.sizes without `saved`. */
size_t fb_cpu_key_major_bytes(const struct fb_problem *problem, const struct fb_numerics *numerics,
                              const struct fb_cpu_key_major_policy *policy);

enum fb_status fb_cpu_key_major_backward(struct fb_context *ctx, const struct fb_args *args,
                                         const struct fb_cpu_key_major_policy *policy);

/* fb_variant.tiles */
void fb_cpu_key_major_tiles(const struct fb_problem *problem, const struct fb_numerics *numerics,
                            int64_t *bm, int64_t *bn);

#endif
