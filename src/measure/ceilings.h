/* SPDX-License-Identifier: BSD-3-Clause
 *
 * ceilings.h: what this machine reaches at best, measured in the same run as the variants: single
 * precision GEMM and copying.
 */
#ifndef FB_MEASURE_CEILINGS_H
#define FB_MEASURE_CEILINGS_H

#include <stddef.h>

#include "flashback.h"

struct fb_ceilings {
    double gemm_gflops; /* sgemm 1024 x 1024 x 1024, best of nine; NaN without a BLAS */
    double copy_gbytes; /* bytes read and written a second, 1e9; best of nine */
    int threads;
    const char *gemm; /* whose kernels computed the GEMM: fb_blas_core */
};

/* Takes one to two seconds. FB_NO_MEMORY. */
enum fb_status fb_ceilings_measure(struct fb_ceilings *ceilings, int threads);

#endif
