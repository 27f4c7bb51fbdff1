/* SPDX-License-Identifier: BSD-3-Clause
 *
 * sm90_atomic.cu: the Hopper backward by wgmma and the copy engine, key-major: every key tile adds
 * its part of dQ into one fp32 accumulator by reductions in the L2, in whatever order the CTAs come
 * by (FlashAttention-3; Shah et al. 2024). The main loop is kernels/sm90/bwd.cuh, with
 * shared-memory map, registers and barriers at its top; this file is the policy and the descriptor.
 * Short sequences of many heads take one CTA a head (kernels/sm90/bwd_short.cuh).
 *
 * Workspace: fp32 dQ, in whole query tiles (of 80 rows: to the next 8); of a short sequence the
 * fp32 dQ of one head for each SM. LSE in base 2 and delta stand in the memory of dq till dq is
 * written. dK and dV are written once.
 *
 * Determinism: dK and dV have the same bits in every run; dQ is not promised to.
 */
#include "config.h"
#include "variants/common/sm90_key_major.h"

#ifdef FB_HEAD_DIM

template <int D>
using table = fb_sm90_key_major_table<D, fb::DQ_ANY_ORDER>;

FB_SM90_DEFINE_KERNELS(atomic, table)

#else

#define DECLARE(d) extern const struct fb_sm90_kernels FB_SM90_NAME(atomic, d);
#define ENTRY(d) {d, &FB_SM90_NAME(atomic, d)},

extern "C" {
FB_FOR_EACH_HEAD_DIM(DECLARE)
extern const struct fb_variant *const fb_variants_sm90_atomic[];
}

constexpr struct fb_sm90_size sizes[] = {FB_FOR_EACH_HEAD_DIM(ENTRY){0, NULL}};

static const struct fb_variant atomic = fb_sm90_variant(
    "sm90-atomic", "Hopper wgmma and bulk copies; fp32 dQ by reductions in the L2",
    FB_DET_DK | FB_DET_DV, 5, sizes, {.list = {64, 128}, .least = 0, .most = 0, .multiple = 0});

const struct fb_variant *const fb_variants_sm90_atomic[] = {&atomic, NULL};

#endif
