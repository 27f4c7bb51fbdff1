/* SPDX-License-Identifier: BSD-3-Clause
 *
 * sm90_split.cu: the two-kernel Hopper backward: dK and dV key-major (kernels/cuda/bwd_sm90.cuh
 * without its dQ), dQ query-major (kernels/cuda/bwd_sm90_dq.cuh). 7 products instead of 5, but no
 * dQ accumulator, no turns and no conversion, and no score passes through shared memory. The second
 * kernel fills the SMs that the first runs out of work for.
 *
 * Workspace: LSE in base 2 and delta, in whole query tiles.
 *
 * Determinism: all three gradients have the same bits in every run; no two CTAs write one address.
 */
#include "config.h"
#include "variants/sm90_split_table.h"

#ifdef FB_HEAD_DIM

extern "C" {
extern const struct fb_sm90_kernels FB_SM90_NAME(split, FB_HEAD_DIM);
}
#if FB_HEAD_DIM == 64 || FB_HEAD_DIM == 128
using table = fb_sm90_split_table<FB_HEAD_DIM>;
const struct fb_sm90_kernels FB_SM90_NAME(split, FB_HEAD_DIM) = {
    table::workspace, table::query_rows, table::backward};
#else
const struct fb_sm90_kernels FB_SM90_NAME(split, FB_HEAD_DIM) = {};
#endif

#else

#define DECLARE(d) extern const struct fb_sm90_kernels FB_SM90_NAME(split, d);
#define ENTRY(d) {d, &FB_SM90_NAME(split, d)},

extern "C" {
FB_FOR_EACH_HEAD_DIM(DECLARE)
extern const struct fb_variant *const fb_variants_sm90_split[];
}

constexpr struct fb_sm90_size table[] = {FB_FOR_EACH_HEAD_DIM(ENTRY){0, NULL}};

using functions = fb_sm90_functions<table>;

static const struct fb_variant split = {
    .abi_version = FB_ABI_VERSION,
    .struct_size = sizeof(struct fb_variant),
    .name = "sm90-split",
    .summary = "Hopper wgmma and bulk copies; dQ by a kernel of its own",
    .backend = "sm90",
    .properties = {.deterministic = FB_DET_ALL,
                   .gemms = 7,
                   .saved_growth = FB_GROWTH_NONE,
                   .workspace_growth = FB_GROWTH_LINEAR},
    .why_not = functions::why_not,
    .sizes = functions::sizes,
    .tiles = functions::tiles,
    .prepare = NULL,
    .release = NULL,
    .forward = fb_sm90_forward,
    .backward = functions::backward,
};

const struct fb_variant *const fb_variants_sm90_split[] = {&split, NULL};

#endif
