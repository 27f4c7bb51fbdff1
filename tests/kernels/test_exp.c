/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The exponential and the passes over rows of every instruction set, against libm in double
 * precision: accuracy in ulp over the whole range, infinities and NaN, what a mask clears, the
 * streaming softmax against the plain one.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/hot/ops.h"
#include "tests/tap.h"

enum { N = 64 };

/* exp of n numbers, by way of the pass that makes probabilities. */
static void exps(const struct fb_cpu_ops *ops, float *x, int64_t n)
{
    static const float zero;
    ops->scores(&(struct fb_cpu_scores){.rows = 1,
                                        .n = n,
                                        .ld = N,
                                        .lo = -FB_CPU_OPEN,
                                        .hi = FB_CPU_OPEN,
                                        .scale = 1,
                                        .s = x,
                                        .sub = &zero});
}

static double ulp(double value)
{
    int exponent;
    frexp(value, &exponent);
    return ldexp(1, exponent - 24);
}

static void test_range(const struct fb_cpu_ops *ops)
{
    double worst = 0;
    float at = 0;
    int wrong = 0;
    for (double from = -87.3; from < 88.3; from += N * 1.7e-4) {
        float x[N], y[N];
        for (int i = 0; i < N; i++)
            x[i] = y[i] = (float)(from + 1.7e-4 * i);
        exps(ops, y, N);
        for (int i = 0; i < N; i++) {
            const double want = exp((double)x[i]), off = fabs(y[i] - want) / ulp(want);
            if (off > worst) {
                worst = off;
                at = x[i];
            }
            wrong += !(off <= 1.0);
        }
    }
    tap_is_int((long long)wrong, 0, "%s: exp within 1 ulp on [-87.3, 88.3]: worst %.3f at %.9g",
               ops->isa, worst, at);
}

static void test_special(const struct fb_cpu_ops *ops)
{
    float x[N] = {0, -0.0f, -INFINITY, INFINITY, NAN, -200, 200, -87.4f, 88.36f, 88.4f, -1e30f};
    exps(ops, x, N);
    tap_ok(x[0] == 1 && x[1] == 1, "%s: exp(0) is exactly 1", ops->isa);
    tap_ok(x[2] == 0 && x[5] == 0 && x[7] == 0 && x[10] == 0,
           "%s: exp(-inf) and what is below the normal numbers are 0", ops->isa);
    tap_ok(isinf(x[3]) && isinf(x[6]) && isinf(x[9]), "%s: overflow is +inf", ops->isa);
    tap_ok(isfinite(x[8]) && x[8] > 2.3e38f, "%s: the largest results are finite", ops->isa);
    tap_ok(isnan(x[4]), "%s: NaN stays NaN", ops->isa);
}

/* Row r of 8 sees columns r + lo ... r + hi of n; everything else, padding too, is NaN before. */
static int wrong_mask(const struct fb_cpu_ops *ops, int64_t n, int64_t lo, int64_t hi)
{
    float s[8 * N], dp[8 * N], sub[8] = {0}, delta[8];
    for (int i = 0; i < 8 * N; i++) {
        const int64_t r = i / N, c = i % N;
        const int seen = c < n && c >= r + lo && c <= r + hi;
        s[i] = seen ? 0.25f : NAN;
        dp[i] = seen ? 3.0f : NAN;
        delta[r] = 1.0f;
    }
    ops->scores(&(struct fb_cpu_scores){.rows = 8,
                                        .n = n,
                                        .ld = N,
                                        .lo = lo,
                                        .hi = hi,
                                        .scale = -4,
                                        .s = s,
                                        .dp = dp,
                                        .sub = sub,
                                        .delta = delta});
    int wrong = 0;
    for (int64_t r = 0; r < 8; r++)
        for (int64_t c = 0; c < fb_cpu_round_up(n, FB_CPU_ALIGN); c++) {
            const int seen = c < n && c >= r + lo && c <= r + hi;
            const float p = seen ? expf(-1) : 0;
            wrong += !(fabsf(s[r * N + c] - p) <= 1e-7f && fabsf(dp[r * N + c] - 2 * p) <= 2e-7f);
            wrong += !seen && (s[r * N + c] != 0 || dp[r * N + c] != 0);
        }
    return wrong;
}

