/* SPDX-License-Identifier: BSD-3-Clause
 *
 * tile.cuh: what the fp32 kernels are made of: tiles in shared memory and the three GEMMs of
 * a tile pair, held in registers.
 *
 * Idea: 256 threads stand as 16 x 16. A tile is R rows; a thread owns the T = R / 16 rows y + 16 i
 * and either the T columns x + 16 j of an [R, R] matrix (scores) or W = D / 16 columns of an [R, D]
 * one (gradients). A warp covers 4 x 8 of the 16 x 16.
 *
 * Loads of 16 bytes: shared memory answers 8 lanes at a time, and 16 where lanes i and i ^ 1, or i
 * and i ^ 2, want the same. So neighbours take turns along y and x: what depends on y alone is the
 * same for i ^ 2, what depends on x alone for i ^ 1, and every load is answered in 2 cycles.
 *
 * Registers: T x W accumulators a gradient: 4 x 8 at D = 128, R = 64. Per step of four along the
 * sum a thread does 4 T T (scores) or 4 T W FMAs for 2 T or T + 4 W / V loads: 8 and 11 FMAs a
 * load at D = 128. At 32 lanes a cycle in each of four partitions that is 1.2 cycles of FMAs for
 * one of shared memory; 1 at D = 64, 1 at D = 256.
 *
 * Shared memory: rows of D + 4 floats put 8 rows on different banks (D + 4 = 4 or 20 mod 32, so do
 * multiples of 4 up to 28). In rows of scores, the T columns of a thread are neighbours: column x +
 * 16 j stands at x S + j, where S is T, but 4 where T is 3. Rows are an odd number of half rows of
 * banks (S > 1) apart, so that two of them take no bank twice.
 *
 * On and below the diagonal (Lower): blocks of 16 x 16 scores to its right are 0, and whole
 * products are left out by numbers known to the compiler, alike in all threads: 6 of 16 blocks at T
 * = 4.
 *
 * A tile's rows and columns beyond the tensor hold 0, so that no GEMM needs a bound. Tiles are
 * copied without waiting where the device can (sm_80). Deterministic: sums run in one order.
 */
#ifndef FB_KERNELS_SIMT_TILE_CUH
#define FB_KERNELS_SIMT_TILE_CUH

#include <stdint.h>

#include "kernels/ptx/cp_async.cuh"
#include "kernels/simt/simt.h"

