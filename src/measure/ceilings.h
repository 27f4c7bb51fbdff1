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
    double gemm_gflops; /* sgemm 1024 x 1024 x 1024, median of nine; NaN without a BLAS */
    double gemm_best;   /* the best of them: nothing that multiplies as much can take less time */
    double copy_gbytes; /* bytes read and written a second, 1e9; best of nine */
    int threads;
    const char *gemm; /* whose kernels computed the GEMM: fb_blas_core */
};

/* Takes one to two seconds. FB_NO_MEMORY. */
enum fb_status fb_ceilings_measure(struct fb_ceilings *ceilings, int threads);

/* The GEMM of the ceiling as a call to be sampled in turn with the variants, so that all of them
 * meet the same machine: the speed of a shared one drifts by half within minutes. */
struct fb_gemm_probe {
    float *matrices; /* NULL without a BLAS: not to be called then */
    int threads;
};
enum fb_status fb_gemm_probe_open(struct fb_gemm_probe *probe, int threads); /* FB_NO_MEMORY */
enum fb_status fb_gemm_probe_call(void *probe);
void fb_gemm_probe_close(struct fb_gemm_probe *probe);
double fb_gemm_probe_gflops(double seconds); /* the rate of a call that took so long */

#endif
