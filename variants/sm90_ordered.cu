/* SPDX-License-Identifier: BSD-3-Clause
 *
 * sm90_ordered.cu: the sm90-atomic backward with the additions into dQ in a fixed order: a counter
 * a query tile and half tells whose turn it is (FlashAttention-3, deterministic mode). Full masks:
 * key tiles from the first on. Causal: sections of key tiles that alternate between shortest first
 * and longest first (kernels/sm90/bwd_config.cuh). A CTA waits only on CTAs with a lower block
 * number, which are resident or done when it starts. The main loop is kernels/sm90/bwd.cuh.
 * Short sequences of many heads need no turns: kernels/sm90/bwd_short.cuh.
 *
 * Workspace: as sm90-atomic, and two counters a query tile.
 *
 * Determinism: all three gradients have the same bits in every run.
 */
#include "config.h"
#include "variants/common/sm90_key_major.h"

#ifdef FB_HEAD_DIM

template <int D>
using table = fb_sm90_key_major_table<D, fb::DQ_ORDERED>;

FB_SM90_DEFINE_KERNELS(ordered, table)

#else

#define DECLARE(d) extern const struct fb_sm90_kernels FB_SM90_NAME(ordered, d);
#define ENTRY(d) {d, &FB_SM90_NAME(ordered, d)},

extern "C" {
FB_FOR_EACH_HEAD_DIM(DECLARE)
extern const struct fb_variant *const fb_variants_sm90_ordered[];
}

constexpr struct fb_sm90_size sizes[] = {FB_FOR_EACH_HEAD_DIM(ENTRY){0, NULL}};

static const struct fb_variant ordered = fb_sm90_variant(
    "sm90-ordered", "Hopper wgmma and bulk copies; fp32 dQ added in a fixed order", FB_DET_ALL, 5,
    sizes, {.list = {64, 128}, .least = 0, .most = 0, .multiple = 0});

const struct fb_variant *const fb_variants_sm90_ordered[] = {&ordered, NULL};

#endif
