/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The attention forward for sm_90a: o and the natural-log LSE.
 *
 * Idea.  A CTA takes a tile of M = 64 WGS query rows and walks over its key tiles, 64 rows a
 * warpgroup: S = Q K^T, an online softmax in registers, O += P V with P as the A operand straight
 * from registers.  Two overlaps: within a warpgroup S of the next key tile is issued before P V of
 * this one, so the softmax runs under P V; and the warpgroups take turns at issuing (PINGPONG), so
 * that one's softmax runs under the other's products.
 *
 * Short sequences at d = 64 have the form of one warpgroup (WGS = 1) in three CTAs an SM instead:
 * small tiles waste least on the diagonal, and nobody waits for a neighbour at an item's ends.
 *
 * Roles.  Warpgroup 0, one lane: all loads.  Warpgroups 1..WGS: products, softmax, epilogue.  With
 * WGS = 1 the loader is one warp, behind the warpgroup, and registers stay as launched.
 *
 * Shared memory, KiB:           Q    O  K ring  V ring  total
 *   D=128 M=128 N=128, WGS=2    32   32      64      64  192 of 227
 *   D=64  M=192 N=128, WGS=3    24   24      32      32  112
 *   D=64  M=64  N=64,  WGS=1     8    8      16      16   48, of 75 for each of three CTAs
 * Registers of an MMA thread: O 64 + S 64 + P 32 = 160 of 240; 32 + 64 + 32 = 128 of 160;
 * 32 + 32 + 16 = 80 of 136.
 *
 * Barriers (mbarriers; arrivals): Q_FULL (1 + bytes), Q_EMPTY (4 WGS warps: the last S is there),
 * and full (1 + bytes) and empty (4 WGS warps) for each stage of K and V.  Named barriers: 1..WGS
 * the turns, 4..4+WGS-1 a warpgroup's O tile is complete in shared memory.
 *
 * Deterministic: no two CTAs write the same address and all sums have one order.  Structure after
 * FlashAttention-3 (Shah et al. 2024).
 */
#ifndef FB_KERNELS_SM90_FWD_CUH
#define FB_KERNELS_SM90_FWD_CUH

#include "kernels/sm90/q_major.cuh"

namespace fb {

/* STAYS: O has a place of its own, so that a CTA may go on to the next item. */
template <class T_, int D_, int N_, int WGS_, bool CAUSAL_, bool STAYS_ = true>
struct fwd_sm90_config {
    using T = T_;
    static constexpr int D = D_, N = N_, WGS = WGS_, M = 64 * WGS, STAGES = 2;
    static constexpr bool CAUSAL = CAUSAL_, PINGPONG = WGS > 1;
    static constexpr int CTAS = WGS == 1 ? 3 : 1; /* an SM */
    static constexpr int THREADS = WGS == 1 ? 160 : 128 * (WGS + 1), PANELS = D / 64;
    static constexpr int REGISTERS = WGS == 2 ? 240 : 160, LOADER_REGISTERS = WGS == 2 ? 24 : 32;

    static constexpr uint32_t Q_PANEL = M * 128, KV_PANEL = N * 128;
    static constexpr uint32_t Q_BYTES = PANELS * Q_PANEL, KV_BYTES = PANELS * KV_PANEL;
    struct map {
        char q[Q_BYTES], o[STAYS_ ? Q_BYTES : 0];
        char k[STAGES][KV_BYTES], v[STAGES][KV_BYTES];
        uint64_t q_full, q_empty, k_full[STAGES], k_empty[STAGES], v_full[STAGES], v_empty[STAGES];
    };
    static constexpr uint32_t Q_AT = offsetof(map, q), O_AT = STAYS_ ? offsetof(map, o) : Q_AT;
    static constexpr uint32_t K_AT = offsetof(map, k), V_AT = offsetof(map, v);
    static constexpr uint32_t Q_FULL = offsetof(map, q_full), Q_EMPTY = offsetof(map, q_empty);
    static constexpr uint32_t K_FULL = offsetof(map, k_full), K_EMPTY = offsetof(map, k_empty);
    static constexpr uint32_t V_FULL = offsetof(map, v_full), V_EMPTY = offsetof(map, v_empty);
    static constexpr uint32_t SMEM_BYTES = sizeof(map);

