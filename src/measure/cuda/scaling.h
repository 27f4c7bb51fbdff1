/* SPDX-License-Identifier: BSD-3-Clause
 *
 * scaling.h: fb_memory.scale, and fb_memory.compare, which waits for the stream. Each call returns
 * a cudaError_t.
 */
#ifndef FB_MEASURE_CUDA_SCALING_H
#define FB_MEASURE_CUDA_SCALING_H

#include "core/memory.h"

#ifdef __cplusplus
extern "C" {
#endif

int fb_cuda_scale(const struct fb_tensor *to, const struct fb_tensor *from,
                  const struct fb_factors *factors, void *stream);
int fb_cuda_compare(const struct fb_tensor *got, const struct fb_tensor *base,
                    const struct fb_factors *factors, struct fb_difference *difference,
                    void *stream);

#ifdef __cplusplus
}
#endif

#endif
