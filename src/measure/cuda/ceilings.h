/* SPDX-License-Identifier: BSD-3-Clause
 *
 * ceilings.h: what the device reaches at best.
 */
#ifndef FB_MEASURE_CUDA_CEILINGS_H
#define FB_MEASURE_CUDA_CEILINGS_H

#include "measure/ceilings.h"

enum fb_status fb_cuda_probe(void *stream, enum fb_dtype dtype, struct fb_gemm_probe *probe);
enum fb_status fb_cuda_ceilings(void *stream, enum fb_dtype dtype, struct fb_ceilings *ceilings);

#endif
