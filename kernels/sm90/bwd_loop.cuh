/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The MMA warpgroups of the sm_90a backward: five products, softmax, dS, and the epilogue.
 *
 * One iteration i, in order (registers of a thread in brackets, D = 128, M = 64 / 80):
 *   S^T   = K Q^T            [32 / 40]   group 1
 *   dP^T  = V dO^T           [32 / 40]   group 2
 *   P     = exp2(S scale log2e - LSE)    while dP runs
 *   dS    = P (dP - delta), packed with P    [16 + 16 / 20 + 20]
 *   dS to shared memory, DS_FULL
 *   dV   += P^T dO           [64]        group 3
 *   dQ    = dS K             [32 / 40]   group 4, of this iteration or (LAG) of the one before
 *   dK   += dS^T Q           [64]        group 5
 *   dQ to shared memory while dK runs, DQ_FULL
 * Peak: dK + dV + max(S + dP, dQ + P + dS) = 192 / 208 of 240.
 *
 * Schedules.  LAG = 1 takes dQ of the previous iteration, so that a warpgroup never waits for the
 * other's dS of the same iteration and the two can run out of step, one's softmax under the other's
 * products.  EARLY_DV issues dV before waiting for dP, so that the dS arithmetic also has a product
 * to hide under.
 */
#ifndef FB_KERNELS_SM90_BWD_LOOP_CUH
#define FB_KERNELS_SM90_BWD_LOOP_CUH

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
 * Hides what a key may not see: row r of the fragment sees queries from `from[r]` on, columns as
 * this lane counts them.  Keys past the end are hidden too: their K rows are zeros and their scores
 * finite, which fp16 would not survive.
 */
template <class C>
__device__ __forceinline__ void scores_mask(float (&s)[C::M / 2], int query, const int (&from)[2])
{
#pragma unroll
    for (int i = 0; i < C::M / 2; i++)
        if (query + 8 * (i / 4) + i % 2 < from[i / 2 % 2])
            s[i] = -INFINITY;
}

/* P = 2^(S scale_log2 - LSE2), in place, and packed as the A operand of dV. */
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

/* One 64 x D gradient tile: registers, times `scale`, to swizzled panels, to global memory. */
template <class C>
__device__ __forceinline__ void tile_store(const CUtensorMap *map, const bwd_block &b, uint32_t at,
                                           const float (&acc)[C::D / 2], float scale, int w)
{
    fragment_store<typename C::T, C::D>(at + w * 8192, C::KV_PANEL, acc, scale);
    fence_proxy_async();
    named_barrier_sync(2 + w, 128); /* the warpgroup's tile is complete */
    if (threadIdx.x % 128 == 0) {
        tma_store_tile<C::PANELS>(map, at + w * 8192, C::KV_PANEL, b.key + 64 * w, b.kv_head,
                                  b.batch);
        bulk_commit();
    }
}

/*
 * This CTA's share of dV and dK in fp32 and register order, dV of both warpgroups before dK of
 * both; bwd_join() adds the shares.
 */
template <class C>
__device__ __forceinline__ void part_store(const bwd_sm90_args &p, const bwd_block &b,
                                           const float (&acc)[C::D / 2], int which)
{
    int64_t tile = (int64_t)(b.batch * p.kv_heads + b.kv_head) * p.tiles_n + b.tile_n;
    float4 *at = (float4 *)(p.parts + ((tile * p.splits + b.split) * 4 + which) * (64 * C::D));

#pragma unroll
    for (int c = 0; c < C::D / 8; c++)
        at[128 * c + threadIdx.x % 128] =
            make_float4(acc[4 * c], acc[4 * c + 1], acc[4 * c + 2], acc[4 * c + 3]);
}

/* What an MMA thread keeps from one iteration to the next; in brackets, DQ_SHORT alone. */
template <class C>
struct bwd_state {
    float dk[C::D / 2], dv[C::D / 2];
    uint32_t smem, k_rows, ds_lane, dq_lane, stat_lane;
    int w, from[2], mask_below, tile;
    int rows, tile_n; /* [first row of LSE and delta; key tile] */
};