static void test_masks(const struct fb_cpu_ops *ops)
{
    int wrong = 0;
    for (int64_t n = 1; n <= N; n++)
        for (int64_t lo = -12; lo < 70; lo += 5)
            wrong += wrong_mask(ops, n, lo, lo + n % 13 - 1) +
                     wrong_mask(ops, n, -FB_CPU_OPEN, lo) + wrong_mask(ops, n, lo, FB_CPU_OPEN);
    tap_is_int((long long)wrong, 0, "%s: masked scores are exactly zero whatever they were",
               ops->isa);
}

/* A row in three pieces against the row at once. */
static void test_online(const struct fb_cpu_ops *ops)
{
    float max = -INFINITY, sum = 0, o[16] = {0}, all[3 * N];
    double most = -INFINITY, total = 0, weighted = 0;
    for (int i = 0; i < 3 * N; i++) {
        all[i] = sinf((float)i) * 20 + (float)i / 8;
        most = fmax(most, 0.5 * all[i]);
    }
    for (int i = 0; i < 3 * N; i++) {
        total += exp(0.5 * all[i] - most);
        weighted += exp(0.5 * all[i] - most) * i;
    }
    for (int piece = 0; piece < 3; piece++) {
        float s[N];
        memcpy(s, all + piece * N, sizeof s);
        ops->online(&(struct fb_cpu_online){.rows = 1,
                                            .n = N,
                                            .ld = N,
                                            .lo = -FB_CPU_OPEN,
                                            .hi = FB_CPU_OPEN,
                                            .scale = 0.5f,
                                            .s = s,
                                            .max = &max,
                                            .sum = &sum,
                                            .o = o,
                                            .ldo = 16});
        for (int i = 0; i < N; i++)
            o[0] += s[i] * (float)(piece * N + i);
    }
    tap_ok(fabs(max - most) < 1e-5 && fabs(sum / total - 1) < 1e-6,
           "%s: maximum and sum of a streamed row", ops->isa);
    ops->divide(o, 16, &sum, 1);
    tap_ok(fabs(o[0] * total / weighted - 1) < 1e-6, "%s: output of a streamed row", ops->isa);
}

static void test_dots(const struct fb_cpu_ops *ops)
{
    float x[2 * N], y[2 * N], to[2] = {1, 1};
    for (int i = 0; i < 2 * N; i++) {
        x[i] = (float)(i % 7);
        y[i] = (float)(i % 5 - 2);
    }
    int wrong = 0;
    for (int64_t n = 0; n <= N; n++)
        for (int add = 0; add < 2; add++) {
            float want[2] = {add ? to[0] : 0, add ? to[1] : 0};
            for (int64_t i = 0; i < 2 * n; i++)
                want[i / n] += x[i / n * N + i % n] * y[i / n * N + i % n];
            ops->dots(to, x, N, y, N, 2, n, add);
            wrong += to[0] != want[0] || to[1] != want[1];
        }
    tap_is_int((long long)wrong, 0, "%s: row sums of products", ops->isa);
}

int main(void)
{
    static const char *const names[] = {"generic", "v2", "v3", "v4"};
    for (int i = 0; i < 4; i++) {
        setenv("FLASHBACK_ISA", names[i], 1);
        const struct fb_cpu_ops *ops = fb_cpu_ops();
        if (!ops) {
            tap_skip("%s is not on this machine or not in this build", names[i]);
            continue;
        }
        test_range(ops);
        test_special(ops);
        test_masks(ops);
        test_online(ops);
        test_dots(ops);
    }
    return tap_done();
}
