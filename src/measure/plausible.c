/* SPDX-License-Identifier: BSD-3-Clause */
#include "measure/plausible.h"

#include <stdio.h>

/* A ceiling is itself a measurement and wavers by some percent. */
static const double slack = 0.95;

/* Seconds that `amount` takes at `rate` billions a second; 0 where either is unknown. */
static double seconds_of(double amount, double rate)
{
    return amount > 0 && rate > 0 ? amount / (1e9 * rate) : 0;
}

double fb_least_seconds(const struct fb_plausibility *limit)
{
    double compute = seconds_of(limit->flops, limit->gemm_gflops);
    double traffic = seconds_of(limit->bytes, limit->copy_gbytes);
    return compute > traffic ? compute : traffic;
}

void fb_plausible(char text[FB_PLAUSIBLE_TEXT], double seconds, const struct fb_plausibility *limit)
{
    double least = fb_least_seconds(limit);
    text[0] = '\0';
    if (seconds >= slack * least)
        return;
    snprintf(text, FB_PLAUSIBLE_TEXT,
             "%.3g ms is less than the %.3g ms that the measured ceilings allow: not plausible",
             1e3 * seconds, 1e3 * least);
}
