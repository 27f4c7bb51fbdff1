/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the query-major sm_90a kernels share (fwd.cuh, bwd_dq.cuh): which work a CTA does
 * in which order, their products, and the mask of a score tile whose rows are queries.
 *
 * Work.  An item is one tile of M query rows of one query head.  A CTA does one in each round of
 * the grid, rounds alternately upwards and downwards, which evens out causal items of falling
 * length. With a full mask the tiles of a head follow each other, so that concurrent CTAs read the
 * same keys.  Causal tiles run longest first within a section of heads whose K and V fit a share of
 * the L2.  Key tiles of an item run from the last one down, so that the diagonal comes first.
 *
 * Masks.  Query i sees keys j <= i + offset, j < nk: offset is nk - nq for the bottom-right
 * alignment, 0 for the top-left one, and beyond every key for a full mask.
 */
#ifndef FB_KERNELS_SM90_Q_MAJOR_CUH
#define FB_KERNELS_SM90_Q_MAJOR_CUH

#include "kernels/ptx/mbarrier.cuh"
#include "kernels/ptx/tma.cuh"
#include "kernels/ptx/warpgroup.cuh"
#include "kernels/ptx/wgmma.cuh"
#include "kernels/sm90/call.cuh"

namespace fb {

/* The sizes of a query-major launch. */
struct q_major_work {
    int batch, heads, kv_heads, nq, nk;
    int tiles_m, items, section; /* section: heads that advance tile by tile together */
    int offset;                  /* causal: query i sees keys up to i + offset */
};

/* One tile of queries: rows from `row` of `head`, `steps` key tiles. */
struct q_major_item {
    int batch, head, kv_head, row, steps;
};

/* The i-th item of this CTA, not necessarily below the number of items. */
__device__ __forceinline__ int q_major_next(int i)
{
    return i * gridDim.x + (i % 2 ? gridDim.x - 1 - blockIdx.x : blockIdx.x);
}

template <int M, int N, bool CAUSAL>
__device__ __forceinline__ q_major_item q_major_find(const q_major_work &p, int item)
{
    q_major_item b;
    int units = p.batch * p.heads;
    int section = item / (p.section * p.tiles_m);
    int inside = item - section * p.section * p.tiles_m;
    int width = min(p.section, units - section * p.section);
    int tile = inside / width;
    int unit = section * p.section + inside % width;
    int keys = p.nk;

    if (CAUSAL)
        tile = p.tiles_m - 1 - tile;
    b.batch = unit / p.heads;
    b.head = unit % p.heads;
    b.kv_head = b.head / (p.heads / p.kv_heads);
    b.row = tile * M;
    if (CAUSAL)
        keys = max(0, min(p.nk, min(p.nq, b.row + M) + p.offset));
    b.steps = (keys + N - 1) / N;
    return b;
}

/* The work of a query-major launch with tiles of M rows; stay: CTAs that stay for all items, as
 * many at once, or 0. */
template <int M, bool CAUSAL>
inline q_major_work q_major_plan(const sm90_call &p, int stay = 0)
{
    q_major_work w;

    w.batch = p.q.batch, w.heads = p.q.head, w.kv_heads = p.k.head;
    w.nq = p.q.row, w.nk = p.k.row, w.offset = p.offset;
    w.tiles_m = (w.nq + M - 1) / M;
    w.items = w.tiles_m * w.heads * w.batch;
    w.section = 1;
    if (CAUSAL)
        w.section = causal_section(w.batch * w.heads, w.tiles_m, (double)w.nk * p.q.col * 4, stay);
    return w;
}

/* S or dP of 64 query rows: a = rows of Q or dO, b = a stage of K or V, both K-major panels. */
template <class T, int D, int N>
__device__ __forceinline__ void gemm_rows(float (&acc)[N / 2], uint32_t a, uint32_t a_panel,
                                          uint32_t b)
{
#pragma unroll
    for (int k = 0; k < D / 16; k++) {
        uint32_t step = (k % 4) * 32;
        wgmma_ss<T, N, 0, 0>(acc, wgmma_desc_k(a + k / 4 * a_panel + step),
                             wgmma_desc_k(b + k / 4 * (N * 128) + step), k > 0);
    }
}

/* O += P V or dQ += dS K: A from packed registers, a stage of V or K read MN-major. */
template <class T, int D, int N>
__device__ __forceinline__ void gemm_over_keys(float (&acc)[D / 2], const uint32_t *a, uint32_t b)
{
#pragma unroll
    for (int k = 0; k < N / 16; k++)
        wgmma_rs<T, D, 1>(acc, a + 4 * k, wgmma_desc_mn(b + k * 2048, N * 128), 1);
}

/* Hides column c of the fragment's row r where c >= seen[r]; columns as this lane counts them. */
template <int N>
__device__ __forceinline__ void rows_mask(float (&s)[N / 2], const int (&seen)[2])
{
#pragma unroll
    for (int i = 0; i < N / 2; i++)
        if (8 * (i / 4) + i % 2 >= seen[i / 2 % 2])
            s[i] = -INFINITY;
}

} // namespace fb
#endif
