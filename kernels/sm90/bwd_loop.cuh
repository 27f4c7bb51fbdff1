/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The MMA warpgroups of the sm_90a backward: five products, softmax, dS, and the epilogue.
 *
 * One iteration i, in order (registers of a thread in brackets, D = 128, M = 64 / 80):
 *   S^T   = K Q^T            [32 / 40]   group 1
 *   LSE asked for            [16 / 20]
 *   dP^T  = V dO^T           [32 / 40]   group 2
 *   P     = exp2(S scale log2e - LSE)    while dP runs
 *   dS    = P (dP - delta), packed with P    [16 + 16 / 20 + 20]
 *   dS to shared memory, DS_FULL
 *   dV   += P^T dO           [64]        group 3
 *   dQ    = dS K             [32 / 40]   group 4, of this iteration or (LAG) of the one before
 *   dK   += dS^T Q           [64]        group 5
 *   dQ while dK runs: added in the L2, or (in a fixed order) to shared memory, DQ_FULL
 * Peak: dK + dV + max(S + dP + LSE, dQ + P + dS) = 208 / 228 of 240.
 *
 * Schedules.  LAG = 1 takes dQ of the previous iteration, so that a warpgroup never waits for the
 * other's dS of the same iteration and the two can run out of step, one's softmax under the other's
 * products.  EARLY_DV issues dV before waiting for dP, so that the dS arithmetic also has a product
 * to hide under.  DQ_FIRST issues dQ before dV, so that dQ can leave while two products run that
 * leave shared memory some room.  TURNS: the warpgroups take turns at issuing S and dP, which keeps
 * them half an iteration apart; without, how far apart they settle depends on the order of a few
 * instructions, and is worth up to 15 %.  TELL: when the other warpgroup is told of dS.
 *
 * Shared memory serves products first, and those with both operands there (S, dP, dQ) leave next to
 * nothing: an ordinary access waits for most of one of them, and a fence for all stores before it.
 * So LSE is asked for behind S, and dQ, where its order does not matter, does not pass through
 * shared memory at all.
 */
#ifndef FB_KERNELS_SM90_BWD_LOOP_CUH
#define FB_KERNELS_SM90_BWD_LOOP_CUH

#include "kernels/sm90/bwd_ops.cuh"

