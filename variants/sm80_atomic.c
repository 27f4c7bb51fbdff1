/* SPDX-License-Identifier: BSD-3-Clause
 *
 * sm80_atomic.c: FlashAttention-2's backward (Dao 2023) on mma.sync: key tiles in parallel, dK and
 * dV in registers, dQ by atomic additions into one sum. The main loop is kernels/sm80/bwd.cuh.
 *
 * The sum is fp32; where dq=bf16 or dq=fp16 is declared it is of that type and takes pairs, each
 * addition rounded, the tile's own sum once before.
 *
 * Determinism: dK and dV. dQ is not: with three or more key tiles the order of additions, and so
 * the last bits, change from run to run.
 */
#include "variants/sm80_common.h"

static enum fb_status sizes(const struct fb_problem *problem, const struct fb_numerics *numerics,
                            size_t *saved, size_t *workspace)
{
    *saved = 0;
    *workspace = fb_sm80_workspace(problem, numerics, fb_sm80_plan_of(problem, FB_SM80_DQ_ATOMIC));
    return FB_OK;
}

static enum fb_status backward(struct fb_context *ctx, void *state, const struct fb_args *args)
{
    (void)state;
    return fb_sm80_key_major(ctx, args, fb_sm80_plan_of(args->problem, FB_SM80_DQ_ATOMIC));
}

static const struct fb_variant sm80_atomic = {
    .abi_version = FB_ABI_VERSION,
    .struct_size = sizeof(struct fb_variant),
    .name = "sm80-atomic",
    .summary =
        "FlashAttention-2 on tensor cores: key tiles in parallel, atomic additions into one dQ",
    .backend = "sm80",
    .properties = {.deterministic = FB_DET_DK | FB_DET_DV,
                   .gemms = 5,
                   .saved_growth = FB_GROWTH_NONE,
                   .workspace_growth = FB_GROWTH_LINEAR},
    .why_not = fb_sm80_refuse,
    .sizes = sizes,
    .tiles = fb_sm80_tiles,
    .forward = fb_sm80_forward,
    .backward = backward,
};

const struct fb_variant *const fb_variants_sm80_atomic[] = {&sm80_atomic, NULL};
