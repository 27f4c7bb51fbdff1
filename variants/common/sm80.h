/* SPDX-License-Identifier: BSD-3-Clause
 *
 * sm80.h: what the mma.sync variants share: offer, workspace, from arguments to kernel
 * arguments, the forward, and the steps of a backward.
 */
#ifndef FB_VARIANTS_COMMON_SM80_H
#define FB_VARIANTS_COMMON_SM80_H

#include <stdbool.h>

#include "flashback.h"
#include "kernels/sm80/args.h"

/* Columns of the widest rows: those of q and k, or of v and o. */
static inline int64_t fb_sm80_width(const struct fb_problem *problem)
{
    return problem->d > problem->dv ? problem->d : problem->dv;
}

static inline int64_t fb_sm80_tiles_of(int64_t n, int64_t tile)
{
    return (n + tile - 1) / tile;
}

static inline int64_t fb_sm80_at_most(int64_t x, int64_t most)
{
    return x < most ? x : most;
}

/* fb_variant.family */
struct fb_sm80_family {
    enum fb_sm80_dq policy; /* how key tiles add up dQ */
    bool is_split;          /* dQ has a role of its own and is written once: no sum */
};

/* fb_variant.offer; DQ: the accumulators of dQ. The tensor cores take P and dS in the input type;
 * what is rounded is rounded to nearest. */
#define FB_SM80_SUMS (FB_BIT(FB_ACC_FP32) | FB_BIT(FB_ACC_BF16) | FB_BIT(FB_ACC_FP16))
#define FB_SM80_OFFER(DQ)                                                                          \
    {                                                                                              \
        .dtypes = FB_BIT(FB_BF16) | FB_BIT(FB_FP16), .masks = FB_MASKS_KNOWN,                      \
        .terms = FB_TERMS_KNOWN & ~FB_BIT(FB_TERM_KEEP), .layouts = FB_ANY, .dkv = FB_SM80_SUMS,   \
        .dq = DQ, .delta = FB_BIT(FB_DELTA_FP32) | FB_BIT(FB_DELTA_BF16), .lse = FB_ANY            \
    }

/* The functions of a descriptor. */
const char *fb_sm80_why_not(const struct fb_variant *self, const struct fb_problem *problem,
                            const struct fb_numerics *numerics);
enum fb_status fb_sm80_sizes(const struct fb_variant *self, const struct fb_problem *problem,
                             const struct fb_numerics *numerics, size_t *saved, size_t *workspace);
void fb_sm80_describe(const struct fb_variant *self, const struct fb_problem *problem,
                      const struct fb_numerics *numerics, struct fb_description *what);
enum fb_status fb_sm80_forward(const struct fb_variant *self, struct fb_context *ctx, void *state,
                               const struct fb_args *args);
/* The whole backward of the key-major forms. */
enum fb_status fb_sm80_key_major(const struct fb_variant *self, struct fb_context *ctx, void *state,
                                 const struct fb_args *args);

/* The kernels for a problem on this machine's device; NULL where fb_sm80_why_not has a reason. */
const struct fb_sm80_kernels *fb_sm80_kernels_for(const struct fb_problem *problem);
const struct fb_sm80_split_kernels *fb_sm80_split_kernels_for(const struct fb_problem *problem);

/* Tiles in flight, 1 or 2, of a kernel that needs smem[0] or smem[1] bytes for them. */
int fb_sm80_stages(const size_t smem[2]);

/* How a backward adds up dQ: by which policy, in how many sums of a key head's size in the
 * workspace (0: none), and under partials by which CTAs. */
struct fb_sm80_plan {
    enum fb_sm80_dq policy;
    int64_t sums;
    struct fb_sm80_shares shares;
};

struct fb_sm80_plan fb_sm80_plan_of(const struct fb_variant *self,
                                    const struct fb_problem *problem);

/* The schedule (sm80_schedule.c): who takes which key tiles under partials; whether ordered
 * additions go from the last key tile to the first; units launched side by side; the turn of
 * fb_sm80_args. */
struct fb_sm80_shares fb_sm80_shares_of(const struct fb_problem *problem);
int fb_sm80_is_downwards(const struct fb_problem *problem);
int fb_sm80_section(const struct fb_problem *problem, int ordered);
int fb_sm80_turn(const struct fb_problem *problem);

struct fb_sm80_args fb_sm80_backward_args(const struct fb_args *args, struct fb_sm80_plan plan);

/* Whether these arguments need the general kernels. */
int fb_sm80_general(const struct fb_sm80_args *args);

/* Phase "delta": delta, LSE to base 2, cleared sums and counters. */
enum fb_status fb_sm80_delta(struct fb_context *ctx, const struct fb_args *args,
                             const struct fb_sm80_args *call);

#endif
