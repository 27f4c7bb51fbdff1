/* SPDX-License-Identifier: BSD-3-Clause
 *
 * gemm.c: the fp32 GEMM of tiles, after Goto and van de Geijn (2008) and BLIS, cut down to what
 * the attention loops need: tiles are in L2 already and no more than 64 to 256 deep, so there are
 * no outer blocking loops, and only what must be transposed (K and V) is packed.
 *
 * A micro-tile of MICRO_ROWS x 2 vectors of C stays in registers over the whole depth. Each step of
 * k loads 2 vectors of B, broadcasts MICRO_ROWS elements of A and does 2 MICRO_ROWS FMAs. With
 * AVX-512, 8 x 32: 16 FMAs in 8 cycles on two ports; 10 loads in 5 cycles on two; 26
 * micro-operations of 48 that six slots could issue; 16 chains cover the latency of 4 x 2. So FMAs
 * are the limit, and 170 to 175 GFLOP/s were measured on one core of a Sapphire Rapids
 * class machine at depth 64 to 256 (OpenBLAS 0.3.21, SkylakeX kernels, 1024^3: 150 to 156).
 *
 * A is read in place, by rows (dQ = dS K) or by columns (dV = P^T dO), B row-major or as packed
 * panels. The panel of B (k x 32 floats, 8 KiB at k = 64) stays in L1 while rows of A pass by. The
 * sum over k starts from zero and is added to C once: a sum of tile sums, which rounds less than
 * one long chain. Rows that remain take a micro-tile of that height, never padding.
 */
#include "kernels/cpu/hot/hot.h"

/* Aligned to 4 bytes only: a panel may start at any column. */
typedef float vector __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

/* One micro-tile: mr rows and nv vectors of C. The loops over constants are unrolled whole, which
 * makes sum[][] registers. */
INLINE void micro(const int mr, const int nv, const bool columns, const struct fb_cpu_gemm *g,
                  const float *a, const float *b, float *c)
{
    vector sum[MICRO_ROWS][MICRO_VECTORS];
    const int64_t lda = g->lda, ldb = g->ldb;
#pragma GCC unroll 16
    for (int i = 0; i < mr; i++)
#pragma GCC unroll 16
        for (int j = 0; j < nv; j++)
            sum[i][j] = (vector){0};
    for (int64_t k = g->k; k > 0; k--) {
        vector row[MICRO_VECTORS];
#pragma GCC unroll 16
        for (int j = 0; j < nv; j++)
            row[j] = ((const vector *)b)[j];
#pragma GCC unroll 16
        for (int i = 0; i < mr; i++) {
            const float x = columns ? a[i] : a[i * lda];
#pragma GCC unroll 16
            for (int j = 0; j < nv; j++)
                sum[i][j] += x * row[j];
        }
        a += columns ? lda : 1;
        b += ldb;
    }
    if (g->add) {
#pragma GCC unroll 16
        for (int i = 0; i < mr; i++)
#pragma GCC unroll 16
            for (int j = 0; j < nv; j++)
                sum[i][j] += ((vector *)(c + i * g->ldc))[j];
    }
#pragma GCC unroll 16
    for (int i = 0; i < mr; i++)
#pragma GCC unroll 16
        for (int j = 0; j < nv; j++)
            ((vector *)(c + i * g->ldc))[j] = sum[i][j];
}

/* mr < MICRO_ROWS, as a constant. */
#define CASE(mr)                                                                                   \
    case mr:                                                                                       \
        micro(mr, nv, columns, g, a, b, c);                                                        \
        break

INLINE void micro_rows(int mr, const int nv, const bool columns, const struct fb_cpu_gemm *g,
                       const float *a, const float *b, float *c)
{
    switch (mr) {
        CASE(1);
        CASE(2);
        CASE(3);
#if MICRO_ROWS > 4
        CASE(4);
        CASE(5);
#endif
#if MICRO_ROWS > 6
        CASE(6);
        CASE(7);
#endif
#if MICRO_ROWS > 8
        CASE(8);
        CASE(9);
        CASE(10);
        CASE(11);
#endif
#if MICRO_ROWS > 12
        CASE(12);
        CASE(13);
#endif
    default:
        micro(MICRO_ROWS, nv, columns, g, a, b, c);
    }
}

/* All rows of nv vectors of columns. */
INLINE void panel(const int nv, const bool columns, const struct fb_cpu_gemm *g, const float *b,
                  float *c)
{
    const int64_t step = columns ? 1 : g->lda;
    const float *a = g->a;
    int64_t i = 0;
    for (; i + MICRO_ROWS <= g->m; i += MICRO_ROWS)
        micro(MICRO_ROWS, nv, columns, g, a + i * step, b, c + i * g->ldc);
    if (i < g->m)
        micro_rows((int)(g->m - i), nv, columns, g, a + i * step, b, c + i * g->ldc);
}

INLINE void gemm(const bool columns, const struct fb_cpu_gemm *g)
{
    const int64_t wide = LANES * MICRO_VECTORS;
    int64_t j = 0;
    for (; j < g->n; j += wide) {
        const float *b = g->b + j / FB_CPU_PANEL * g->panel + j % FB_CPU_PANEL;
        if (g->n - j > LANES)
            panel(MICRO_VECTORS, columns, g, b, g->c + j);
        else
            panel(1, columns, g, b, g->c + j);
    }
}

void FB_HOT(gemm)(const struct fb_cpu_gemm *g)
{
    if (g->columns)
        gemm(true, g);
    else
        gemm(false, g);
}