template <class C>
__device__ __forceinline__ void bwd_state_init(bwd_state<C> &a, uint32_t smem, int w)
{
    const int t = threadIdx.x % 128, l = t % 32, warp = t / 32;

    a.smem = smem, a.w = w;
    a.k_rows = smem + C::K_AT + w * 8192;
    a.ds_lane = smem + C::DS_AT + w * C::Q_PANEL +
                swizzle_offset(8 * (l / 16) + l % 8, 2 * warp + l / 8 % 2);
    a.dq_lane = smem + C::DQ_AT + w * C::DQ_HALF + t * 16;
    a.stat_lane = smem + 8 * (l % 4);
}

/* Zero sums, and the mask of 128 keys from `first`. */
template <class C>
__device__ __forceinline__ void bwd_state_keys(bwd_state<C> &a, int first, int nk, int offset)
{
    const int t = threadIdx.x % 128;

#pragma unroll
    for (int i = 0; i < C::D / 2; i++)
        a.dk[i] = a.dv[i] = 0;
    for (int r = 0; r < 2; r++) {
        int key = first + 64 * a.w + 16 * (t / 32) + t % 32 / 4 + 8 * r;
        a.from[r] = (key >= nk ? 0x40000000 : C::CAUSAL ? key - offset : 0) - 2 * (t % 4);
    }
    /* Query rows below this one need the mask; keys past the end need it everywhere. */
    a.mask_below = C::CAUSAL ? first + C::N - 1 - offset : 0;
    if (first + C::N > nk)
        a.mask_below = 0x40000000;
}

/* Issues S of iteration i as one group. */
template <class C>
__device__ __forceinline__ void issue_scores(bwd_state<C> &a, float (&s)[C::M / 2], int i)
{
    ring_wait(a.smem + C::Q_FULL, i);
    wgmma_fence();
    gemm_scores<C>(s, a.k_rows, ring_of(i).slot(a.smem + C::Q_AT, C::Q_BYTES));
    wgmma_commit();
}

/* Issues dQ of iteration j as one group, once both warpgroups have stored their dS. */
template <class C>
__device__ __forceinline__ void issue_dq(bwd_state<C> &a, float (&dq)[C::DQ_N / 2], int j)
{
    ring_wait(a.smem + C::DS_FULL, j);
    wgmma_fence();
    gemm_dq<C>(dq, ring_of(j).slot(a.smem + C::DS_AT, C::DS_BYTES), a.smem + C::K_AT, a.w);
    wgmma_commit();
}

/* The parity of the j-th message to a writer warp: a ring of one stage. */
__device__ __forceinline__ int message_parity(int j)
{
    return j & 1;
}

/* Hands a finished half of dQ of iteration j to the writer warp. */
template <class C>
__device__ __forceinline__ void dq_send(bwd_state<C> &a, const bwd_sm90_args &,
                                        const float (&dq)[C::DQ_N / 2], int j)
{
    if (C::SCHEDULE::LAG)
        mbarrier_arrive_warp(ring_of(j).barrier(a.smem + C::DS_EMPTY));
    mbarrier_wait(a.smem + C::DQ_EMPTY + 8 * a.w, message_parity(j) ^ 1);
    dq_dump<C>(a.dq_lane, dq);
    fence_proxy_async();
    mbarrier_arrive_warp(a.smem + C::DQ_FULL + 8 * a.w);
}

/* One iteration.  With LAG the first one of a CTA (DQ_SHORT: of a key tile) has no dQ to compute.
 */