namespace fb {

constexpr int simt_threads = 256;

/* Widths and strides of tiles of R rows at head size D. */
template <int D, int R>
struct simt_shape {
    static constexpr int T = R / 16, W = D / 16;
    static constexpr int V = D % 64 == 0 ? 4 : D % 32 == 0 ? 2 : 1; /* columns of one load */
    static constexpr int S = T == 3 ? 4 : T; /* places of a thread's T columns in a row of scores */
    static constexpr int ld = D + 4, lds = 16 * S + (S == 1 ? 8 : 16);
    static constexpr int tile = R * ld, scores = R * lds;   /* floats */
    static constexpr int ctas = D <= 64 && R == 64 ? 2 : 1; /* an SM */
    /* Of the loops along a product's sum: whole, and those that the diagonal cuts short. */
    static constexpr int unroll = ctas == 2 ? 4 : 8, unroll_lower = 2;
};

struct simt_thread {
    int x, y; /* of 16 x 16 */
};

/* Lane bits 4 .. 0 are y1 x2 x1 x0 y0. */
__device__ __forceinline__ simt_thread simt_place()
{
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    return {warp % 2 * 8 + lane / 2 % 8, warp / 2 * 4 + lane / 16 * 2 + lane % 2};
}

/* The column that owns element w of a thread's W. */
template <int D, int R>
__device__ __forceinline__ int simt_column(int x, int w)
{
    constexpr int V = simt_shape<D, R>::V;
    return w / V * 16 * V + x * V + w % V;
}

/* V floats from shared memory, in one load where V is 4 or 2. */
template <int V>
__device__ __forceinline__ void simt_load(const float *from, float *to)
{
    if constexpr (V == 4) {
        const float4 x = *(const float4 *)from;
        to[0] = x.x, to[1] = x.y, to[2] = x.z, to[3] = x.w;
    } else if constexpr (V == 2) {
        const float2 x = *(const float2 *)from;
        to[0] = x.x, to[1] = x.y;
    } else {
#pragma unroll
        for (int i = 0; i < V; i++)
            to[i] = from[i];
    }
}

/* The same way back, also to global memory. */
template <int V>
__device__ __forceinline__ void simt_put(float *to, const float *from)
{
    if constexpr (V == 4) {
        *(float4 *)to = make_float4(from[0], from[1], from[2], from[3]);
    } else if constexpr (V == 2) {
        *(float2 *)to = make_float2(from[0], from[1]);
    } else {
#pragma unroll
        for (int i = 0; i < V; i++)
            to[i] = from[i];
    }
}

__device__ __forceinline__ const float *simt_head(const fb_simt_view &view, int64_t b, int64_t h)
{
    return view.data + b * view.stride[0] + h * view.stride[1];
}

/* May rows of this view be read 16 bytes at a time? */
__device__ __forceinline__ bool simt_aligned(const fb_simt_view &view, int width)
{
    return (uintptr_t)view.data % 16 == 0 && view.stride[0] % 4 == 0 && view.stride[1] % 4 == 0 &&
           view.stride[2] % 4 == 0 && width % 4 == 0;
}

/* ---- Copies into shared memory ------------------------------------------------------------------
 *
 * Under way after the call, in groups that simt_close ends; simt_wait<LEFT> waits for this
 * thread's, but for the last LEFT groups. Where the device cannot, they are done at once.
 */

/* FLOATS is 4, both sides aligned to 16 bytes, or 1. Zeros where not valid. */
template <int FLOATS>
__device__ __forceinline__ void simt_copy(float *to, const float *from, bool valid)
{
#if __CUDA_ARCH__ >= 800
    const uint32_t address = (uint32_t)__cvta_generic_to_shared(to);
    if constexpr (FLOATS == 4)
        cp_async_16(address, from, valid);
    else
        cp_async_4(address, from, valid);
#else
    float x[FLOATS] = {};
    if (valid)
        simt_load<FLOATS>(from, x);
    simt_put<FLOATS>(to, x);
#endif
}

__device__ __forceinline__ void simt_close()
{
#if __CUDA_ARCH__ >= 800
    cp_async_commit();
#endif
}

template <int LEFT>
__device__ __forceinline__ void simt_wait()
{
#if __CUDA_ARCH__ >= 800
    cp_async_wait<LEFT>();
#endif
}

/* Rows first .. first + R of a head into a tile; 0 beyond n rows and `width` columns. */
template <int D, int R>
__device__ __forceinline__ void simt_copy_tile(float *tile, const fb_simt_view &view, int64_t b,
                                               int64_t h, int64_t first, int64_t n, int width)
{
    constexpr int quads = D / 4;
    const float *head = simt_head(view, b, h);
    const bool wide = simt_aligned(view, width);
#pragma unroll 4
    for (int at = threadIdx.x; at < R * quads; at += simt_threads) {
        const int row = at / quads, c = at % quads * 4;
        const bool inside = first + row < n;
        const float *from = head + (inside ? (first + row) * view.stride[2] : 0) + c;
        float *to = tile + row * simt_shape<D, R>::ld + c;
        if (wide) {
            simt_copy<4>(to, from, inside && c < width);
            continue;
        }
#pragma unroll
        for (int e = 0; e < 4; e++)
            simt_copy<1>(to + e, from + e, inside && c + e < width);
    }
}

/* ---- Products -----------------------------------------------------------------------------------
 */

/* s[i][j] += sum_c a[y + 16 i][c] b[x + 16 j][c], over all D columns; Lower: for j <= i alone. */
template <int D, int R, bool Lower = false>
__device__ __forceinline__ void simt_scores(float (&s)[R / 16][R / 16], const float *a,
                                            const float *b, simt_thread at)
{
    using shape = simt_shape<D, R>;
#pragma unroll(Lower ? shape::unroll_lower : shape::unroll)
    for (int c = 0; c < D; c += 4) {
        float u[shape::T][4], v[shape::T][4];
#pragma unroll
        for (int i = 0; i < shape::T; i++) {
            simt_load<4>(a + (at.y + 16 * i) * shape::ld + c, u[i]);
            simt_load<4>(b + (at.x + 16 * i) * shape::ld + c, v[i]);
        }
#pragma unroll
        for (int e = 0; e < 4; e++)
#pragma unroll
            for (int i = 0; i < shape::T; i++)
#pragma unroll
                for (int j = 0; j < (Lower ? i + 1 : shape::T); j++)
                    s[i][j] = fmaf(u[i][e], v[j][e], s[i][j]);
    }
}

/* One row of scores, of the columns x + 16 j. */
template <int D, int R>
__device__ __forceinline__ void simt_put_scores(float *p, int row, const float (&s)[R / 16],
                                                simt_thread at)
{
    using shape = simt_shape<D, R>;
    float whole[shape::S] = {};
#pragma unroll
    for (int j = 0; j < shape::T; j++)
        whole[j] = s[j];
    simt_put<shape::S>(p + row * shape::lds + at.x * shape::S, whole);
}

/* out[i][w] += sum_r p[r][y + 16 i] b[r][column w]: the transposed scores times a tile. Lower: of
 * row block r / 16, the column blocks i <= r / 16. */
template <int D, int R, bool Lower = false>
__device__ __forceinline__ void simt_add_turned(float (&out)[R / 16][D / 16], const float *p,
                                                const float *b, simt_thread at)
{
    using shape = simt_shape<D, R>;
    constexpr int parts = Lower ? shape::T : 1, rows = R / parts;
#pragma unroll
    for (int part = 0; part < parts; part++) {
#pragma unroll(Lower ? shape::unroll_lower : shape::unroll)
        for (int r = part * rows; r < part * rows + rows; r++) {
            float u[shape::S], v[shape::W];
            simt_load<shape::S>(p + r * shape::lds + at.y * shape::S, u);
#pragma unroll
            for (int w = 0; w < shape::W; w += shape::V)
                simt_load<shape::V>(b + r * shape::ld + simt_column<D, R>(at.x, w), v + w);
#pragma unroll
            for (int i = 0; i < (Lower ? part + 1 : shape::T); i++)
#pragma unroll
                for (int w = 0; w < shape::W; w++)
                    out[i][w] = fmaf(u[i], v[w], out[i][w]);
        }
    }
}

/* out[i][w] += sum_j p[y + 16 i][j] b[j][column w]: the scores times a tile, four places of a row
 * of scores at once. Lower: of column block j / 16, the row blocks i >= j / 16. */
template <int D, int R, bool Lower = false>
__device__ __forceinline__ void simt_add(float (&out)[R / 16][D / 16], const float *p,
                                         const float *b, simt_thread at)
{
    using shape = simt_shape<D, R>;
#pragma unroll 2
    for (int place = 0; place < 16 * shape::S; place += 4) {
        float u[shape::T][4];
#pragma unroll
        for (int i = 0; i < shape::T; i++)
            simt_load<4>(p + (at.y + 16 * i) * shape::lds + place, u[i]);
#pragma unroll
        for (int e = 0; e < 4; e++) {
            const int block = e % shape::S, row = place / shape::S + e / shape::S + 16 * block;
            if (block >= shape::T)
                continue;
            float v[shape::W];
#pragma unroll
            for (int w = 0; w < shape::W; w += shape::V)
                simt_load<shape::V>(b + row * shape::ld + simt_column<D, R>(at.x, w), v + w);
#pragma unroll
            for (int i = Lower ? block : 0; i < shape::T; i++)
#pragma unroll
                for (int w = 0; w < shape::W; w++)
                    out[i][w] = fmaf(u[i][e], v[w], out[i][w]);
        }
    }
}

/* ---- Visibility --------------------------------------------------------------------------------
 */

__device__ __forceinline__ int64_t simt_least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}
__device__ __forceinline__ int64_t simt_most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* What the rows of the tile of queries at i see of the tile of keys at j, in numbers within tiles:
 * row r < rows sees column c < columns where r + lo <= c <= r + hi. */