namespace fb {

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
    int dq_tile, dq_unit; /* DIRECT: the query tile and head whose dQ is added next */
    int rows, tile_n;     /* [first row of LSE and delta; key tile] */
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

/* The warpgroup's number, made anew: kept, it would take a register. */
template <class C>
__device__ __forceinline__ int bwd_half(const bwd_state<C> &a)
{
    return (a.k_rows - a.smem - C::K_AT) / 8192;
}

/* Zero sums, and the mask of 128 keys from `first`. */
template <class C>
__device__ __forceinline__ void bwd_state_keys(bwd_state<C> &a, int first, int nk, int offset)
{
    const int t = threadIdx.x % 128;

#pragma unroll
    for (int i = 0; i < C::D / 2; i++)
        a.dk[i] = a.dv[i] = 0;
    if constexpr (!C::CAUSAL) {
        a.mask_below = nk - first - 64 * a.w; /* keys of this warpgroup */
    } else {
        for (int r = 0; r < 2; r++) {
            int key = first + 64 * a.w + 16 * (t / 32) + t % 32 / 4 + 8 * r;
            a.from[r] = (key >= nk ? 0x40000000 : key - offset) - 2 * (t % 4);
        }
        /* Query rows below this one need the mask; keys past the end need it everywhere. */
        a.mask_below = first + C::N > nk ? 0x40000000 : first + C::N - 1 - offset;
    }
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
    gemm_dq<C>(dq, ring_of(j).slot(a.smem + C::DS_AT, C::DS_BYTES), a.smem + C::K_AT, bwd_half(a));
    wgmma_commit();
}

/* The parity of the j-th message to a writer warp: a ring of one stage. */
__device__ __forceinline__ int message_parity(int j)
{
    return j & 1;
}

/* Hands over a finished half of dQ of iteration j: adds it, or stages it for the writer warp. */
template <class C>
__device__ __forceinline__ void dq_send(bwd_state<C> &a, const bwd_sm90_args &p,
                                        const float (&dq)[C::DQ_N / 2], int j)
{
    const int w = bwd_half(a), t = register_copy(threadIdx.x) % 128;

    /* Not by ring_of(j), of which the compiler makes other code. */
    if (C::SCHEDULE::LAG)
        mbarrier_arrive_warp(a.smem + C::DS_EMPTY + 8 * (j & 1));
    if constexpr (C::DIRECT) {
        float *to = acc_half<C>(p.dq_acc, a.dq_unit, p.tiles_m, p.acc_rows, a.dq_tile, w) + 4 * t;
        const int pieces = acc_tile_rows<C>(p.acc_rows, a.dq_tile) / 8;

        if (C::DQ != DQ_SWAPPED || pieces == C::DQ_N / 8) {
            dq_add_pieces<0>(to, dq);
        } else {
#pragma unroll
            for (int c = 0; c < C::DQ_N / 8; c++)
                if (c < pieces)
                    reduce_add4<0>(to + 512 * c, dq + 4 * c);
        }
    } else {
        mbarrier_wait(a.smem + C::DQ_EMPTY + 8 * w, message_parity(j) ^ 1);
        dq_dump<C>(a.smem + C::DQ_AT + w * C::DQ_HALF + t * 16, dq);
        fence_proxy_async();
        mbarrier_arrive_warp(a.smem + C::DQ_FULL + 8 * w);
    }
}

/*
 * TURNS: the warpgroups take turns at issuing S and dP, warpgroup 0 first, so that they stay half
 * an iteration apart.  Named barriers 4 and 5; `more` iterations of this warpgroup follow.
 */
template <class C>
__device__ __forceinline__ void issue_turn_take(const bwd_state<C> &a)
{
    if (C::SCHEDULE::TURNS)
        named_barrier_sync(4 + bwd_half(a), 256);
}

template <class C>
__device__ __forceinline__ void issue_turn_give(const bwd_state<C> &a, bool more)
{
    if (C::SCHEDULE::TURNS && (bwd_half(a) == 0 || more))
        named_barrier_arrive(5 - bwd_half(a), 256);
}

/* One iteration.  With LAG the first one of a CTA (DQ_SHORT: of a key tile) has no dQ to compute.
 */
template <class C, bool FIRST, class P>
__device__ __forceinline__ void bwd_step(bwd_state<C> &a, const P &p, int i, bool more = false)
{
    using S = typename C::SCHEDULE;
    constexpr bool WITH_DQ = C::WITH_DQ && !(S::LAG && FIRST);
    constexpr bool DQ_FIRST = S::DQ_FIRST && WITH_DQ;
    const ring<2> at = ring_of(i);
    const uint32_t q_tile = at.slot(a.smem + C::Q_AT, C::Q_BYTES);
    const uint32_t do_tile = at.slot(a.smem + C::DO_AT, C::Q_BYTES);
    const uint32_t ds_full = at.barrier(a.smem + C::DS_FULL);
    const uint32_t stat =
        C::SHORT ? a.stat_lane + (a.rows + a.tile * C::M) * 4 : at.slot(a.stat_lane, C::STAT_BYTES);
    float s[C::M / 2], dp[C::M / 2], dq[C::DQ_N / 2];
    uint32_t pf[C::M / 4], gf[C::M / 4];
    float2 lse[C::M / 8], delta[C::M / 8]; /* ADDS */

    issue_turn_take(a);
    issue_scores<C>(a, s, i);
    if (C::ADDS)
        stat_load<C>(lse, stat + C::LSE_AT);
    mbarrier_wait(at.barrier(a.smem + C::DO_FULL), at.parity);
    wgmma_fence();
    gemm_scores<C>(dp, a.k_rows + (C::V_AT - C::K_AT), do_tile);
    wgmma_commit();
    issue_turn_give(a, more);

    if (C::SHORT)
        mbarrier_wait(at.barrier(a.smem + C::STAT_FULL), at.parity);
    wgmma_wait<1>(); /* S */
    registers_pin(s);
    if (C::CAUSAL && a.tile * C::M < a.mask_below)
        scores_mask<C>(s, a.tile * C::M, a.from);
    if (!C::CAUSAL && a.mask_below < 64)
        scores_mask_keys<C>(s, a.mask_below);
    if (C::ADDS) {
        scores_exp<C>(s, lse, p.scale_log2);
        stat_load<C>(delta, stat + C::DELTA_AT);
        fragment_pack<typename C::T, C::M / 2>(pf, s);
    } else {
        scores_exp<C>(s, pf, stat + C::LSE_AT, p.scale_log2);
    }
    if (S::EARLY_DV) {
        registers_pin(pf);
        wgmma_fence();
        gemm_keys<C>(a.dv, pf, do_tile);
        wgmma_commit();
    }
    wgmma_wait<S::EARLY_DV ? 1 : 0>(); /* dP */
    registers_pin(dp);
    if (C::ADDS)
        scores_grad<C>(s, dp, gf, delta);
    else
        scores_grad<C>(s, dp, gf, stat + C::DELTA_AT);

    /* With LAG the other warpgroup may still read this buffer for dQ of iteration i - 2. */
    if (S::LAG)
        mbarrier_wait(at.barrier(a.smem + C::DS_EMPTY), at.parity ^ 1);
    if (C::WITH_DQ)
        grad_store<C>(at.slot(a.ds_lane, C::DS_BYTES), gf);
    if (C::WITH_DQ && S::TELL == DS_AT_ONCE)
        grad_tell(ds_full);
    if (DQ_FIRST) {
        registers_pin(pf);
        registers_pin(gf);
        issue_dq<C>(a, dq, i - S::LAG);
    }
    if (!S::EARLY_DV) {
        registers_pin(pf);
        wgmma_fence();
        gemm_keys<C>(a.dv, pf, do_tile);
        wgmma_commit();
    }
    if (C::WITH_DQ && S::TELL == DS_BEHIND_DV)
        grad_tell(ds_full);
    if (WITH_DQ && !DQ_FIRST)
        issue_dq<C>(a, dq, i - S::LAG);
    registers_pin(gf);
    wgmma_fence();
    gemm_keys<C>(a.dk, gf, q_tile);
    wgmma_commit();
    if (C::WITH_DQ && S::TELL == DS_BEHIND_DK)
        grad_tell(ds_full);
    if (DQ_FIRST) {
        wgmma_wait<2>(); /* dQ */
        registers_pin(dq);
        dq_send<C>(a, p, dq, i - S::LAG);
    }
    wgmma_wait<1>(); /* dV, and dQ */
    if (WITH_DQ && !DQ_FIRST)
        registers_pin(dq);
    mbarrier_arrive_warp(at.barrier(a.smem + C::DO_EMPTY));
    if (WITH_DQ && !DQ_FIRST)
        dq_send<C>(a, p, dq, i - S::LAG);
    wgmma_wait<0>(); /* dK */
    mbarrier_arrive_warp(at.barrier(a.smem + C::Q_EMPTY));
}

/* The query tile that follows in dQ's order, too, which LAG leaves one behind. */
template <class C>
__device__ __forceinline__ void dq_advance(bwd_state<C> &a, const bwd_sm90_args &p,
                                           const bwd_block &b)
{
    a.dq_tile = bwd_tile_next(p, b, a.dq_tile);
    a.dq_unit += a.dq_tile == bwd_tile_start(p, b);
}

/* All iterations of a CTA; steps >= 1. */
template <class C>
__device__ __forceinline__ void bwd_steps(bwd_state<C> &a, const bwd_sm90_args &p,
                                          const bwd_block &b)
{
    using S = typename C::SCHEDULE;
    float dq[C::DQ_N / 2];
    int i = 0;

    if (S::TURNS && bwd_half(a) == 1)
        named_barrier_arrive(4, 256);
    if (S::LAG) {
        bwd_step<C, true>(a, p, i++, b.steps > 1);
        a.tile = bwd_tile_next(p, b, a.tile);
    }
    for (; i < b.steps; i++) {
        /* Descriptors are made anew: kept from step to step they would not fit. */
        a.smem = register_copy(a.smem), a.k_rows = register_copy(a.k_rows);
        bwd_step<C, false>(a, p, i, i + 1 < b.steps);
        if (C::DIRECT)
            dq_advance(a, p, b);
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
    a.tile = a.dq_tile = bwd_tile_start(p, b);
    a.dq_unit = b.batch * p.heads + b.head;
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
