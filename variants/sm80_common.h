/* SPDX-License-Identifier: BSD-3-Clause
 *
 * sm80_common.h: what the mma.sync variants share: refusals, workspace, from arguments to kernel
 * arguments, the forward, and the steps of a backward.
 */
#ifndef FB_VARIANTS_SM80_COMMON_H
#define FB_VARIANTS_SM80_COMMON_H

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

/* The reason none of them takes this, or NULL. */
const char *fb_sm80_refuse(const struct fb_problem *problem, const struct fb_numerics *numerics);

/* The same for those that keep dQ in fp32 alone. */
const char *fb_sm80_refuse_fp32_dq(const struct fb_problem *problem,
                                   const struct fb_numerics *numerics);

/* The kernels for a problem on this machine's device; NULL where fb_sm80_refuse has a reason. */
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

struct fb_sm80_plan fb_sm80_plan_of(const struct fb_problem *problem, enum fb_sm80_dq policy);

/* The schedule (sm80_schedule.c): who takes which key tiles under partials; whether ordered
 * additions go from the last key tile to the first; units launched side by side; the turn of
 * fb_sm80_args. */
struct fb_sm80_shares fb_sm80_shares_of(const struct fb_problem *problem);
int fb_sm80_is_downwards(const struct fb_problem *problem);
int fb_sm80_section(const struct fb_problem *problem, int ordered);
int fb_sm80_turn(const struct fb_problem *problem);

size_t fb_sm80_workspace(const struct fb_problem *problem, const struct fb_numerics *numerics,
                         struct fb_sm80_plan plan);

void fb_sm80_tiles(const struct fb_problem *problem, const struct fb_numerics *numerics,
                   int64_t *bm, int64_t *bn);

enum fb_status fb_sm80_forward(struct fb_context *ctx, void *state, const struct fb_args *args);

struct fb_sm80_args fb_sm80_backward_args(const struct fb_args *args, struct fb_sm80_plan plan);

/* Whether these arguments need the general kernels. */
int fb_sm80_general(const struct fb_sm80_args *args);

/* Phase "delta": delta, LSE to base 2, cleared sums and counters. */
enum fb_status fb_sm80_delta(struct fb_context *ctx, const struct fb_args *args,
                             const struct fb_sm80_args *call);

/* The whole backward of the key-major forms. */
enum fb_status fb_sm80_key_major(struct fb_context *ctx, const struct fb_args *args,
                                 struct fb_sm80_plan plan);

#endif
