/* SPDX-License-Identifier: BSD-3-Clause
 *
 * status.h: errors of CUDA's runtime as the program's own.
 */
#ifndef FB_MEASURE_CUDA_STATUS_H
#define FB_MEASURE_CUDA_STATUS_H

#include "core/status.h"

/* FB_OK for cudaSuccess, else FB_DEVICE "what: CUDA's words (its name)". */
enum fb_status fb_cuda_status(int error, const char *what);
#define FB_TRY_CUDA(call, what) FB_TRY(fb_cuda_status((int)(call), what))

#endif
