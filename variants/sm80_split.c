/* SPDX-License-Identifier: BSD-3-Clause
 *
 * sm80_split.c: dK and dV by key tiles, dQ by query tiles, both roles in one launch on mma.sync:
 * seven products instead of five, but no sum that crosses CTAs, hence no dQ in the workspace and no
 * pass to convert it. The kernels are kernels/sm80/dq.cuh and sm80/bwd.cuh.
 *
 * CTAs of the two roles alternate, the longest first, so that neither role's end leaves SMs idle.
 *
 * Determinism: dQ, dK and dV.
 */
#include "variants/common/cuda.h"
#include "variants/common/sm80.h"

/* Tiles of the record: dQ is rounded behind each step of its own role, dK and dV behind each query
 * tile. */
static const struct fb_sm80_family family = {.policy = FB_SM80_DQ_ATOMIC, .is_split = true};

static enum fb_status backward(const struct fb_variant *self, struct fb_context *ctx, void *state,
                               const struct fb_args *args)
{
    const struct fb_sm80_split_kernels *k = fb_sm80_split_kernels_for(args->problem);
    struct fb_sm80_args c = fb_sm80_backward_args(args, fb_sm80_plan_of(self, args->problem));
    enum fb_status status = fb_sm80_delta(ctx, args, &c);
    (void)state;
    if (status != FB_OK)
        return status;
    c.stages = fb_sm80_stages(k->smem);
    ctx->phase(ctx, "main");
    return fb_cuda_check(
        ctx, k->run_main(&c, args->problem->dtype == FB_BF16, fb_sm80_general(&c), ctx->stream),
        "main");
}

static const struct fb_variant sm80_split = {
    .abi_version = FB_ABI_VERSION,
    .struct_size = sizeof(struct fb_variant),
    .name = "sm80-split",
    .summary = "dK and dV by key tiles, dQ by query tiles, two roles in one launch",
    .backend = "sm80",
    .properties = {.deterministic = FB_DET_ALL,
                   .gemms = 7,
                   .saved_growth = FB_GROWTH_NONE,
                   .workspace_growth = FB_GROWTH_LINEAR},
    .offer = FB_SM80_OFFER(FB_SM80_SUMS),
    .family = &family,
    .why_not = fb_sm80_why_not,
    .sizes = fb_sm80_sizes,
    .describe = fb_sm80_describe,
    .forward = fb_sm80_forward,
    .backward = backward,
};

const struct fb_variant *const fb_variants_sm80_split[] = {&sm80_split, NULL};
