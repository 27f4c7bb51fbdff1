/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a step of the sm_90a backward consists of (bwd_loop.cuh has their order): the products, and
 * what an MMA warpgroup does with their accumulators: mask, exponentials, dS, a half of dQ.
 *
 * Budget and layout.  Everything here is inlined and works on registers of the caller: M/2 values
 * of S and dP a thread, M/4 registers of packed P and dS, a half of dQ in DQ_N/2, LSE and
 * delta in M/8 pairs.  A row of S and dP is a key of this warpgroup, a column a query; a lane has
 * two neighbouring columns of every eight.
 *
 * Barriers.  The products only read what their caller has waited for and leave commit and wait to
 * it; grad_tell() alone arrives: fence, then once a warp, behind the stores of dS.
 */
#ifndef FB_KERNELS_SM90_BWD_OPS_CUH
#define FB_KERNELS_SM90_BWD_OPS_CUH

#include "kernels/sm90/bwd_config.cuh"
#include "kernels/ptx/mbarrier.cuh"
#include "kernels/ptx/warpgroup.cuh"
#include "kernels/ptx/wgmma.cuh"

namespace fb {

/* S^T or dP^T of this warpgroup's 64 keys: a = its rows of K or V, b = a stage of Q or dO. */
template <class C>
__device__ __forceinline__ void gemm_scores(float (&acc)[C::M / 2], uint32_t a, uint32_t b)
{
    const uint64_t rows = wgmma_desc_k(a), tile = wgmma_desc_k(b);
#pragma unroll
    for (int k = 0; k < C::D / 16; k++) {
        uint32_t step = (k % 4) * 32;
        wgmma_ss<typename C::T, C::M, 0, 0>(acc, wgmma_desc_next(rows, k / 4 * C::KV_PANEL + step),
                                            wgmma_desc_next(tile, k / 4 * C::Q_PANEL + step),
                                            k > 0);
    }
}

/* dV += P^T dO or dK += dS^T Q: A from packed registers, the same bytes of dO or Q read MN-major.
 */
template <class C>
__device__ __forceinline__ void gemm_keys(float (&acc)[C::D / 2], const uint32_t *a, uint32_t b)
{
    const uint64_t tile = wgmma_desc_mn(b, C::Q_PANEL);
#pragma unroll
    for (int k = 0; k < C::M / 16; k++)
        wgmma_rs<typename C::T, C::D, 1>(acc, a + 4 * k, wgmma_desc_next(tile, k * 2048), 1);
}

/* This warpgroup's half of dQ = dS K over all 128 keys; ds = a dS buffer, k = the K tile. */
template <class C>
__device__ __forceinline__ void gemm_dq(float (&acc)[C::DQ_N / 2], uint32_t ds, uint32_t k, int w)
{
    uint32_t rows = C::DQ == DQ_ROWS ? w * 8192 : 0;
    uint32_t cols = C::DQ == DQ_ROWS ? 0 : w * C::KV_PANEL;
    const uint64_t grads = wgmma_desc_k(ds + rows), keys = wgmma_desc_mn(k + cols, C::KV_PANEL);
#pragma unroll
    for (int i = 0; i < C::N / 16; i++) {
        uint64_t s = wgmma_desc_next(grads, i / 4 * C::Q_PANEL + (i % 4) * 32);
        uint64_t m = wgmma_desc_next(keys, i * 2048);
        if constexpr (C::DQ == DQ_SWAPPED)
            wgmma_ss<typename C::T, C::DQ_N, 1, 0>(acc, m, s, i > 0);
        else
            wgmma_ss<typename C::T, C::DQ_N, 0, 1>(acc, s, m, i > 0);
    }
}

/*
 * Causal: hides what a key may not see: row r of the fragment sees queries from `from[r]` on,
 * columns as this lane counts them.  Keys past the end are hidden too: their K rows are zeros and
 * their scores finite, which fp16 would not survive.
 */
template <class C>
__device__ __forceinline__ void scores_mask(float (&s)[C::M / 2], int query, const int (&from)[2])
{
#pragma unroll
    for (int i = 0; i < C::M / 2; i++)
        if (query + 8 * (i / 4) + i % 2 < from[i / 2 % 2])
            s[i] = -INFINITY;
}

/* Full: hides all but the first `keys` rows of this warpgroup. */
template <class C>
__device__ __forceinline__ void scores_mask_keys(float (&s)[C::M / 2], int keys)
{
    const int t = register_copy(threadIdx.x) % 128, row = 16 * (t / 32) + t % 32 / 4;
#pragma unroll
    for (int i = 0; i < C::M / 2; i++)
        if (row + 8 * (i / 2 % 2) >= keys)
            s[i] = -INFINITY;
}

/* LSE or delta of the queries of this lane's columns, asked for before the scores are there. */
template <class C>
__device__ __forceinline__ void stat_load(float2 (&x)[C::M / 8], uint32_t at)
{
#pragma unroll
    for (int j = 0; j < C::M / 8; j++)
        x[j] = shared_load2(at + 32 * j);
}

/* P = 2^(S scale_log2 - LSE2), in place. */
template <class C>
__device__ __forceinline__ void scores_exp(float (&s)[C::M / 2], const float2 (&lse)[C::M / 8],
                                           float scale_log2)
{
#pragma unroll
    for (int i = 0; i < C::M / 2; i++)
        s[i] = exp2_approx(fmaf(s[i], scale_log2, i % 2 ? -lse[i / 4].y : -lse[i / 4].x));
}

/* The same, asking for LSE now, and packed as the A operand of dV. */
template <class C>
__device__ __forceinline__ void scores_exp(float (&s)[C::M / 2], uint32_t (&packed)[C::M / 4],
                                           uint32_t lse, float scale_log2)
{
#pragma unroll
    for (int j = 0; j < C::M / 8; j++) {
        float2 l = shared_load2(lse + 32 * j);
#pragma unroll
        for (int e = 0; e < 4; e++)
            s[4 * j + e] = exp2_approx(fmaf(s[4 * j + e], scale_log2, e % 2 ? -l.y : -l.x));
        packed[2 * j] = elem<typename C::T>::pack(s[4 * j], s[4 * j + 1]);
        packed[2 * j + 1] = elem<typename C::T>::pack(s[4 * j + 2], s[4 * j + 3]);
    }
}

/* dS = P (dP - delta), packed as the A operand of dK. */
template <class C>
__device__ __forceinline__ void scores_grad(const float (&p)[C::M / 2], const float (&dp)[C::M / 2],
                                            uint32_t (&packed)[C::M / 4], uint32_t delta)
{
#pragma unroll
    for (int j = 0; j < C::M / 8; j++) {
        float2 d = shared_load2(delta + 32 * j);
        float g[4];
#pragma unroll
        for (int e = 0; e < 4; e++)
            g[e] = p[4 * j + e] * (dp[4 * j + e] - (e % 2 ? d.y : d.x));
        packed[2 * j] = elem<typename C::T>::pack(g[0], g[1]);
        packed[2 * j + 1] = elem<typename C::T>::pack(g[2], g[3]);
    }
}

/* The same, delta in registers. */
template <class C>
__device__ __forceinline__ void scores_grad(const float (&p)[C::M / 2], const float (&dp)[C::M / 2],
                                            uint32_t (&packed)[C::M / 4],
                                            const float2 (&delta)[C::M / 8])
{
#pragma unroll
    for (int i = 0; i < C::M / 4; i++)
        packed[i] = elem<typename C::T>::pack(p[2 * i] * (dp[2 * i] - delta[i / 2].x),
                                              p[2 * i + 1] * (dp[2 * i + 1] - delta[i / 2].y));
}

/* This warp's dS is in shared memory. */
__device__ __forceinline__ void grad_tell(uint32_t ds_full)
{
    fence_proxy_async();
    mbarrier_arrive_warp(ds_full);
}

/* dS^T registers to the [query][key] buffer; `at` is this lane's address of query row l % 8. */
template <class C>
__device__ __forceinline__ void grad_store(uint32_t at, const uint32_t (&ds)[C::M / 4])
{
#pragma unroll
    for (int k = 0; k < C::M / 16; k++)
        stmatrix_x4_trans(at + k * 2048, ds[4 * k], ds[4 * k + 1], ds[4 * k + 2], ds[4 * k + 3]);
}

/* A half of dQ in register order: one conflict-free 16-byte store for every four values. */
template <class C>
__device__ __forceinline__ void dq_dump(uint32_t at, const float (&dq)[C::DQ_N / 2])
{
#pragma unroll
    for (int c = 0; c < C::DQ_N / 8; c++)
        shared_store4(at + 2048 * c, dq[4 * c], dq[4 * c + 1], dq[4 * c + 2], dq[4 * c + 3]);
}

/* to[AT..AT+3] += x[0..3] in the L2.  AT is in the instruction: one address serves all of them. */
template <int AT>
__device__ __forceinline__ void reduce_add4(float *to, const float *x)
{
    asm volatile("red.relaxed.gpu.global.add.v4.f32 [%0+%5], {%1, %2, %3, %4};" ::"l"(to),
                 "f"(x[0]), "f"(x[1]), "f"(x[2]), "f"(x[3]), "n"(4 * AT)
                 : "memory");
}

/* A half of dQ in register order, added from registers. */
template <int PIECE, int COUNT>
__device__ __forceinline__ void dq_add_pieces(float *to, const float (&dq)[COUNT])
{
    if constexpr (4 * PIECE < COUNT) {
        reduce_add4<512 * PIECE>(to, dq + 4 * PIECE);
        dq_add_pieces<PIECE + 1>(to, dq);
    }
}

} // namespace fb
#endif
