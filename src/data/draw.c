/* SPDX-License-Identifier: BSD-3-Clause
 *
 * draw.c: random numbers of an element. The counter is (row, batch, head and stream, tensor and
 * column / 4); the four words of a block serve four neighbouring columns. Normal numbers come from
 * the quantile function: one uniform each, no rejection, and no logarithm or sine of libm, whose
 * last bit differs between versions.
 */
#include "data/draw.h"

#include <math.h>
#include <string.h>

#include "data/philox.h"

static uint32_t draw_word(struct fb_draw *draw, enum fb_stream stream)
{
    const uint32_t counter[4] = {(uint32_t)draw->row, (uint32_t)draw->batch,
                                 (uint32_t)draw->head | (uint32_t)stream << 24,
                                 (uint32_t)draw->input << 29 | (uint32_t)(draw->column >> 2)};
    if (memcmp(counter, draw->counter, sizeof counter)) {
        fb_philox(draw->recipe->seed, counter, draw->block);
        memcpy(draw->counter, counter, sizeof counter);
    }
    return draw->block[draw->column & 3];
}

double fb_draw_uniform(struct fb_draw *draw, enum fb_stream stream)
{
    return ((double)draw_word(draw, stream) + 0.5) * 0x1p-32;
}

double fb_draw_normal(struct fb_draw *draw, enum fb_stream stream)
{
    return fb_normal_quantile(fb_draw_uniform(draw, stream));
}

/* ln x for x in (0, 1]: x = m 2^e with m in [1/sqrt 2, sqrt 2), ln m = 2 artanh((m - 1) / (m + 1)).
 * |t| < 0.172, so that eleven odd terms leave less than 1e-18. */
static double natural_log(double x)
{
    int e;
    double m = frexp(x, &e);
    if (m < 0.70710678118654752) {
        m *= 2;
        e--;
    }
    double t = (m - 1) / (m + 1), square = t * t, sum = 0;
    for (int term = 21; term >= 1; term -= 2)
        sum = sum * square + 1.0 / term;
    return 2 * t * sum + e * 0.69314718055994531;
}

static double polynomial(const double *coefficient, int count, double x)
{
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum = sum * x + coefficient[i];
    return sum;
}

/* P. J. Acklam's rational approximation (2003): one for the middle, one for both tails. */
double fb_normal_quantile(double p)
{
    static const double a[] = {-3.969683028665376e+01, 2.209460984245205e+02,
                               -2.759285104469687e+02, 1.383577518672690e+02,
                               -3.066479806614716e+01, 2.506628277459239e+00};
    static const double b[] = {-5.447609879822406e+01, 1.615858368580409e+02,
                               -1.556989798598866e+02, 6.680131188771972e+01,
                               -1.328068155288572e+01, 1};
    static const double c[] = {-7.784894002430293e-03, -3.223964580411365e-01,
                               -2.400758277161838e+00, -2.549732539343734e+00,
                               4.374664141464968e+00,  2.938163982698783e+00};
    static const double d[] = {7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00,
                               3.754408661907416e+00, 1};
    const double tail = 0.02425;

    if (p >= tail && p <= 1 - tail) {
        double q = p - 0.5, r = q * q;
        return q * polynomial(a, 6, r) / polynomial(b, 6, r);
    }
    double q = sqrt(-2 * natural_log(p < tail ? p : 1 - p));
    double magnitude = polynomial(c, 6, q) / polynomial(d, 5, q); /* negative */
    return p < tail ? magnitude : -magnitude;
}
