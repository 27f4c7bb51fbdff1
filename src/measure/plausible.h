/* SPDX-License-Identifier: BSD-3-Clause
 *
 * plausible.h: a time that no machine could reach is a fault of the measurement (a launch that
 * never ran, causal work counted as full), not a record.
 */
#ifndef FB_MEASURE_PLAUSIBLE_H
#define FB_MEASURE_PLAUSIBLE_H

#include "flashback.h"

#define FB_PLAUSIBLE_TEXT 160

/* What a call cannot do without (src/core/cost.h counts it) against what the machine reaches. A
 * number that is NaN or 0 takes no part: bytes = 0 where the caches may hold the tensors. */
struct fb_plausibility {
    double flops;
    double bytes;
    double gemm_gflops; /* of the data type at hand: fp32 FLOPs may not be held against bf16's */
    double copy_gbytes; /* 1e9 bytes read and written a second */
};

/* max(flops / (1e9 gemm_gflops), bytes / (1e9 copy_gbytes)); 0 where nothing is known. */
double fb_least_seconds(const struct fb_plausibility *limit);

/* text becomes "" when seconds reach 0.95 of the least, else one line for the record. */
void fb_plausible(char text[FB_PLAUSIBLE_TEXT], double seconds,
                  const struct fb_plausibility *limit);

#endif
