/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dK and dV for head size 256 on sm_90a, key-major: the first kernel of the split backward there.
 *
 * Idea.  64 keys stay; their dK and dV, 64 x 256 in fp32 each, fill the registers of two
 * warpgroups, so each warpgroup owns one gradient whole and the products that lead to it:
 *   values   S^T = K Q^T,   P = exp2(S scale log2e - LSE),  dV += P^T dO
 *   keys     dP^T = V dO^T,           dS = P (dP - delta),      dK += dS^T Q
 * Both have two products a step. What passes between them is P, one way, in fp32 and register
 * order through shared memory: thread t of one reads what thread t of the other wrote. P^T and
 * dS^T are the A operands of the second products straight from registers.
 *
 * Differs from bwd.cuh in: tiles of 64 keys, and the division of labour by gradient instead
 * of by keys.  Without a dQ, so no reductions in the L2, which at 64 keys a tile would take longer
 * than the products.
 *
 * Order.  A step issues the second product of tile i and the first one of tile i + 1 behind it,
 * then waits for both; so nothing is in flight where the loop turns, and a warpgroup's arithmetic
 * runs under the other's products.
 *
 * Of K and V, the A operands of the first products, KEPT of 16 steps are kept in registers: without
 * them a step reads and writes shared memory for 2304 clocks, 256 more than its products take.
 * Registers of an MMA thread, of 240: 128 + S 32 + P 16 + K 32; 128 + dP 32 + P 8 + dS 16 + V 32.
 *
 * A CTA has one item (a key tile of a head), or stays for many. A gradient leaves from the slot of
 * Q or dO that its last product has read; K and V are free for the next item behind the last first
 * product. So the next item's first tiles come in under the end of this one.
 *
 * Barriers, all mbarriers.  Rings of two: Q+LSE (K with an item's first), dO+delta (V with the
 * first): full (1 + bytes) and empty (8 warps); P: full and empty (4 warps).  K and V: empty (4
 * warps). Named: 1, 2, among a warpgroup, around its gradient's way through shared memory.
 *
 * Deterministic: no two CTAs write one address, and all sums have one order.
 */
#ifndef FB_KERNELS_SM90_BWD_WIDE_CUH
#define FB_KERNELS_SM90_BWD_WIDE_CUH

#include "kernels/sm90/bwd_loop.cuh"
#include "kernels/sm90/bwd_wide_config.cuh"
#include "kernels/sm90/kept_rows.cuh"
#include "kernels/sm90/q_major.cuh"

