/* SPDX-License-Identifier: BSD-3-Clause
 *
 * kernels.h: kernels of the harness; each call returns a cudaError_t.
 */
#ifndef FB_MEASURE_CUDA_KERNELS_H
#define FB_MEASURE_CUDA_KERNELS_H

#include "flashback.h"

#ifdef __cplusplus
extern "C" {
#endif

/* *sum (device) += a number that changes with any single byte; the order of threads does not show.
 * bytes behind the last whole word count, too. */
int fb_cuda_hash(const void *data, uint64_t bytes, uint64_t *sum, void *stream);

/* *first (device) = the least index, over [b, h, n, c] in that order, of an element whose bits are
 * all ones; it is left as it was where there is none. */
int fb_cuda_find_ones(const struct fb_tensor *tensor, uint64_t *first, void *stream);

/* Does nothing. */
int fb_cuda_launch_empty(void *stream);

/* Keeps `blocks` blocks busy for about `microseconds`, adding to numbers all over `memory`. */
int fb_cuda_burst(void *memory, uint64_t bytes, int blocks, int microseconds, void *stream);

/* Values in [-0.5, 0.5) that a GEMM may be timed on. */
int fb_cuda_fill_noise(void *data, enum fb_dtype dtype, int64_t count, void *stream);

#ifdef __cplusplus
}
#endif

#endif