struct simt_band {
    int rows, columns, lo, hi;
    __device__ __forceinline__ bool visible(int r, int c) const
    {
        return r < rows && c < columns && c >= r + lo && c <= r + hi;
    }
};

template <int R>
__device__ __forceinline__ simt_band simt_band_find(const fb_simt_call &call, int64_t i, int64_t j)
{
    return {(int)simt_least(R, call.nq - i), (int)simt_least(R, call.nk - j),
            (int)simt_most(-R, simt_least(R, i + call.lo - j)),
            (int)simt_most(-R, simt_least(R, i + call.hi - j))};
}

/* Does no query r of the tile at i see a key beyond the r-th of the tile at j? */
__device__ __forceinline__ bool simt_lower(const fb_simt_call &call, int64_t i, int64_t j)
{
    return i + call.hi <= j;
}

/* Do all queries of a tile see all of its keys? */
template <int R>
__device__ __forceinline__ bool simt_all_visible(const fb_simt_call &call, int64_t i, int64_t j)
{
    return i + R <= call.nq && j + R <= call.nk && j >= i + R - 1 + call.lo &&
           j + R - 1 <= i + call.hi;
}

/* A block's head, of all batches, and tile, counted from the longest. */
struct simt_block {
    int64_t head, tile;
};

/*
 * Block `at` of heads * tiles. Without a mask a head's tiles are neighbours, which share its rows
 * in the L2. With one, all heads' longest tiles come first; where all blocks run at once, two an
 * SM, the second half goes the other way round, so that what comes second to an SM is short where
 * the first is long.
 */
__device__ __forceinline__ simt_block simt_find_block(const fb_simt_call &call, int64_t at,
                                                      int64_t heads, int64_t tiles)
{
    const bool masked = call.lo > -call.nq || call.hi < call.nk;
    const int64_t y = at / heads, half = (tiles + 1) / 2;
    if (!masked)
        return {at / tiles, at % tiles};
    return {at % heads, call.paired && y >= half ? tiles - 1 - (y - half) : y};
}

/* Tiles first .. end - 1 of queries that see keys of the tile at j; empty: end <= first. */
template <int R>
__device__ __forceinline__ void simt_query_tiles(const fb_simt_call &call, int64_t j,
                                                 int64_t *first, int64_t *end)
{
    const int64_t from = simt_most(0, j - call.hi);
    const int64_t last = simt_least(call.nq, simt_least(call.nk, j + R) - call.lo);
    *first = from / R;
    *end = last > from ? (last + R - 1) / R : *first;
}

/* The same for keys seen from the query tile at i. */
template <int R>
__device__ __forceinline__ void simt_key_tiles(const fb_simt_call &call, int64_t i, int64_t *first,
                                               int64_t *end)
{
    const int64_t from = simt_most(0, i + call.lo);
    const int64_t last = simt_least(call.nk, simt_least(call.nq, i + R) + call.hi);
    *first = from / R;
    *end = last > from ? (last + R - 1) / R : *first;
}

} // namespace fb
#endif
