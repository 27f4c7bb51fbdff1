/* SPDX-License-Identifier: BSD-3-Clause
 *
 * cuda.h: a CUDA device as struct fb_device. The files cuda_*.c and .cu are compiled where CUDA was
 * configured; cuda_none.c stands in for them elsewhere. Private to src/measure.
 */
#ifndef FB_MEASURE_CUDA_CUDA_H
#define FB_MEASURE_CUDA_CUDA_H

#include "measure/device.h"

/* FB_OK for cudaSuccess, else FB_DEVICE "what: CUDA's words (its name)". */
enum fb_status fb_cuda_status(int error, const char *what);
#define FB_TRY_CUDA(call, what) FB_TRY(fb_cuda_status((int)(call), what))

/* Device memory; memory->own is the stream that copies and fills go through. */
struct fb_memory fb_cuda_memory(void *stream);

/* Events around a span, and between its phases. One at a time. */
struct fb_timer fb_cuda_timer(void *stream);
extern const struct fb_phase_clock fb_cuda_phase_clock;

/* A second load: struct fb_device's rival. */
enum fb_status fb_cuda_rival(struct fb_device *device, struct fb_rival **rival);

enum fb_status fb_cuda_probe(void *stream, enum fb_dtype dtype, struct fb_gemm_probe *probe);
enum fb_status fb_cuda_ceilings(void *stream, enum fb_dtype dtype, struct fb_ceilings *ceilings);

/* ---- Kernels of the harness (cuda_kernels.cu); each returns a cudaError_t -----------------------
 */

#ifdef __cplusplus
extern "C" {
#endif

/* *sum (device) += a number that changes with any single byte; the order of threads does not show.
 * bytes behind the last whole word count, too. */
int fb_cuda_hash(const void *data, uint64_t bytes, uint64_t *sum, void *stream);

/* *first (device) = the least index, over [b, h, n, c] in that order, of an element whose bits are
 * all ones; it is left as it was where there is none. */
int fb_cuda_find_ones(const struct fb_tensor *tensor, uint64_t *first, void *stream);

/* fb_memory.scale, and fb_memory.compare, which waits for the stream (scaling.cu). */
int fb_cuda_scale(const struct fb_tensor *to, const struct fb_tensor *from,
                  const struct fb_factors *factors, void *stream);
int fb_cuda_compare(const struct fb_tensor *got, const struct fb_tensor *base,
                    const struct fb_factors *factors, struct fb_difference *difference,
                    void *stream);

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
