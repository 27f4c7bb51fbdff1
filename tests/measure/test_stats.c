/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Statistics with known answers; the interval of the median against its promise.
 */
#include <math.h>
#include <stdlib.h>

#include "measure/stats.h"
#include "tests/tap.h"

static void test_small(void)
{
    const double one[] = {3}, two[] = {4, 2}, holes[] = {NAN, 5, NAN};
    struct fb_stats s = fb_stats_of(NULL, 0);
    tap_ok(s.count == 0 && isnan(s.median) && isnan(s.q1) && isnan(s.lo), "no samples: all NaN");
    s = fb_stats_of(one, 1);
    tap_ok(s.count == 1 && s.median == 3 && s.min == 3 && s.max == 3 && s.q1 == 3 && s.q3 == 3 &&
               isnan(s.lo) && isinf(fb_stats_half_width(&s)),
           "one sample is all there is");
    s = fb_stats_of(two, 2);
    tap_ok(s.median == 3 && s.min == 2 && s.max == 4 && s.q1 == 2.5 && s.q3 == 3.5 && isnan(s.hi),
           "two samples");
    s = fb_stats_of(holes, 3);
    tap_ok(s.count == 1 && s.median == 5, "NaN samples are left out");
    tap_ok(two[0] == 4, "the samples stay as they were");
}

static void test_known(void)
{
    /* 1 to 9 shuffled: type-7 quartiles 3, 5, 7; the interval is [x2, x8] (96.1 %). */
    const double nine[] = {9, 1, 8, 2, 7, 3, 6, 4, 5};
    const double ten[] = {10, 9, 1, 8, 2, 7, 3, 6, 4, 5};
    struct fb_stats s = fb_stats_of(nine, 9);
    tap_ok(s.q1 == 3 && s.median == 5 && s.q3 == 7 && s.lo == 2 && s.hi == 8, "1 to 9");
    tap_ok(fabs(fb_stats_half_width(&s) - 0.6) < 1e-15, "half width 0.6");
    s = fb_stats_of(ten, 10);
    tap_ok(s.q1 == 3.25 && s.median == 5.5 && s.q3 == 7.75 && s.lo == 2 && s.hi == 9, "1 to 10");
}

/* Ranks from the table in every text on nonparametric statistics (two-sided 95 %). */
static void test_ranks(void)
{
    static const struct {
        size_t count, k;
    } table[] = {{6, 1},  {8, 1},   {9, 2},   {12, 3},  {15, 4},  {20, 6},
                 {25, 8}, {30, 10}, {40, 14}, {50, 18}, {100, 40}};
    size_t lo, hi;
    int good = 0, rows = sizeof table / sizeof *table;
    for (int i = 0; i < rows; i++)
        good += fb_stats_median_ranks(table[i].count, &lo, &hi) && lo + 1 == table[i].k &&
                hi + 1 == table[i].count - table[i].k + 1;
    tap_ok(good == rows, "%d of %d known ranks", good, rows);
    int none = 0;
    for (size_t n = 0; n < 6; n++)
        none += !fb_stats_median_ranks(n, &lo, &hi);
    tap_ok(none == 6, "there is no interval below 6 samples");
    fb_stats_median_ranks(100000, &lo, &hi);
    double expected = 50000 - 1.96 * sqrt(100000.0) / 2;
    tap_ok(fabs((double)lo - expected) < 3 && hi == 100000 - 1 - lo, "ranks of 100000: %zu", lo);
}

/* Draws from a skewed distribution with median 1: the interval must cover it in 95 % or more. */
static void test_coverage(void)
{
    enum { TRIALS = 4000, COUNT = 25 };
    int covered = 0;
    srand(1);
    for (int t = 0; t < TRIALS; t++) {
        double samples[COUNT];
        for (int i = 0; i < COUNT; i++)
            samples[i] = pow(2 * (rand() / (RAND_MAX + 1.0)), 3);
        struct fb_stats s = fb_stats_of(samples, COUNT);
        covered += s.lo <= 1 && s.hi >= 1;
    }
    tap_ok(covered >= 0.945 * TRIALS && covered < TRIALS, "covers the median %d times in %d",
           covered, TRIALS);
}

int main(void)
{
    test_small();
    test_known();
    test_ranks();
    test_coverage();
    return tap_done();
}
