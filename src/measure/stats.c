/* SPDX-License-Identifier: BSD-3-Clause */
#include "measure/stats.h"

#include <math.h>
#include <stdlib.h>

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double fb_stats_quantile(const double *sorted, size_t count, double p)
{
    if (!count)
        return NAN;
    double place = p * (double)(count - 1);
    size_t below = (size_t)place;
    if (below + 1 >= count)
        return sorted[count - 1];
    return sorted[below] + (place - (double)below) * (sorted[below + 1] - sorted[below]);
}

/* With X ~ Binomial(n, 1/2) the interval from the k-th smallest to the k-th largest misses the
 * median with probability 2 P(X <= k - 1). The sum runs over logarithms, since 2^-n is 0 in double
 * from n = 1075 on. */
int fb_stats_median_ranks(size_t count, size_t *lo, size_t *hi)
{
    double n = (double)count, log_term = -n * log(2), sum = 0;
    size_t k = 0;
    while (k < count / 2) {
        sum += exp(log_term);
        if (2 * sum > 0.05)
            break;
        log_term += log((n - (double)k) / ((double)k + 1));
        k++;
    }
    if (!k)
        return 0;
    *lo = k - 1;
    *hi = count - k;
    return 1;
}

static struct fb_stats unknown(void)
{
    return (struct fb_stats){0, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
}

struct fb_stats fb_stats_of(const double *samples, size_t count)
{
    struct fb_stats s = unknown();
    double *sorted = malloc((count ? count : 1) * sizeof *sorted);
    size_t lo, hi;
    if (!sorted)
        return s;
    for (size_t i = 0; i < count; i++)
        if (!isnan(samples[i]))
            sorted[s.count++] = samples[i];
    if (s.count) {
        qsort(sorted, s.count, sizeof *sorted, compare);
        s.min = sorted[0];
        s.max = sorted[s.count - 1];
        s.q1 = fb_stats_quantile(sorted, s.count, 0.25);
        s.median = fb_stats_quantile(sorted, s.count, 0.5);
        s.q3 = fb_stats_quantile(sorted, s.count, 0.75);
    }
    if (fb_stats_median_ranks(s.count, &lo, &hi)) {
        s.lo = sorted[lo];
        s.hi = sorted[hi];
    }
    free(sorted);
    return s;
}

double fb_stats_half_width(const struct fb_stats *stats)
{
    if (isnan(stats->lo) || !(stats->median > 0))
        return INFINITY;
    return (stats->hi - stats->lo) / stats->median / 2;
}
