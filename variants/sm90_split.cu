/* SPDX-License-Identifier: BSD-3-Clause
 *
 * sm90_split.cu: the two-kernel Hopper backward: dK and dV key-major (kernels/sm90/bwd.cuh
 * without its dQ), dQ query-major (kernels/sm90/bwd_dq.cuh). 7 products instead of 5, but no
 * dQ accumulator, no turns and no conversion, and no score passes through shared memory. The second
 * kernel fills the SMs that the first runs out of work for. d = 256: dK and dV by
 * kernels/sm90/bwd_wide.cuh.
 *
 * Workspace: LSE in base 2 and delta, in whole query tiles.
 *
 * Determinism: all three gradients have the same bits in every run; no two CTAs write one address.
 */
#include "config.h"
#include "variants/common/sm90_split_table.h"

#ifdef FB_HEAD_DIM

template <int D>
using table = fb_sm90_split_table<D>;

FB_SM90_DEFINE_KERNELS(split, table)

#else

#define DECLARE(d) extern const struct fb_sm90_kernels FB_SM90_NAME(split, d);
#define ENTRY(d) {d, &FB_SM90_NAME(split, d)},

extern "C" {
FB_FOR_EACH_HEAD_DIM(DECLARE)
extern const struct fb_variant *const fb_variants_sm90_split[];
}

constexpr struct fb_sm90_size sizes[] = {FB_FOR_EACH_HEAD_DIM(ENTRY){0, NULL}};

static const struct fb_variant split = fb_sm90_variant(
    "sm90-split", "Hopper wgmma and bulk copies; dQ by a kernel of its own", FB_DET_ALL, 7, sizes,
    {.list = {64, 128, 256}, .least = 0, .most = 0, .multiple = 0});

const struct fb_variant *const fb_variants_sm90_split[] = {&split, NULL};

#endif
