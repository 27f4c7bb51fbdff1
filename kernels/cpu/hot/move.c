/* SPDX-License-Identifier: BSD-3-Clause
 *
 * move.c: tiles in and out of scratch: strided rows of any type to fp32 and back, transposed
 * panels, row sums. A key tile is moved once for all queries and a query tile once for some
 * hundred keys, so these loops are a few percent of the whole; they are plain and exact.
 */
#include "kernels/cpu/hot/bits.h"
#include "kernels/cpu/hot/hot.h"

INLINE void load_row(const enum fb_cpu_type type, float *restrict to, const void *restrict from,
                     int64_t n)
{
    const float *wide = from;
    const uint16_t *narrow = from;
    if (type == FB_CPU_FP32) {
        for (int64_t c = 0; c < n; c++)
            to[c] = wide[c];
    } else if (type == FB_CPU_BF16) {
#pragma omp simd
        for (int64_t c = 0; c < n; c++)
            to[c] = fb_cpu_from_bf16(narrow[c]);
    } else {
#pragma omp simd
        for (int64_t c = 0; c < n; c++)
            to[c] = fb_cpu_from_fp16(narrow[c]);
    }
}

INLINE void load_rows(const enum fb_cpu_type type, float *to, int64_t ld, const char *from,
                      int64_t stride, int64_t rows, int64_t n)
{
    for (int64_t r = 0; r < rows; r++) {
        load_row(type, to + r * ld, from + r * stride * (type == FB_CPU_FP32 ? 4 : 2), n);
        for (int64_t c = n; c < ld; c++)
            to[r * ld + c] = 0.0f;
    }
}

void FB_HOT(load)(float *to, int64_t ld, const void *from, enum fb_cpu_type type, int64_t stride,
                  int64_t rows, int64_t n)
{
    if (type == FB_CPU_FP32)
        load_rows(FB_CPU_FP32, to, ld, from, stride, rows, n);
    else if (type == FB_CPU_BF16)
        load_rows(FB_CPU_BF16, to, ld, from, stride, rows, n);
    else
        load_rows(FB_CPU_FP16, to, ld, from, stride, rows, n);
}

INLINE void store_row(const enum fb_cpu_type type, void *restrict to, const float *restrict from,
                      int64_t n, float scale)
{
    float *wide = to;
    uint16_t *narrow = to;
    if (type == FB_CPU_FP32) {
#pragma omp simd
        for (int64_t c = 0; c < n; c++)
            wide[c] = scale * from[c] + 0.0f; /* no -0 from a negative scale */
    } else if (type == FB_CPU_BF16) {
#pragma omp simd
        for (int64_t c = 0; c < n; c++)
            narrow[c] = fb_cpu_to_bf16(scale * from[c] + 0.0f);
    } else {
#pragma omp simd
        for (int64_t c = 0; c < n; c++)
            narrow[c] = fb_cpu_to_fp16(scale * from[c] + 0.0f);
    }
}

INLINE void store_rows(const enum fb_cpu_type type, char *to, int64_t stride, const float *from,
                       int64_t ld, int64_t rows, int64_t n, float scale)
{
    for (int64_t r = 0; r < rows; r++)
        store_row(type, to + r * stride * (type == FB_CPU_FP32 ? 4 : 2), from + r * ld, n, scale);
}

void FB_HOT(store)(void *to, enum fb_cpu_type type, int64_t stride, const float *from, int64_t ld,
                   int64_t rows, int64_t n, float scale)
{
    if (type == FB_CPU_FP32)
        store_rows(FB_CPU_FP32, to, stride, from, ld, rows, n, scale);
    else if (type == FB_CPU_BF16)
        store_rows(FB_CPU_BF16, to, stride, from, ld, rows, n, scale);
    else
        store_rows(FB_CPU_FP16, to, stride, from, ld, rows, n, scale);
}

/* Eight columns a sweep over the 32 rows of a panel: their sources share a cache line, their
 * destinations are whole lines. */
INLINE void pack_panel(float *restrict to, const float *restrict from, int64_t ld, int64_t n,
                       int64_t k)
{
    for (int64_t c = 0; c < k; c += 8) {
        const int64_t end = fb_cpu_min(c + 8, k);
        for (int64_t j = 0; j < n; j++)
            for (int64_t i = c; i < end; i++)
                to[i * FB_CPU_PANEL + j] = from[j * ld + i];
        for (int64_t i = c; i < end; i++)
            for (int64_t j = n; j < FB_CPU_PANEL; j++)
                to[i * FB_CPU_PANEL + j] = 0.0f;
    }
}

void FB_HOT(pack)(float *panels, const float *from, int64_t ld, int64_t n, int64_t k)
{
    for (int64_t j = 0; j < n; j += FB_CPU_PANEL)
        pack_panel(panels + j * k, from + j * ld, ld, fb_cpu_min(FB_CPU_PANEL, n - j), k);
}

void FB_HOT(add)(float *to, int64_t ld_to, const float *from, int64_t ld, int64_t rows, int64_t n)
{
    for (int64_t r = 0; r < rows; r++) {
#pragma omp simd
        for (int64_t c = 0; c < n; c++)
            to[r * ld_to + c] += from[r * ld + c];
    }
}
