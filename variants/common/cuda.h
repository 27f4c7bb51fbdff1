/* SPDX-License-Identifier: BSD-3-Clause
 *
 * cuda.h: what the CUDA variants of every backend share.
 */
#ifndef FB_VARIANTS_COMMON_CUDA_H
#define FB_VARIANTS_COMMON_CUDA_H

#include "flashback.h"
#include "kernels/dense/delta.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where the next part of a workspace may begin: parts stand on 256 bytes, as allocations do. */
static inline size_t fb_cuda_aligned(size_t bytes)
{
    return (bytes + 255) / 256 * 256;
}

/* FB_OK for 0 (cudaSuccess), else FB_DEVICE with CUDA's words as the explanation. */
enum fb_status fb_cuda_check(struct fb_context *ctx, int error, const char *what);

/* Mask and window as one band: query i sees key j when i + lo <= j <= i + hi. Open sides are 2^60.
 */
void fb_cuda_mask(const struct fb_problem *problem, int64_t *lo, int64_t *hi);

/* The kernels' name of a type. */
enum fb_cuda_element fb_cuda_element_of(enum fb_dtype dtype);

/* Phase "delta": row sums of dout o o (less dlse) into [b, h, nq] at `delta`. */
enum fb_status fb_cuda_run_delta(struct fb_context *ctx, const struct fb_args *args, float *delta);

#ifdef __cplusplus
}
#endif
#endif
