/* SPDX-License-Identifier: BSD-3-Clause
 *
 * terms.c: what further terms of a score cost per score: softcap, bias, ALiBi, dropout. Passes
 * over tiles in L1 that only problems with such terms make. ALiBi and bias are a few cycles for 16
 * scores, against 160 for their five GEMMs at d = 64; a softcap (two divisions and an exponential)
 * and dropout (ten rounds of two wide multiplications for 4 scores) are as dear as a GEMM or two.
 *
 * Loops end at column n, not at the next vector: a bias has no columns beyond it.
 */
#include <math.h>

#include "kernels/cpu/hot/exp.h"
#include "kernels/cpu/hot/hot.h"

/* tanh x within a relative error of 3 * 2^-24: below 5/8 x + x^3 q(x^2), q of degree 4 fitted to
 * 4.7e-9; above 1 - 2 / (e^2x + 1), where nothing cancels. */
INLINE float tanh_of(float x)
{
    const float size = fabsf(x), square = x * x;
    float q = -0x1.7462f2p-8f;
    q = q * square + 0x1.51d3fep-6f;
    q = q * square - 0x1.b83034p-5f;
    q = q * square + 0x1.1106cep-3f;
    q = q * square - 0x1.555532p-2f;
    const float near = x + x * square * q;
    const float far = copysignf(1.0f - 2.0f / (fb_cpu_exp(2.0f * size) + 1.0f), x);
    return size < 0.625f ? near : far;
}

INLINE void cap_row(float *restrict s, float *restrict g, int64_t n, float scale, float cap)
{
    if (!g) {
#pragma omp simd
        for (int64_t c = 0; c < n; c++)
            s[c] = cap * tanh_of(scale * s[c] / cap);
        return;
    }
#pragma omp simd
    for (int64_t c = 0; c < n; c++) {
        const float t = tanh_of(scale * s[c] / cap);
        s[c] = cap * t;
        g[c] = 1.0f - t * t;
    }
}

INLINE void scale_row(float *s, int64_t n, float scale)
{
#pragma omp simd
    for (int64_t c = 0; c < n; c++)
        s[c] *= scale;
}

/* Distances are exact as 32-bit integers: lengths are below 2^31. */
INLINE void alibi_row(float *s, int64_t n, float slope, int32_t at)
{
#pragma omp simd
    for (int32_t c = 0; c < (int32_t)n; c++)
        s[c] -= slope * fabsf((float)(at - c));
}

INLINE void bias_row(float *restrict s, const float *restrict bias, int64_t n)
{
#pragma omp simd
    for (int64_t c = 0; c < n; c++)
        s[c] += bias[c];
}

void FB_HOT(terms)(const struct fb_cpu_score_terms *t)
{
    for (int64_t r = 0; r < t->rows; r++) {
        float *s = t->s + r * t->ld;
        if (t->softcap != 0)
            cap_row(s, t->g ? t->g + r * t->ld : NULL, t->n, t->scale, t->softcap);
        else
            scale_row(s, t->n, t->scale);
        if (t->bias)
            bias_row(s, t->bias + r * t->bias_stride, t->n);
        if (t->slope != 0)
            alibi_row(s, t->n, t->slope, (int32_t)(t->shift + r));
    }
}

/* ---- Dropout ------------------------------------------------------------------------------------
 */

/* Entries of one row at a time: what the blocks on the stack are for. */
enum { STRETCH = 64, BLOCKS = STRETCH / 4 + 1 };

/* Philox4x32-10 (Salmon et al., SC'11) for counters (offset, first), (offset, first + 1) ... */
INLINE void draw(uint32_t word[4][BLOCKS], int count, const struct fb_cpu_keep *t, uint64_t first)
{
    const uint32_t low = (uint32_t)t->offset, high = (uint32_t)(t->offset >> 32);
#pragma omp simd
    for (int b = 0; b < count; b++) {
        uint32_t k0 = (uint32_t)t->seed, k1 = (uint32_t)(t->seed >> 32);
        uint32_t c0 = low, c1 = high, c2 = (uint32_t)(first + (uint64_t)b);
        uint32_t c3 = (uint32_t)((first + (uint64_t)b) >> 32);
#pragma GCC unroll 10
        for (int round = 0; round < 10; round++) {
            const uint64_t x = (uint64_t)0xD2511F53u * c0, y = (uint64_t)0xCD9E8D57u * c2;
            c0 = (uint32_t)(y >> 32) ^ c1 ^ k0;
            c1 = (uint32_t)y;
            c2 = (uint32_t)(x >> 32) ^ c3 ^ k1;
            c3 = (uint32_t)x;
            k0 += 0x9E3779B9u;
            k1 += 0xBB67AE85u;
        }
        word[0][b] = c0;
        word[1][b] = c1;
        word[2][b] = c2;
        word[3][b] = c3;
    }
}

/* At most STRETCH entries from `entry` on. */
INLINE void keep_stretch(const struct fb_cpu_keep *t, float *f, int64_t n, uint64_t entry)
{
    uint32_t word[4][BLOCKS];
    const int64_t skip = (int64_t)(entry % 4);
    draw(word, (int)((skip + n + 3) / 4), t, entry / 4);
    for (int64_t c = 0; c < n; c++)
        f[c] = word[(skip + c) % 4][(skip + c) / 4] > t->limit ? t->rescale : 0.0f;
}

void FB_HOT(keep)(const struct fb_cpu_keep *t)
{
    for (int64_t r = 0; r < t->rows; r++)
        for (int64_t c = 0; c < t->n; c += STRETCH)
            keep_stretch(t, t->f + r * t->ld + c, fb_cpu_min(STRETCH, t->n - c),
                         t->entry + (uint64_t)r * t->step + (uint64_t)c);
}

/* ---- Factors and roundings ----------------------------------------------------------------------
 */

INLINE float round_to(const enum fb_cpu_type type, float value)
{
    return type == FB_CPU_BF16   ? fb_cpu_round_bf16(value)
           : type == FB_CPU_FP16 ? fb_cpu_round_fp16(value)
                                 : value;
}

INLINE void multiply(const enum fb_cpu_type type, float *restrict x, const float *restrict y,
                     int64_t n)
{
    if (!y) {
#pragma omp simd
        for (int64_t c = 0; c < n; c++)
            x[c] = round_to(type, x[c]);
        return;
    }
#pragma omp simd
    for (int64_t c = 0; c < n; c++)
        x[c] = round_to(type, x[c] * y[c]);
}

void FB_HOT(multiply)(float *x, const float *y, int64_t ld, int64_t rows, int64_t n,
                      enum fb_cpu_type round)
{
    for (int64_t r = 0; r < rows; r++) {
        const float *by = y ? y + r * ld : NULL;
        if (round == FB_CPU_BF16)
            multiply(FB_CPU_BF16, x + r * ld, by, n);
        else if (round == FB_CPU_FP16)
            multiply(FB_CPU_FP16, x + r * ld, by, n);
        else
            multiply(FB_CPU_FP32, x + r * ld, by, n);
    }
}
