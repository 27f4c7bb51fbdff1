/* SPDX-License-Identifier: BSD-3-Clause
 *
 * rows.c: everything done to scores between the GEMMs, row by row: the softmax and its
 * gradient, the streaming softmax of the forward, row sums.
 *
 * Idea: p and ds are made in one pass over two tiles that are still in L1 (64 x 64 x 4 = 16 KiB
 * each): read s and dp, write p and ds, 2 loads and 2 stores for about 20 arithmetic
 * instructions, so the pass is bound by the two arithmetic ports (about 10 cycles for 16 scores
 * against 160 for their five GEMMs at d = 64).
 *
 * The mask costs nothing inside a tile: a row is computed whole and what lies outside its interval
 * is then overwritten with zeros. Hence a masked score may be anything, NaN included, and no -inf
 * ever enters arithmetic. A row without keys has an empty interval. A bias may make scores -inf:
 * their p is 0, also where all of a row are (sub is +inf there, see cpu/rows.c).
 */
#include "kernels/cpu/hot/exp.h"
#include "kernels/cpu/hot/hot.h"

INLINE float round_to(const enum fb_cpu_type type, float value)
{
    return type == FB_CPU_BF16   ? fb_cpu_round_bf16(value)
           : type == FB_CPU_FP16 ? fb_cpu_round_fp16(value)
                                 : value;
}

INLINE struct fb_cpu_span row_span(int64_t row, int64_t lo, int64_t hi, int64_t n)
{
    struct fb_cpu_span span = {fb_cpu_min(fb_cpu_max(0, row + lo), n),
                               fb_cpu_min(fb_cpu_max(0, row + hi + 1), n)};
    span.end = fb_cpu_max(span.begin, span.end);
    return span;
}

INLINE void clear_outside(float *row, struct fb_cpu_span span, int64_t width)
{
    for (int64_t j = 0; j < span.begin; j++)
        row[j] = 0.0f;
    for (int64_t j = span.end; j < width; j++)
        row[j] = 0.0f;
}

INLINE void probabilities(const enum fb_cpu_type type, float *restrict s, int64_t width,
                          float scale, float sub, float mul)
{
#pragma omp simd
    for (int64_t j = 0; j < width; j++)
        s[j] = round_to(type, fb_cpu_exp(scale * s[j] - sub) * mul);
}

INLINE void gradients(const enum fb_cpu_type type, float *restrict s, float *restrict dp,
                      int64_t width, float scale, float sub, float mul, float delta)
{
#pragma omp simd
    for (int64_t j = 0; j < width; j++) {
        const float p = fb_cpu_exp(scale * s[j] - sub) * mul;
        dp[j] = round_to(type, p * (dp[j] - delta));
        s[j] = round_to(type, p);
    }
}

INLINE void scores(const enum fb_cpu_type type, const struct fb_cpu_scores *t)
{
    const int64_t width = fb_cpu_round_up(t->n, FB_CPU_ALIGN);
    for (int64_t r = 0; r < t->rows; r++) {
        const struct fb_cpu_span span = row_span(r, t->lo, t->hi, t->n);
        const float mul = t->mul ? t->mul[r] : 1.0f;
        float *s = t->s + r * t->ld;
        if (t->dp) {
            float *dp = t->dp + r * t->ld;
            gradients(type, s, dp, width, t->scale, t->sub[r], mul, t->delta[r]);
            clear_outside(dp, span, width);
        } else {
            probabilities(type, s, width, t->scale, t->sub[r], mul);
        }
        clear_outside(s, span, width);
    }
}

void FB_HOT(scores)(const struct fb_cpu_scores *t)
{
    if (t->round == FB_CPU_BF16)
        scores(FB_CPU_BF16, t);
    else if (t->round == FB_CPU_FP16)
        scores(FB_CPU_FP16, t);
    else
        scores(FB_CPU_FP32, t);
}

INLINE float largest(const float *s, float scale, struct fb_cpu_span span, float most)
{
#pragma omp simd reduction(max : most)
    for (int64_t j = span.begin; j < span.end; j++) {
        const float x = scale * s[j];
        most = x > most ? x : most;
    }
    return most;
}

INLINE float total(const float *s, int64_t width)
{
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t j = 0; j < width; j++)
        sum += s[j];
    return sum;
}

INLINE void gradient(const enum fb_cpu_type type, float *restrict dp, const float *restrict p,
                     float delta, int64_t n)
{
#pragma omp simd
    for (int64_t j = 0; j < n; j++)
        dp[j] = round_to(type, p[j] * (dp[j] - delta));
}

void FB_HOT(gradient)(float *dp, int64_t ld, const float *p, int64_t ldp, const float *delta,
                      int64_t rows, int64_t n, enum fb_cpu_type round)
{
    for (int64_t r = 0; r < rows; r++) {
        if (round == FB_CPU_BF16)
            gradient(FB_CPU_BF16, dp + r * ld, p + r * ldp, delta[r], n);
        else if (round == FB_CPU_FP16)
            gradient(FB_CPU_FP16, dp + r * ld, p + r * ldp, delta[r], n);
        else
            gradient(FB_CPU_FP32, dp + r * ld, p + r * ldp, delta[r], n);
    }
}

void FB_HOT(online)(const struct fb_cpu_online *t)
{
    const int64_t width = fb_cpu_round_up(t->n, FB_CPU_ALIGN);
    for (int64_t r = 0; r < t->rows; r++) {
        struct fb_cpu_span span = row_span(r, t->lo, t->hi, t->n);
        float *s = t->s + r * t->ld, *o = t->o + r * t->ldo;
        const float max = largest(s, t->scale, span, t->max[r]);
        if (max == -__builtin_inff()) /* nothing seen yet, or scores of -inf: not into exp */
            span.end = span.begin;
        if (span.begin == span.end) {
            clear_outside(s, span, width);
            continue;
        }
        const float shrink = fb_cpu_exp(t->max[r] - max);
        probabilities(FB_CPU_FP32, s, width, t->scale, max, 1.0f);
        clear_outside(s, span, width);
        t->sum[r] = t->sum[r] * shrink + total(s, width);
        t->max[r] = max;
#pragma omp simd
        for (int64_t c = 0; c < t->ldo; c++)
            o[c] *= shrink;
    }
}

void FB_HOT(dots)(float *to, const float *x, int64_t ldx, const float *y, int64_t ldy, int64_t rows,
                  int64_t n, bool add)
{
    for (int64_t r = 0; r < rows; r++) {
        float sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int64_t c = 0; c < n; c++)
            sum += x[r * ldx + c] * y[r * ldy + c];
        to[r] = add ? to[r] + sum : sum;
    }
}

void FB_HOT(divide)(float *o, int64_t ld, const float *sum, int64_t rows)
{
    for (int64_t r = 0; r < rows; r++) {
        const float by = sum[r] == 0 ? 1.0f : sum[r]; /* no key seen: o is 0 already */
#pragma omp simd
        for (int64_t c = 0; c < ld; c++)
            o[r * ld + c] /= by;
    }
}
