/* SPDX-License-Identifier: BSD-3-Clause
 *
 * sm80_partials.c: FlashAttention-2's deterministic mode without its second wave. CTAs share the
 * key tiles of all key heads, and each adds into copies of dQ of its own; the last pass sums a
 * head's copies in order. The first to touch a block assigns, so nothing is cleared.
 *
 * FlashAttention-2 takes G = ceil(SMs / (b h)) CTAs a head, which is just over one wave: a second,
 * almost empty one then costs up to half of the speed. Here G is the number up to that which makes
 * waves times tiles a CTA least. Where no G comes near, as for 68 heads on 132 SMs (G = 1 leaves
 * half of the machine idle, G = 2 is a second wave), there is one CTA an SM, whatever the number
 * of heads, and a head is cut where the run of a CTA ends (sm80/shares.h). The workspace stays
 * below what PyTorch's call of FlashAttention-2 holds, G + 1 copies in all.
 *
 * Determinism: dQ, dK and dV on devices with the same number of SMs; who adds to which copy, and so
 * the order of dQ's sum, depends on b, h and that number.
 */
#include "variants/common/sm80.h"

static const struct fb_sm80_family family = {.policy = FB_SM80_DQ_PARTIALS};

static const struct fb_variant sm80_partials = {
    .abi_version = FB_ABI_VERSION,
    .struct_size = sizeof(struct fb_variant),
    .name = "sm80-partials",
    .summary = "a dQ for each CTA of a head, as many as fill whole waves, summed in order",
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

const struct fb_variant *const fb_variants_sm80_partials[] = {&sm80_partials, NULL};