    static_assert(D == 64 || D == 128 || D == 256, "head dimensions of this kernel");
    static_assert(WGS >= 1 && WGS <= 3, "warpgroups that registers suffice for");
    static_assert(CTAS * (SMEM_BYTES + 1024) <= 233472, "shared memory of an sm_90 SM");
};

struct fwd_sm90_args {
    CUtensorMap q, k, v, o;
    q_major_work work;
    float *lse;
    int64_t lse_batch, lse_head, lse_row; /* strides in elements */
    float scale, scale_log2;              /* > 0 */
};

template <class C>
__device__ __forceinline__ void fwd_barriers_init(uint32_t smem)
{
    mbarrier_init(smem + C::Q_FULL, 1);
    mbarrier_init(smem + C::Q_EMPTY, 4 * C::WGS);
    for (int i = 0; i < C::STAGES; i++) {
        mbarrier_init(smem + C::K_FULL + 8 * i, 1);
        mbarrier_init(smem + C::K_EMPTY + 8 * i, 4 * C::WGS);
        mbarrier_init(smem + C::V_FULL + 8 * i, 1);
        mbarrier_init(smem + C::V_EMPTY + 8 * i, 4 * C::WGS);
    }
}

/* One key tile of K or V into stage r of its ring. */
template <class C>
__device__ __forceinline__ void fwd_load_keys(const CUtensorMap *map, const q_major_item &b,
                                              uint32_t at, uint32_t full, uint32_t empty,
                                              const ring<C::STAGES> &r, int key, uint64_t keep)
{
    mbarrier_wait(r.barrier(empty), r.parity ^ 1);
    mbarrier_arrive_expect(r.barrier(full), C::KV_BYTES);
    tma_load_tile<C::PANELS>(r.slot(at, C::KV_BYTES), C::KV_PANEL, map, r.barrier(full), key,
                             b.kv_head, b.batch, keep);
}

/* One thread: everything that arrives in shared memory, for all items of the CTA. */
template <class C>
__device__ void fwd_load(const fwd_sm90_args &p, uint32_t smem)
{
    uint64_t keep = l2_evict_last(), once = l2_evict_first();
    ring<C::STAGES> r;
    int turn = 0;

    for (int i = 0, item; (item = q_major_next(i)) < p.work.items; i++, turn ^= 1) {
        q_major_item b = q_major_find<C::M, C::N, C::CAUSAL>(p.work, item);
        mbarrier_wait(smem + C::Q_EMPTY, turn ^ 1);
        mbarrier_arrive_expect(smem + C::Q_FULL, C::Q_BYTES);
        tma_load_tile<C::PANELS>(smem + C::Q_AT, C::Q_PANEL, &p.q, smem + C::Q_FULL, b.row, b.head,
                                 b.batch, once);
        for (int j = b.steps - 1; j >= 0; j--, r.advance()) {
            fwd_load_keys<C>(&p.k, b, smem + C::K_AT, smem + C::K_FULL, smem + C::K_EMPTY, r,
                             j * C::N, keep);
            fwd_load_keys<C>(&p.v, b, smem + C::V_AT, smem + C::V_FULL, smem + C::V_EMPTY, r,
                             j * C::N, keep);
        }
    }
}

/* What an MMA thread keeps of its two rows. */
template <class C>
struct fwd_state {
    float o[C::D / 2], top[2], sum[2]; /* running maximum, unscaled; this lane's part of the sum */
    uint32_t smem, q_rows;
    int w, seen[2], mask_from; /* keys that row r sees, less this lane's column; first tile hit */
};

template <class C>
__device__ __forceinline__ void fwd_state_init(fwd_state<C> &a, const fwd_sm90_args &p,
                                               const q_major_item &b)
{
    const int t = threadIdx.x % 128, l = t % 32;
    const int row = b.row + 64 * a.w + 16 * (t / 32) + l / 4;

#pragma unroll
    for (int i = 0; i < C::D / 2; i++)
        a.o[i] = 0;
    for (int r = 0; r < 2; r++) {
        a.top[r] = -INFINITY, a.sum[r] = 0;
        a.seen[r] = p.work.nk;
        if (C::CAUSAL)
            a.seen[r] = min(p.work.nk, row + 8 * r + 1 + p.work.offset);
        a.seen[r] -= 2 * (l % 4);
    }
    /* Key tiles that end past this key need the mask. */
    a.mask_from = C::CAUSAL ? min(p.work.nk, b.row + 64 * a.w + 1 + p.work.offset) : p.work.nk;
}

/*
 * One step of the online softmax: s becomes P = 2^((S - top) scale_log2), `shrink` what the sums so
 * far are to be multiplied with.  A row that has seen no key keeps top = -inf and P = 0.
 */
template <class C>
__device__ __forceinline__ void softmax_step(fwd_state<C> &a, float (&s)[C::N / 2],
                                             float (&shrink)[2], float scale_log2)
{
#pragma unroll
    for (int r = 0; r < 2; r++) {
        float x = a.top[r], y = -INFINITY, even = 0, odd = 0;
#pragma unroll
        for (int j = 0; j < C::N / 8; j++)
            x = fmaxf(x, s[4 * j + 2 * r]), y = fmaxf(y, s[4 * j + 2 * r + 1]);
        x = fmaxf(x, y);
        x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 1));
        x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 2));
        float base = x == -INFINITY ? 0.0f : x * scale_log2;
        shrink[r] = exp2_approx(a.top[r] * scale_log2 - base);
        a.top[r] = x;
