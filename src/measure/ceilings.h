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
    double gemm_gflops; /* four of sgemm 1024 x 1024 x 1024, median of nine; NaN: no BLAS */
    double gemm_best;   /* the best of them: nothing that multiplies as much can take less time */
    double copy_gbytes; /* bytes read and written a second, 1e9; best of nine */
    double launch_us;   /* an empty kernel between two events, median of nine; NaN on the host */
    int threads;
    const char *gemm; /* whose kernels computed the GEMM: fb_blas_core */
};

/* Takes one to two seconds. FB_NO_MEMORY. */
enum fb_status fb_ceilings_measure(struct fb_ceilings *ceilings, int threads);

/* The GEMM of the ceiling as a call to be sampled in turn with the variants, so that all of them
 * meet the same machine: the speed of a shared one drifts by half within minutes. */
struct fb_gemm_probe {
    enum fb_status (*call)(void *probe); /* NULL without a BLAS: there is none to call */
    void (*close)(struct fb_gemm_probe *probe);
    double flops; /* of a call */
    void *own;    /* of the implementation */
    int threads;
};
/* On the host. FB_NO_MEMORY. */
enum fb_status fb_gemm_probe_open(struct fb_gemm_probe *probe, int threads);
void fb_gemm_probe_close(struct fb_gemm_probe *probe); /* a zeroed one, too */
/* The rate of a call that took so long. */
double fb_gemm_probe_gflops(const struct fb_gemm_probe *probe, double seconds);

#endif
