/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dK and dV for head size 256 on sm_90a, key-major: the first kernel of the split backward there.
 *
 * Idea.  64 keys stay; their dK and dV, 64 x 256 in fp32 each, fill the registers of two
 * warpgroups, so each warpgroup owns one gradient whole and the products that lead to it:
 *   values   S^T = K Q^T,   P = exp2(S scale log2e - LSE),  dV += P^T dO
 *   keys     dP^T = V dO^T,           dS = P (dP - D),      dK += dS^T Q
 * Both have two products a step. What passes between them is P, one way, in fp32 and register
 * order through shared memory: thread t of one reads what thread t of the other wrote. P^T and
 * dS^T are the A operands of the second products straight from registers.
 *
 * Differs from bwd_sm90.cuh in: tiles of 64 keys, and the division of labour by gradient instead
 * of by keys.  Without a dQ, so no reductions in the L2, which at 64 keys a tile would take longer
 * than the products.
 *
 * Order.  A step issues the second product of tile i and the first one of tile i + 1 behind it,
 * then waits for both; so nothing is in flight where the loop turns, and a warpgroup's arithmetic
 * runs under the other's products.
 *
 * Shared memory, KiB:  K 32, V 32, Q ring 64, dO ring 64, P ring 32, LSE and D 1: 225 of 227.
 * Of K and V (A of the first product) STAY of 16 steps are in registers: what is read from shared
 * memory in a step takes 2304 clocks without, as many as the products and 256 more.
 * Registers of an MMA thread, of 240: 128 + S 32 + P 16 + K 32; 128 + dP 32 + P 8 + dS 16 + V 32.
 *
 * Barriers, all mbarriers, rings of two: Q+LSE (K with the first), dO+D (V with the first): full (1
 * + bytes) and empty (8 warps); P: full and empty (4 warps).  Named: 1, 2, a gradient is complete
 * in shared memory.
 *
 * Deterministic: no two CTAs write one address, and all sums have one order.
 */
#ifndef FB_KERNELS_CUDA_BWD_SM90_WIDE_CUH
#define FB_KERNELS_CUDA_BWD_SM90_WIDE_CUH

#include "wgmma_wide.cuh"

#include "bwd_sm90_loop.cuh"
#include "cta_sm90.cuh"
#include "ldmatrix.cuh"

namespace fb {

template <class T_, bool CAUSAL_, int STAY_ = 8>
struct wide_sm90_config {
    using T = T_;
    static constexpr int D = 256, M = 64, N = 64, STAY = STAY_;
    static constexpr bool CAUSAL = CAUSAL_;
    /* What the plan and the pre-pass ask of a key-major form. */
    static constexpr bool ORDERED = false, WITH_DQ = false, UNIT = false;
    static constexpr dq_form DQ = DQ_COLUMNS;
    static constexpr int DQ_ROUND = M, DQ_HALF = 0, PANELS = D / 64;

    static constexpr uint32_t Q_PANEL = M * 128, KV_PANEL = N * 128;
    static constexpr uint32_t Q_BYTES = PANELS * Q_PANEL, KV_BYTES = PANELS * KV_PANEL;
    static constexpr uint32_t P_BYTES = M * N * 4, STAT_BYTES = M * 4;

    /* Of two things each, the first is the values' warpgroup's, the second the keys'. */
    static constexpr uint32_t K_AT = 0;
    static constexpr uint32_t V_AT = K_AT + KV_BYTES;
    static constexpr uint32_t Q_AT = V_AT + KV_BYTES;
    static constexpr uint32_t DO_AT = Q_AT + 2 * Q_BYTES;
    static constexpr uint32_t P_AT = DO_AT + 2 * Q_BYTES;
    static constexpr uint32_t LSE_AT = P_AT + 2 * P_BYTES;
    static constexpr uint32_t DELTA_AT = LSE_AT + 2 * STAT_BYTES;

    static constexpr uint32_t Q_FULL = DELTA_AT + 2 * STAT_BYTES;
    static constexpr uint32_t Q_EMPTY = Q_FULL + 16;
    static constexpr uint32_t DO_FULL = Q_FULL + 32;
    static constexpr uint32_t DO_EMPTY = Q_FULL + 48;
    static constexpr uint32_t P_FULL = Q_FULL + 64;
    static constexpr uint32_t P_EMPTY = Q_FULL + 80;
    static constexpr uint32_t SMEM_BYTES = Q_FULL + 96;

