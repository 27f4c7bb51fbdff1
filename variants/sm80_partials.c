/* SPDX-License-Identifier: BSD-3-Clause
 *
 * sm80_partials.c: FlashAttention-2's deterministic mode, with another number of copies. G CTAs
 * share the key tiles of a key head, one each of every G, and each adds into a dQ of its own; the
 * last pass sums the G copies in order. The first to touch a block assigns, so nothing is cleared.
 *
 * FlashAttention-2 takes G = ceil(SMs / (b h)), which is just over one wave of CTAs: a second,
 * almost empty wave then costs up to half of the speed. Here G is the number that makes waves times
 * tiles a CTA least, up to the same limit, so the workspace is never larger.
 *
 * Determinism: dQ, dK and dV on devices with the same number of SMs; the number of copies, and so
 * the order of dQ's sum, depends on b, h and that number.
 */
#include "variants/sm80_common.h"

static enum fb_status sizes(const struct fb_problem *problem, const struct fb_numerics *numerics,
                            size_t *saved, size_t *workspace)
{
    *saved = 0;
    *workspace =
        fb_sm80_workspace(problem, numerics, fb_sm80_plan_of(problem, FB_SM80_DQ_PARTIALS));
    return FB_OK;
}

static enum fb_status backward(struct fb_context *ctx, void *state, const struct fb_args *args)
{
    (void)state;
    return fb_sm80_key_major(ctx, args, fb_sm80_plan_of(args->problem, FB_SM80_DQ_PARTIALS));
}

static const struct fb_variant sm80_partials = {
    .abi_version = FB_ABI_VERSION,
    .struct_size = sizeof(struct fb_variant),
    .name = "sm80-partials",
    .summary = "a dQ for each of as many CTAs a head as fill one wave, summed in order",
    .backend = "sm80",
    .properties = {.deterministic = FB_DET_ALL,
                   .gemms = 5,
                   .saved_growth = FB_GROWTH_NONE,
                   .workspace_growth = FB_GROWTH_LINEAR},
    .why_not = fb_sm80_refuse_fp32_dq,
    .sizes = sizes,
    .tiles = fb_sm80_tiles,
    .forward = fb_sm80_forward,
    .backward = backward,
};

const struct fb_variant *const fb_variants_sm80_partials[] = {&sm80_partials, NULL};
