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
#include "variants/common/sm80.h"

static const struct fb_sm80_family family = {.policy = FB_SM80_DQ_ATOMIC};

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
    .offer = FB_SM80_OFFER(FB_SM80_SUMS),
    .family = &family,
    .why_not = fb_sm80_why_not,
    .sizes = fb_sm80_sizes,
    .describe = fb_sm80_describe,
    .forward = fb_sm80_forward,
    .backward = fb_sm80_key_major,
};

const struct fb_variant *const fb_variants_sm80_atomic[] = {&sm80_atomic, NULL};
