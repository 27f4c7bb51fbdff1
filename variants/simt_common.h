/* SPDX-License-Identifier: BSD-3-Clause
 *
 * simt_common.h: what the fp32 CUDA variants share: from arguments to a kernel call, refusals, the
 * forward.
 */
#ifndef FB_VARIANTS_SIMT_COMMON_H
#define FB_VARIANTS_SIMT_COMMON_H

#include "flashback.h"
#include "kernels/simt/simt.h"
#include "variants/cuda_common.h"

/* The reason none of them takes this, or NULL: features, numerics. */
const char *fb_simt_refuse(const struct fb_problem *problem, const struct fb_numerics *numerics);

/* The same for those that keep tiles in shared memory. */
const char *fb_simt_refuse_tiled(const struct fb_problem *problem,
                                 const struct fb_numerics *numerics);

/* The call on these arguments, delta at the workspace's start. */
struct fb_simt_call fb_simt_call_of(const struct fb_args *args);

/* Bytes of delta, rounded up so that what follows is aligned to 256. */
size_t fb_simt_delta_bytes(const struct fb_problem *problem);

void fb_simt_tiles(const struct fb_problem *problem, const struct fb_numerics *numerics,
                   int64_t *bm, int64_t *bn);

/* fb_variant.forward of those that save nothing. */
enum fb_status fb_simt_forward(struct fb_context *ctx, void *state, const struct fb_args *args);

/* One kernel, and what is said of it where it is not taken. */
enum fb_status fb_simt_run(struct fb_context *ctx, enum fb_simt_kernel which,
                           const struct fb_simt_call *call);

#endif