    static_assert(STAY >= 0 && STAY <= D / 16, "16 steps of the first products");
    static_assert(SMEM_BYTES <= 232448, "shared memory of an sm_90 CTA");
};

template <class C>
__device__ __forceinline__ void wide_barriers_init(uint32_t smem)
{
    for (int i = 0; i < 2; i++) {
        mbarrier_init(smem + C::Q_FULL + 8 * i, 1);
        mbarrier_init(smem + C::Q_EMPTY + 8 * i, 8);
        mbarrier_init(smem + C::DO_FULL + 8 * i, 1);
        mbarrier_init(smem + C::DO_EMPTY + 8 * i, 8);
        mbarrier_init(smem + C::P_FULL + 8 * i, 4);
        mbarrier_init(smem + C::P_EMPTY + 8 * i, 4);
    }
}

/* One thread each: K, Q and LSE (DO: V, dO and D). */
template <class C, bool DO>
__device__ void wide_load(const bwd_sm90_args &p, const bwd_block &b, uint32_t smem)
{
    const CUtensorMap *stay = DO ? &p.v : &p.k, *stream = DO ? &p.dout : &p.q;
    const uint32_t stay_at = smem + (DO ? C::V_AT : C::K_AT);
    const uint32_t at = smem + (DO ? C::DO_AT : C::Q_AT);
    const uint32_t stat_at = smem + (DO ? C::DELTA_AT : C::LSE_AT);
    const float *stats = DO ? p.stats.delta : p.stats.lse2;
    const uint64_t keep = l2_evict_last();
    const int start = bwd_tile_start(p, b);
    int tile = start, head = b.head;

    for (int i = 0; i < b.steps; i++) {
        const int stage = i & 1;
        const uint32_t full = smem + (DO ? C::DO_FULL : C::Q_FULL) + 8 * stage;
        const uint32_t empty = smem + (DO ? C::DO_EMPTY : C::Q_EMPTY) + 8 * stage;

        mbarrier_wait(empty, (i >> 1 & 1) ^ 1);
        mbarrier_arrive_expect(full, C::Q_BYTES + C::STAT_BYTES + (i ? 0 : C::KV_BYTES));
        if (i == 0)
            tma_load_tile<C::PANELS>(stay_at, C::KV_PANEL, stay, full, b.key, b.kv_head, b.batch,
                                     keep);
        tma_load_tile<C::PANELS>(at + stage * C::Q_BYTES, C::Q_PANEL, stream, full, tile * C::M,
                                 head, b.batch, keep);
        bulk_load(stat_at + stage * C::STAT_BYTES,
                  stats + ((int64_t)(b.batch * p.heads + head) * p.tiles_m + tile) * C::M,
                  C::STAT_BYTES, full);
        tile = bwd_tile_next(p, b, tile);
        head += tile == start;
    }
}

/* What an MMA thread keeps: its gradient, and the packed A operand of the product to come. */
template <class C>
struct wide_state {
    float acc[C::D / 2];
    uint32_t packed[C::M / 4], stay[C::STAY ? C::STAY : 1][4]; /* stay: steps of K or V */
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

/* The first STAY steps of K's or V's 64 rows at `at`, as A fragments. */
template <class C>
__device__ __forceinline__ void wide_stay_load(wide_state<C> &a, uint32_t at)
{
    const uint32_t l = threadIdx.x % 32, row = 16 * (threadIdx.x % 128 / 32) + l % 16;

#pragma unroll
    for (int k = 0; k < C::STAY; k++) {
        ldmatrix_x4(a.stay[k],
                    at + k / 4 * C::KV_PANEL + swizzle_offset(row, 2 * (k % 4) + l / 16));
        registers_pin(a.stay[k]);
    }
}

/* S^T or dP^T: a = rows of K or V, whose first steps are in registers, b = a stage of Q or dO. */
template <class C>
__device__ __forceinline__ void wide_gemm_scores(float (&acc)[C::M / 2], const uint32_t (*stay)[4],
                                                 uint32_t a, uint32_t b)
{
#pragma unroll
    for (int k = 0; k < C::D / 16; k++) {
        uint32_t step = (k % 4) * 32;
        uint64_t to = wgmma_desc_k(b + k / 4 * C::Q_PANEL + step);
        if (k < C::STAY)
            wgmma_rs<typename C::T, C::M, 0>(acc, stay[k], to, k > 0);
        else
            wgmma_ss<typename C::T, C::M, 0, 0>(acc, wgmma_desc_k(a + k / 4 * C::KV_PANEL + step),
                                                to, k > 0);
    }
}

/* Issues S (KEYS: dP) of step i as one group. */
template <class C, bool KEYS>
__device__ __forceinline__ void wide_issue_scores(const wide_state<C> &a, float (&s)[C::M / 2],
                                                  int i)
{
    const uint32_t stage = i & 1;

    mbarrier_wait(a.smem + (KEYS ? C::DO_FULL : C::Q_FULL) + 8 * stage, i >> 1 & 1);
    wgmma_fence();
    wide_gemm_scores<C>(s, a.stay, a.smem + (KEYS ? C::V_AT : C::K_AT),
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

/* All steps of a CTA; steps >= 1. */
template <class C, bool KEYS>
__device__ __forceinline__ void wide_steps(wide_state<C> &a, const bwd_sm90_args &p,
                                           const bwd_block &b)
{
    const uint32_t read = KEYS ? C::Q_EMPTY : C::DO_EMPTY; /* by the second product */
    int i = 0;
    {
        float s[C::M / 2];
        mbarrier_wait(a.smem + (KEYS ? C::DO_FULL : C::Q_FULL), 0); /* K or V, too */
        wide_stay_load<C>(a, a.smem + (KEYS ? C::V_AT : C::K_AT));
        wide_issue_scores<C, KEYS>(a, s, 0);
        wgmma_wait<0>();
        registers_pin(s);
        wide_between<C, KEYS>(a, p, b, s, 0);
    }
    for (; i < b.steps - 1; i++) {
        float s[C::M / 2];
        a.smem = register_copy(a.smem); /* descriptors are made anew: kept they would not fit */
        wide_issue_gradient<C, KEYS>(a, i);
        wide_issue_scores<C, KEYS>(a, s, i + 1);
        wgmma_wait<1>();
        registers_pin(a.acc);
        mbarrier_arrive_warp(a.smem + read + 8 * (i & 1));
        wgmma_wait<0>();
        registers_pin(s);
        wide_between<C, KEYS>(a, p, b, s, i + 1);
    }
    wide_issue_gradient<C, KEYS>(a, i);
    wgmma_wait<0>();
    registers_pin(a.acc);
    mbarrier_arrive_warp(a.smem + read + 8 * (i & 1));
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

/* A warpgroup: KEYS dK, else dV. What only it has read, K or V, makes room for its gradient. */
template <class C, bool KEYS>
__device__ __forceinline__ void wide_mma(const bwd_sm90_args &p, const bwd_block &b, uint32_t smem)
{
    wide_state<C> a;

    wide_state_init<C>(a, p, b, smem);
    if (b.steps > 0)
        wide_steps<C, KEYS>(a, p, b);
    registers_pin(a.acc);
    const bwd_block e = bwd_block_find<C>(p, register_copy(blockIdx.x));
    if (p.splits > 1) {
        wide_part_store<C>(p, e, a.acc, KEYS);
        return;
    }
    const uint32_t tile = smem + (KEYS ? C::V_AT : C::K_AT);
    fragment_store<typename C::T, C::D>(tile, C::KV_PANEL, a.acc, KEYS ? p.scale : 1.0f);
    fence_proxy_async();
    named_barrier_sync(1 + KEYS, 128);
    if (threadIdx.x % 128 == 0) {
        tma_store_tile<C::PANELS>(KEYS ? &p.dk : &p.dv, tile, C::KV_PANEL, e.key, e.kv_head,
                                  e.batch);
        bulk_commit();
        bulk_wait_read<0>();
    }
}

template <class C>
__global__ void __launch_bounds__(384, 1) wide_sm90_main(const __grid_constant__ bwd_sm90_args p)
{
    extern __shared__ __align__(1024) char shared[];
    const uint32_t smem = shared_address(shared);
    const bwd_block b = bwd_block_find<C>(p, blockIdx.x);
    const int warp = cta_begin(smem, wide_barriers_init<C>, &p.q, &p.k, &p.v, &p.dout);

    grid_dependency_wait();   /* the pre-pass wrote LSE and D */
    grid_dependents_launch(); /* the dQ kernel needs nothing of this one */
    if (warp < 4) {
        registers_shrink<24>();
        if ((threadIdx.x & 31) == 0) {
            if (warp == 0)
                wide_load<C, false>(p, b, smem);
            else if (warp == 1)
                wide_load<C, true>(p, b, smem);
        }
    } else {
        registers_grow<240>();
        if (warp < 8)
            wide_mma<C, false>(p, b, smem);
        else
            wide_mma<C, true>(p, b, smem);
    }
}

} // namespace fb
#endif