#pragma unroll
        for (int j = 0; j < C::N / 8; j++) {
            s[4 * j + 2 * r] = exp2_approx(fmaf(s[4 * j + 2 * r], scale_log2, -base));
            s[4 * j + 2 * r + 1] = exp2_approx(fmaf(s[4 * j + 2 * r + 1], scale_log2, -base));
            even += s[4 * j + 2 * r], odd += s[4 * j + 2 * r + 1];
        }
        a.sum[r] = a.sum[r] * shrink[r] + (even + odd);
    }
}

/* S of the tile at `at`, issued as one group. */
template <class C>
__device__ __forceinline__ void fwd_issue_scores(fwd_state<C> &a, float (&s)[C::N / 2],
                                                 const ring<C::STAGES> &at)
{
    wgmma_fence();
    gemm_rows<typename C::T, C::D, C::N>(s, a.q_rows, C::Q_PANEL,
                                         at.slot(a.smem + C::K_AT, C::KV_BYTES));
    wgmma_commit();
}

template <class C>
__device__ __forceinline__ void fwd_issue_output(fwd_state<C> &a, uint32_t (&p)[C::N / 4],
                                                 const ring<C::STAGES> &at)
{
    registers_pin(p);
    registers_pin(a.o);
    wgmma_fence();
    gemm_over_keys<typename C::T, C::D, C::N>(a.o, p, at.slot(a.smem + C::V_AT, C::KV_BYTES));
    wgmma_commit();
}

template <class C>
__device__ __forceinline__ void fwd_mask(fwd_state<C> &a, float (&s)[C::N / 2], int tile)
{
    if ((tile + 1) * C::N > a.mask_from) {
        int seen[2] = {a.seen[0] - tile * C::N, a.seen[1] - tile * C::N};
        rows_mask<C::N>(s, seen);
    }
}

/* One more key tile: its S under way while P V of the tile before is, and its softmax under that.
 */
template <class C>
__device__ __forceinline__ void fwd_step(fwd_state<C> &a, uint32_t (&p)[C::N / 4],
                                         const ring<C::STAGES> &last, const ring<C::STAGES> &now,
                                         int tile, float scale_log2)
{
    float s[C::N / 2], shrink[2];

    mbarrier_wait(now.barrier(a.smem + C::K_FULL), now.parity);
    if (C::PINGPONG)
        named_barrier_sync(1 + a.w, 256);
    fwd_issue_scores<C>(a, s, now);
    mbarrier_wait(last.barrier(a.smem + C::V_FULL), last.parity);
    fwd_issue_output<C>(a, p, last);
    if (C::PINGPONG)
        named_barrier_arrive(1 + (a.w + 1) % C::WGS, 256);
    wgmma_wait<1>(); /* S */
    registers_pin(s);
    mbarrier_arrive_warp(now.barrier(a.smem + C::K_EMPTY));
    fwd_mask<C>(a, s, tile);
    softmax_step<C>(a, s, shrink, scale_log2);
    wgmma_wait<0>(); /* P V */
    registers_pin(a.o);
    mbarrier_arrive_warp(last.barrier(a.smem + C::V_EMPTY));
    fragment_pack<typename C::T>(p, s);
#pragma unroll
    for (int i = 0; i < C::D / 2; i++)
        a.o[i] *= shrink[i / 2 % 2];
}

