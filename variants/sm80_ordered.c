/* SPDX-License-Identifier: BSD-3-Clause
 *
 * sm80_ordered.c: the backward of sm80-atomic with the additions to dQ in a fixed order. Every warp
 * adds its part of 2, 4 or 8 query tiles when a counter says that the key tiles before have added
 * theirs; the first assigns, so nothing is cleared. Key tiles go upwards, or downwards where many
 * would start late behind the one before (a window, grouped heads under a causal mask).
 *
 * A CTA takes its place from a ticket and waits for lower tickets alone, so it never waits for one
 * that has not started. The workspace holds one counter a warp and key tile beside the sum.
 *
 * Determinism: dQ, dK and dV, whatever else the device does.
 */
#include "variants/common/sm80.h"

static const struct fb_sm80_family family = {.policy = FB_SM80_DQ_ORDERED};

static const struct fb_variant sm80_ordered = {
    .abi_version = FB_ABI_VERSION,
    .struct_size = sizeof(struct fb_variant),
    .name = "sm80-ordered",
    .summary = "as sm80-atomic, with the additions to dQ in a fixed order",
    .backend = "sm80",
    .properties = {.deterministic = FB_DET_ALL,
                   .gemms = 5,
                   .saved_growth = FB_GROWTH_NONE,
                   .workspace_growth = FB_GROWTH_LINEAR},
    .offer = FB_SM80_OFFER(FB_BIT(FB_ACC_FP32)),
    .family = &family,
    .why_not = fb_sm80_why_not,
    .sizes = fb_sm80_sizes,
    .describe = fb_sm80_describe,
    .forward = fb_sm80_forward,
    .backward = fb_sm80_key_major,
};

const struct fb_variant *const fb_variants_sm80_ordered[] = {&sm80_ordered, NULL};