template <class C, bool FIRST, class P>
__device__ __forceinline__ void bwd_step(bwd_state<C> &a, const P &p, int i)
{
    using S = typename C::SCHEDULE;
    constexpr bool WITH_DQ = C::WITH_DQ && !(S::LAG && FIRST);
    const ring<2> at = ring_of(i);
    const uint32_t q_tile = at.slot(a.smem + C::Q_AT, C::Q_BYTES);
    const uint32_t do_tile = at.slot(a.smem + C::DO_AT, C::Q_BYTES);
    const uint32_t stat =
        C::SHORT ? a.stat_lane + (a.rows + a.tile * C::M) * 4 : at.slot(a.stat_lane, C::STAT_BYTES);
    float s[C::M / 2], dp[C::M / 2], dq[C::DQ_N / 2];
    uint32_t pf[C::M / 4], gf[C::M / 4];

    issue_scores<C>(a, s, i);
    mbarrier_wait(at.barrier(a.smem + C::DO_FULL), at.parity);
    wgmma_fence();
    gemm_scores<C>(dp, a.k_rows + (C::V_AT - C::K_AT), do_tile);
    wgmma_commit();

    if (C::SHORT)
        mbarrier_wait(at.barrier(a.smem + C::STAT_FULL), at.parity);
    wgmma_wait<1>(); /* S */
    registers_pin(s);
    if (a.tile * C::M < a.mask_below)
        scores_mask<C>(s, a.tile * C::M, a.from);
    scores_exp<C>(s, pf, stat + C::LSE_AT, p.scale_log2);
    if (S::EARLY_DV) {
        registers_pin(pf);
        wgmma_fence();
        gemm_keys<C>(a.dv, pf, do_tile);
        wgmma_commit();
    }
    wgmma_wait<S::EARLY_DV ? 1 : 0>(); /* dP */
    registers_pin(dp);
    scores_grad<C>(s, dp, gf, stat + C::DELTA_AT);

    /* With LAG the other warpgroup may still read this buffer for dQ of iteration i - 2. */
    if (S::LAG)
        mbarrier_wait(at.barrier(a.smem + C::DS_EMPTY), at.parity ^ 1);
    if (C::WITH_DQ) {
        grad_store<C>(at.slot(a.ds_lane, C::DS_BYTES), gf);
        fence_proxy_async();
        mbarrier_arrive_warp(at.barrier(a.smem + C::DS_FULL));
    }
    if (!S::EARLY_DV) {
        registers_pin(pf);
        wgmma_fence();
        gemm_keys<C>(a.dv, pf, do_tile);
        wgmma_commit();
    }
    if (WITH_DQ)
        issue_dq<C>(a, dq, i - S::LAG);
    registers_pin(gf);
    wgmma_fence();
    gemm_keys<C>(a.dk, gf, q_tile);
    wgmma_commit();
    wgmma_wait<1>(); /* dV and dQ */
    if (WITH_DQ)
        registers_pin(dq);
    mbarrier_arrive_warp(at.barrier(a.smem + C::DO_EMPTY));
    if (WITH_DQ)
        dq_send<C>(a, p, dq, i - S::LAG);
    wgmma_wait<0>(); /* dK */
    mbarrier_arrive_warp(at.barrier(a.smem + C::Q_EMPTY));
}

/* All iterations of a CTA; steps >= 1. */
template <class C>
__device__ __forceinline__ void bwd_steps(bwd_state<C> &a, const bwd_sm90_args &p,
                                          const bwd_block &b)
{
    using S = typename C::SCHEDULE;
    float dq[C::DQ_N / 2];
    int i = 0;

    if (S::LAG) {
        bwd_step<C, true>(a, p, i++);
        a.tile = bwd_tile_next(p, b, a.tile);
    }
    for (; i < b.steps; i++) {
        /* Descriptors are made anew: kept from step to step they would not fit. */
        a.smem = register_copy(a.smem), a.k_rows = register_copy(a.k_rows);
        bwd_step<C, false>(a, p, i);
        a.tile = bwd_tile_next(p, b, a.tile);
    }
    if (S::LAG) {
        issue_dq<C>(a, dq, i - 1);
        wgmma_wait<0>();
        registers_pin(dq);
        dq_send<C>(a, p, dq, i - 1);
    }
}

template <class C>
__device__ __forceinline__ void bwd_mma(const bwd_sm90_args &p, const bwd_block &b, uint32_t smem,
                                        int w)
{
    bwd_state<C> a;

    bwd_state_init<C>(a, smem, w);
    bwd_state_keys<C>(a, b.key, p.nk, p.offset);
    a.tile = bwd_tile_start(p, b);
    if (b.steps > 0)
        bwd_steps<C>(a, p, b);
    registers_pin(a.dv);
    registers_pin(a.dk);
    const bwd_block e = bwd_block_find<C>(p, register_copy(blockIdx.x)); /* not kept till here */
    if (p.splits > 1) {
        part_store<C>(p, e, a.dv, w);
        part_store<C>(p, e, a.dk, 2 + w);
        return;
    }
    /* V's rows are this warpgroup's alone; K's are read by both for dQ until the barrier. */
    tile_store<C>(&p.dv, e, smem + C::V_AT, a.dv, 1.0f, w);
    if (C::WITH_DQ)
        named_barrier_sync(1, 256);
    tile_store<C>(&p.dk, e, smem + C::K_AT, a.dk, p.scale, w);
    if (threadIdx.x % 128 == 0)
        bulk_wait_read<0>();
}

} // namespace fb
#endif