/* All key tiles of an item; steps >= 1. */
template <class C>
__device__ __forceinline__ void fwd_steps(fwd_state<C> &a, ring<C::STAGES> &now, int steps,
                                          float scale_log2)
{
    uint32_t p[C::N / 4];
    {
        float s[C::N / 2], unused[2];
        mbarrier_wait(now.barrier(a.smem + C::K_FULL), now.parity);
        fwd_issue_scores<C>(a, s, now);
        wgmma_wait<0>();
        registers_pin(s);
        mbarrier_arrive_warp(now.barrier(a.smem + C::K_EMPTY));
        fwd_mask<C>(a, s, steps - 1);
        softmax_step<C>(a, s, unused, scale_log2);
        fragment_pack<typename C::T>(p, s);
    }
    for (int tile = steps - 2; tile >= 0; tile--) {
        ring<C::STAGES> last = now;
        now.advance();
        fwd_step<C>(a, p, last, now, tile, scale_log2);
    }
    mbarrier_arrive_warp(a.smem + C::Q_EMPTY);
    mbarrier_wait(now.barrier(a.smem + C::V_FULL), now.parity);
    fwd_issue_output<C>(a, p, now);
    wgmma_wait<0>();
    registers_pin(a.o);
    mbarrier_arrive_warp(now.barrier(a.smem + C::V_EMPTY));
    now.advance();
}

/* O / sum through shared memory to global memory; LSE = top scale + ln(sum). */
template <class C>
__device__ __forceinline__ void fwd_finish(fwd_state<C> &a, const fwd_sm90_args &p,
                                           const q_major_item &b)
{
    const int t = threadIdx.x % 128, l = t % 32;
    const int row = b.row + 64 * a.w + 16 * (t / 32) + l / 4;
    float inverse[2];

    for (int r = 0; r < 2; r++) {
        float sum = a.sum[r];
        sum += __shfl_xor_sync(0xffffffffu, sum, 1);
        sum += __shfl_xor_sync(0xffffffffu, sum, 2);
        inverse[r] = sum > 0 ? 1 / sum : 0;
        if (l % 4 == 0 && row + 8 * r < p.work.nq)
            p.lse[b.batch * p.lse_batch + b.head * p.lse_head + (row + 8 * r) * p.lse_row] =
                sum > 0 ? a.top[r] * p.scale + logf(sum) : -INFINITY;
    }
#pragma unroll
    for (int i = 0; i < C::D / 2; i++)
        a.o[i] *= inverse[i / 2 % 2];
    const uint32_t tile = a.smem + C::O_AT + a.w * 8192;
    if (t == 0)
        bulk_wait_read<0>(); /* the item before has left */
    named_barrier_sync(4 + a.w, 128);
    fragment_store<typename C::T, C::D>(tile, C::Q_PANEL, a.o, 1.0f);
    fence_proxy_async();
    named_barrier_sync(4 + a.w, 128);
    if (t == 0) {
        tma_store_tile<C::PANELS>(&p.o, tile, C::Q_PANEL, b.row + 64 * a.w, b.head, b.batch);
        bulk_commit();
    }
}

template <class C>
__device__ __forceinline__ void fwd_mma(const fwd_sm90_args &p, uint32_t smem, int w)
{
    fwd_state<C> a;
    ring<C::STAGES> now;
    int turn = 0;

    a.smem = smem, a.w = w, a.q_rows = smem + C::Q_AT + w * 8192;
    if (C::PINGPONG && w == C::WGS - 1)
        named_barrier_arrive(1, 256); /* the first turn is warpgroup 0's */
    for (int i = 0, item; (item = q_major_next(i)) < p.work.items; i++, turn ^= 1) {
        q_major_item b = q_major_find<C::M, C::N, C::CAUSAL>(p.work, item);
        fwd_state_init<C>(a, p, b);
        mbarrier_wait(smem + C::Q_FULL, turn);
        if (b.steps > 0)
            fwd_steps<C>(a, now, b.steps, p.scale_log2);
        else
            mbarrier_arrive_warp(smem + C::Q_EMPTY);
        fwd_finish<C>(a, p, b);
    }
    if (threadIdx.x % 128 == 0)
        bulk_wait_read<0>();
}

template <class C>
__global__ void __launch_bounds__(C::THREADS, C::CTAS)
    fwd_sm90_main(const __grid_constant__ fwd_sm90_args p)
{
    extern __shared__ __align__(1024) char shared[];
    const uint32_t smem = shared_address(shared);
    const int warp = cta_begin(smem, fwd_barriers_init<C>, &p.q, &p.k, &p.v, &p.o);

    if constexpr (C::WGS == 1) {
        if (warp < 4)
            fwd_mma<C>(p, smem, 0);
        else if ((threadIdx.x & 31) == 0)
            fwd_load<C>(p, smem);
    } else if (warp < 4) {
        registers_shrink<C::LOADER_REGISTERS>();
        if (warp == 0 && (threadIdx.x & 31) == 0)
            fwd_load<C>(p, smem);
    } else {
        registers_grow<C::REGISTERS>();
        fwd_mma<C>(p, smem, warp / 4 - 1);
    }
}

} // namespace fb
#endif
