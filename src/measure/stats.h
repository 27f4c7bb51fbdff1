/* SPDX-License-Identifier: BSD-3-Clause
 *
 * stats.h: what is said about a list of samples. Every summary in a table is made here from the raw
 * samples, so that it can be made again from the file.
 */
#ifndef FB_MEASURE_STATS_H
#define FB_MEASURE_STATS_H

#include <stddef.h>

struct fb_stats {
    size_t count;
    double median, min, max;
    double q1, q3; /* linear interpolation between order statistics at (n-1) p, "type 7" */
    double lo, hi; /* interval of the median from order statistics, at least 95 %; NaN for n < 6 */
};

/* NaN throughout for no samples; samples that are NaN are left out and not counted. samples is not
 * changed. Without memory for the sorted copy all is NaN and count 0. */
struct fb_stats fb_stats_of(const double *samples, size_t count);

/* Quantile p in [0, 1] of sorted samples, as q1 and q3. NaN for none. */
double fb_stats_quantile(const double *sorted, size_t count, double p);

/* Ranks (from 0) of the order statistics that enclose the median with at least 95 %: the largest k
 * with 2 P(Binomial(n, 1/2) <= k - 1) <= 0.05 gives k - 1 and n - k. 0 if there are none (n < 6).
 */
int fb_stats_median_ranks(size_t count, size_t *lo, size_t *hi);

/* (hi - lo) / median / 2, the half width of the interval in parts of the median; infinite while
 * there is none. */
double fb_stats_half_width(const struct fb_stats *stats);

#endif
