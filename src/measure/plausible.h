/* SPDX-License-Identifier: BSD-3-Clause
 *
 * plausible.h: a time that no machine could reach is a fault of the measurement (a launch that
 * never ran, causal work counted as full), not a record.
 */
#ifndef FB_MEASURE_PLAUSIBLE_H
#define FB_MEASURE_PLAUSIBLE_H

#include "flashback.h"

struct fb_work {
    double flops; /* floating point operations that cannot be left out */
    double bytes; /* bytes that must be read or written at least once; 0 where caches hold them */
};

/* FLOPs of the five (backward) or two (forward) GEMMs over the visible pairs: 2 pairs d each for
 * q k^T, ds k and ds^T q, 2 pairs dv each for dout v^T, p^T dout and p v. */
double fb_flops_forward(const struct fb_problem *problem);
double fb_flops_backward(const struct fb_problem *problem);

/* Every input read once and every output written once. */
double fb_bytes_backward(const struct fb_problem *problem);
double fb_bytes_forward(const struct fb_problem *problem);

/* The least seconds the ceilings allow: max(bytes / (1e9 copy_gbytes), flops / (1e9 gemm_gflops)).
 * A ceiling that is NaN or 0 does not count. */
double fb_least_seconds(const struct fb_work *work, double gemm_gflops, double copy_gbytes);

/* "" if seconds >= 0.95 least, else one line that says so, for the record. */
void fb_plausible(char text[160], double seconds, const struct fb_work *work, double gemm_gflops,
                  double copy_gbytes);

#endif