namespace fb {

/* The items of this CTA, one a key tile, head and split, are q_major_next(0), (1), ... below this.
 */
__device__ __forceinline__ int wide_items(const bwd_sm90_args &p)
{
    return p.tiles_n * p.batch * p.kv_heads * p.splits;
}

/* One item's K, Q and LSE (DO: V, dO and delta), from step `step` of the CTA on; K waits for phase
 * `turn` of its barrier. Returns the next step. */
template <class C, bool DO>
__device__ __forceinline__ int wide_load_item(const bwd_sm90_args &p, const bwd_block &b,
                                              uint32_t smem, int step, int turn, uint64_t keep)
{
    const CUtensorMap *stay = DO ? &p.v : &p.k, *stream = DO ? &p.dout : &p.q;
    const uint32_t stay_empty = smem + (DO ? C::V_EMPTY : C::K_EMPTY);
    const uint32_t at = smem + (DO ? C::DO_AT : C::Q_AT);
    const uint32_t stat_at = smem + (DO ? C::DELTA_AT : C::LSE_AT);
    const float *stats = DO ? p.stats.delta : p.stats.lse2;
    const int start = bwd_tile_start(p, b);
    int tile = start, head = b.head;

    for (int i = 0; i < b.steps; i++, step++) {
        const int stage = step & 1;
        const uint32_t full = smem + (DO ? C::DO_FULL : C::Q_FULL) + 8 * stage;

        mbarrier_wait(smem + (DO ? C::DO_EMPTY : C::Q_EMPTY) + 8 * stage, (step >> 1 & 1) ^ 1);
        mbarrier_arrive_expect(full, C::Q_BYTES + C::STAT_BYTES + (i ? 0 : C::KV_BYTES));
        tma_load_tile<C::PANELS>(at + stage * C::Q_BYTES, C::Q_PANEL, stream, full, tile * C::M,
                                 head, b.batch, keep);
        if (i == 0) {
            mbarrier_wait(stay_empty, turn ^ 1);
            tma_load_tile<C::PANELS>(smem + (DO ? C::V_AT : C::K_AT), C::KV_PANEL, stay, full,
                                     b.key, b.kv_head, b.batch, keep);
        }
        bulk_load(stat_at + stage * C::STAT_BYTES,
                  stats + ((int64_t)(b.batch * p.heads + head) * p.tiles_m + tile) * C::M,
                  C::STAT_BYTES, full);
        tile = bwd_tile_next(p, b, tile);
        head += tile == start;
    }
    if (b.steps == 0) /* every phase is waited for */
        mbarrier_wait(stay_empty, turn ^ 1);
    return step;
}

/* One thread each: what arrives in shared memory for S and dK (DO: for dP and dV). */
template <class C, bool DO>
__device__ void wide_load(const bwd_sm90_args &p, uint32_t smem)
{
    const uint64_t keep = l2_evict_last();
    int step = 0;

    for (int i = 0, item; (item = q_major_next(i)) < wide_items(p); i++)
        step = wide_load_item<C, DO>(p, bwd_block_find<C>(p, item), smem, step, i & 1, keep);
}

/* What an MMA thread keeps: its gradient, and the packed A operand of the product to come. */
template <class C>
struct wide_state {
    float acc[C::D / 2];
    uint32_t packed[C::M / 4], kept[C::KEPT ? C::KEPT : 1][4]; /* kept: steps of K or V */
    uint32_t smem, stat_lane, p_lane;
    int from[2], mask_below, tile; /* values alone */
};

template <class C>
__device__ __forceinline__ void wide_state_init(wide_state<C> &a, const bwd_sm90_args &p,
                                                const bwd_block &b, uint32_t smem)
{
    const int t = threadIdx.x % 128;

#pragma unroll
    for (int i = 0; i < C::D / 2; i++)
        a.acc[i] = 0;
    a.smem = smem;
    a.stat_lane = smem + 8 * (t % 4);
    a.p_lane = smem + C::P_AT + 16 * t;
    for (int r = 0; r < 2; r++) {
        int key = b.key + 16 * (t / 32) + t % 32 / 4 + 8 * r;
        a.from[r] = (key >= p.nk ? 0x40000000 : C::CAUSAL ? key - p.offset : 0) - 2 * (t % 4);
    }
    /* Query rows below this one need the mask; keys past the end need it everywhere. */
    a.mask_below = C::CAUSAL ? b.key + C::N - 1 - p.offset : 0;
    if (b.key + C::N > p.nk)
        a.mask_below = 0x40000000;
    a.tile = bwd_tile_start(p, b);
}

/* Issues S (KEYS: dP) of step i, which is counted over all items, as one group. */
template <class C, bool KEYS>
__device__ __forceinline__ void wide_issue_scores(const wide_state<C> &a, float (&s)[C::M / 2],
                                                  int i)
{
    const uint32_t stage = i & 1;

    mbarrier_wait(a.smem + (KEYS ? C::DO_FULL : C::Q_FULL) + 8 * stage, i >> 1 & 1);
    wgmma_fence();
    gemm_rows_kept<typename C::T, C::D, C::M, C::KEPT>(
        s, a.kept, a.smem + (KEYS ? C::V_AT : C::K_AT), C::KV_PANEL,
        a.smem + (KEYS ? C::DO_AT : C::Q_AT) + stage * C::Q_BYTES);
    wgmma_commit();
}

/* Issues dV (KEYS: dK) of step i as one group. */
template <class C, bool KEYS>
__device__ __forceinline__ void wide_issue_gradient(wide_state<C> &a, int i)
{
    const uint32_t stage = i & 1;

    mbarrier_wait(a.smem + (KEYS ? C::Q_FULL : C::DO_FULL) + 8 * stage, i >> 1 & 1);
    registers_pin(a.packed);
    registers_pin(a.acc);
    wgmma_fence();
    gemm_keys<C>(a.acc, a.packed, a.smem + (KEYS ? C::Q_AT : C::DO_AT) + stage * C::Q_BYTES);
    wgmma_commit();
}

/* Values: S of step i becomes P, for the other warpgroup and packed. */
template <class C>
__device__ __forceinline__ void wide_probabilities(wide_state<C> &a, const bwd_sm90_args &p,
                                                   const bwd_block &b, float (&s)[C::M / 2], int i)
{
    const uint32_t stage = i & 1, to = a.p_lane + stage * C::P_BYTES;

    if (a.tile * C::M < a.mask_below)
        scores_mask<C>(s, a.tile * C::M, a.from);
    scores_exp<C>(s, a.packed, a.stat_lane + C::LSE_AT + stage * C::STAT_BYTES, p.scale_log2);
    mbarrier_arrive_warp(a.smem + C::Q_EMPTY + 8 * stage);
    mbarrier_wait(a.smem + C::P_EMPTY + 8 * stage, (i >> 1 & 1) ^ 1);
#pragma unroll
    for (int c = 0; c < C::M / 8; c++)
        shared_store4(to + 2048 * c, s[4 * c], s[4 * c + 1], s[4 * c + 2], s[4 * c + 3]);
    mbarrier_arrive_warp(a.smem + C::P_FULL + 8 * stage);
    a.tile = bwd_tile_next(p, b, a.tile);
}

/* Keys: dP of step i becomes dS, packed. */
template <class C>
__device__ __forceinline__ void wide_gradients(wide_state<C> &a, const float (&dp)[C::M / 2], int i)
{
    const uint32_t stage = i & 1, from = a.p_lane + stage * C::P_BYTES;
    const uint32_t delta = a.stat_lane + C::DELTA_AT + stage * C::STAT_BYTES;

    mbarrier_wait(a.smem + C::P_FULL + 8 * stage, i >> 1 & 1);
#pragma unroll
    for (int j = 0; j < C::M / 8; j++) {
        const float4 x = shared_load4(from + 2048 * j);
        const float2 d = shared_load2(delta + 32 * j);
        a.packed[2 * j] =
            elem<typename C::T>::pack(x.x * (dp[4 * j] - d.x), x.y * (dp[4 * j + 1] - d.y));
        a.packed[2 * j + 1] =
            elem<typename C::T>::pack(x.z * (dp[4 * j + 2] - d.x), x.w * (dp[4 * j + 3] - d.y));
    }
    mbarrier_arrive_warp(a.smem + C::P_EMPTY + 8 * stage);
    mbarrier_arrive_warp(a.smem + C::DO_EMPTY + 8 * stage);
}

/* What lies between a warpgroup's two products of step i. */
template <class C, bool KEYS>
__device__ __forceinline__ void wide_between(wide_state<C> &a, const bwd_sm90_args &p,
                                             const bwd_block &b, float (&s)[C::M / 2], int i)
{
    if constexpr (KEYS)
        wide_gradients<C>(a, s, i);
    else
        wide_probabilities<C>(a, p, b, s, i);
}

/* All steps of an item, from step `step` of the CTA on; steps >= 1. All but the last slot that the
 * gradient's product reads is given back. Returns the next step. */
template <class C, bool KEYS>
__device__ __forceinline__ int wide_steps(wide_state<C> &a, const bwd_sm90_args &p,
                                          const bwd_block &b, int step)
{
    const uint32_t read = KEYS ? C::Q_EMPTY : C::DO_EMPTY; /* by the second product */
    const int last = step + b.steps - 1;
    {
        float s[C::M / 2];
        mbarrier_wait(a.smem + (KEYS ? C::DO_FULL : C::Q_FULL) + 8 * (step & 1), step >> 1 & 1);
        kept_load<C::KEPT>(a.kept, a.smem + (KEYS ? C::V_AT : C::K_AT), C::KV_PANEL);
        wide_issue_scores<C, KEYS>(a, s, step);
        wgmma_wait<0>();
        registers_pin(s);
        wide_between<C, KEYS>(a, p, b, s, step);
    }
    for (; step < last; step++) {
        float s[C::M / 2];
        a.smem = register_copy(a.smem); /* descriptors are made anew: kept they would not fit */
        wide_issue_gradient<C, KEYS>(a, step);
        wide_issue_scores<C, KEYS>(a, s, step + 1);
        wgmma_wait<1>();
        registers_pin(a.acc);
        mbarrier_arrive_warp(a.smem + read + 8 * (step & 1));
        wgmma_wait<0>();
        registers_pin(s);
        wide_between<C, KEYS>(a, p, b, s, step + 1);
    }
    mbarrier_arrive_warp(a.smem + (KEYS ? C::V_EMPTY : C::K_EMPTY));
    wide_issue_gradient<C, KEYS>(a, last);
    wgmma_wait<0>();
    registers_pin(a.acc);
    return last + 1;
}

/* This CTA's share of a gradient, where a group is split: rows of fp32, for wide_join(). */
template <class C>
__device__ __forceinline__ void wide_part_store(const bwd_sm90_args &p, const bwd_block &b,
                                                const float (&acc)[C::D / 2], int which)
{
    const int t = threadIdx.x % 128;
    const int64_t tile = (int64_t)(b.batch * p.kv_heads + b.kv_head) * p.tiles_n + b.tile_n;
    const int row = 16 * (t / 32) + t % 32 / 4;
    float *at =
        p.parts + (((tile * p.splits + b.split) * 2 + which) * C::N + row) * C::D + t % 4 * 2;

#pragma unroll
    for (int i = 0; i < C::D / 2; i += 2)
        *(float2 *)(at + (i / 2 % 2 * 8) * C::D + i / 4 * 8) = make_float2(acc[i], acc[i + 1]);
}

/*
 * The gradient leaves from the slot at `place` that its last product has read, which `empty` gives
 * back behind the copy. Nobody else reads that slot any more: of Q's the other warpgroup has sent P
 * since, of dO's it has read P since.
 */
template <class C, bool KEYS>
__device__ __forceinline__ void wide_store(const bwd_sm90_args &p, const bwd_block &b,
                                           const float (&acc)[C::D / 2], uint32_t place,
                                           uint32_t empty)
{
    named_barrier_sync(1 + KEYS, 128); /* all warps' products have read the slot */
    fragment_store<typename C::T, C::D>(place, C::KV_PANEL, acc, KEYS ? p.scale : 1.0f);
    fence_proxy_async();
    named_barrier_sync(1 + KEYS, 128); /* the tile is complete */
    if (threadIdx.x % 128 == 0) {
        tma_store_tile<C::PANELS>(KEYS ? &p.dk : &p.dv, place, C::KV_PANEL, b.key, b.kv_head,
                                  b.batch);
        bulk_commit();
        bulk_wait_read<0>();
        for (int warp = 0; warp < 4; warp++)
            mbarrier_arrive(empty);
    }
}

/* A warpgroup, all items: KEYS dK, else dV. */
template <class C, bool KEYS>
__device__ __forceinline__ void wide_mma(const bwd_sm90_args &p, uint32_t smem)
{
    wide_state<C> a;
    int step = 0;

    for (int i = 0, item; (item = q_major_next(i)) < wide_items(p); i++) {
        const bwd_block b = bwd_block_find<C>(p, item);
        wide_state_init<C>(a, p, b, smem);
        if (b.steps > 0)
            step = wide_steps<C, KEYS>(a, p, b, step);
        registers_pin(a.acc);
        /* The item is found anew, not kept till here. */
        const bwd_block e = bwd_block_find<C>(p, q_major_next(register_copy(i)));
        const uint32_t stage = (step - 1) & 1;
        uint32_t place = smem + (KEYS ? C::Q_AT : C::DO_AT) + stage * C::Q_BYTES;
        uint32_t empty = smem + (KEYS ? C::Q_EMPTY : C::DO_EMPTY) + 8 * stage;
        if (e.steps == 0) { /* K and V were not loaded */
            place = smem + (KEYS ? C::V_AT : C::K_AT);
            empty = smem + (KEYS ? C::V_EMPTY : C::K_EMPTY);
        } else if (!KEYS) {
            mbarrier_wait(smem + C::P_EMPTY + 8 * stage, (step - 1) >> 1 & 1);
        }
        if (p.splits > 1) {
            wide_part_store<C>(p, e, a.acc, KEYS);
            mbarrier_arrive_warp(empty);
        } else {
            wide_store<C, KEYS>(p, e, a.acc, place, empty);
        }
    }
}

/* One CTA an item, or as many as run at once, which stay for all: what comes next is under way
 * while the gradients of an item leave. */
template <class C>
__global__ void __launch_bounds__(384, 1) wide_sm90_main(const __grid_constant__ bwd_sm90_args p)
{
    extern __shared__ __align__(1024) char shared[];
    const uint32_t smem = shared_address(shared);
    const int warp = cta_begin(smem, wide_barriers_init<C>, &p.q, &p.k, &p.v, &p.dout);

    grid_dependency_wait();   /* the pre-pass wrote LSE and delta */
    grid_dependents_launch(); /* the dQ kernel needs nothing of this one */
    if (warp < 4) {
        registers_shrink<24>();
        if ((threadIdx.x & 31) == 0) {
            if (warp == 0)
                wide_load<C, false>(p, smem);
            else if (warp == 1)
                wide_load<C, true>(p, smem);
        }
    } else {
        registers_grow<240>();
        if (warp < 8)
            wide_mma<C, false>(p, smem);
        else
            wide_mma<C, true>(p, smem);
    }
}

} // namespace fb
#endif
