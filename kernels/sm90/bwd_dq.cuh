/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dQ alone for sm_90a, query-major: the second kernel of the split backward.
 *
 * Idea.  A CTA takes a tile of 128 query rows and walks over its key tiles: S = Q K^T and
 * dP = dO V^T with a query row in four lanes, so that dS, once packed, is the A operand of
 * dQ += dS K straight from registers.  No score passes through shared memory, LSE and delta are two
 * registers a row, dQ is written once: no accumulator, no turns, no post-pass.  The price is S and
 * dP a second time: 7 products in the two kernels instead of 5.
 *
 * Schedules.  Plain: a warpgroup finishes dQ of a key tile before the next S; the overlap is that
 * of the two warpgroups drifting apart.  LAG: dQ of the tile before is issued behind S and dP, so
 * that a warpgroup's own exponentials and dS run under it; K then needs a third stage.
 *
 * Shared memory, KiB:       Q (then dQ)  dO  K ring  V ring  total
 *   D=128 N=80  LAG              32      32    60      40     164
 *   D=64  N=128 LAG              16      16    48      32     112
 *   D=64  N=128 plain            16      16    32      32      96
 * Registers of an MMA thread, of 232: dQ 64 + S 40 + dP 40 + dS 20 = 164 (D=128); 32 + 64 + 64 + 32
 * = 192 (D=64).  KEPT: steps of Q that are kept in registers (kept_rows.cuh); none here.  D = 256
 * is in bwd_wide_launch.cuh.
 *
 * Barriers, all mbarriers: Q_FULL, DO_FULL (1 + bytes), and full (1 + bytes) and empty (8 warps)
 * for each stage of K and V.  Named: 4, 5, a warpgroup's dQ tile is complete in shared memory.
 *
 * Deterministic: one CTA writes a row of dQ, its sum has one order.
 */
#ifndef FB_KERNELS_SM90_BWD_DQ_CUH
#define FB_KERNELS_SM90_BWD_DQ_CUH

#include "kernels/sm90/kept_rows.cuh"
#include "kernels/sm90/q_major.cuh"

namespace fb {

/* KEPT steps of Q in registers, V_STAGES of V. */
template <class T_, int D_, int N_, bool CAUSAL_, bool LAG_, int V_STAGES_ = 2, int KEPT_ = 0>
struct dq_sm90_config {
    using T = T_;
    static constexpr int D = D_, M = 128, N = N_, PANELS = D / 64;
    static constexpr bool CAUSAL = CAUSAL_, LAG = LAG_;
    static constexpr int K_STAGES = LAG ? 3 : 2, V_STAGES = V_STAGES_, KEPT = KEPT_;

    static constexpr uint32_t Q_PANEL = M * 128, KV_PANEL = N * 128;
    static constexpr uint32_t Q_BYTES = PANELS * Q_PANEL, KV_BYTES = PANELS * KV_PANEL;
    struct map {
        char q[Q_BYTES], dout[Q_BYTES], k[K_STAGES][KV_BYTES], v[V_STAGES][KV_BYTES];
        uint64_t q_full, do_full, k_full[K_STAGES], k_empty[K_STAGES];
        uint64_t v_full[V_STAGES], v_empty[V_STAGES];
    };
    static constexpr uint32_t Q_AT = offsetof(map, q), DO_AT = offsetof(map, dout);
    static constexpr uint32_t K_AT = offsetof(map, k), V_AT = offsetof(map, v);
    static constexpr uint32_t Q_FULL = offsetof(map, q_full), DO_FULL = offsetof(map, do_full);
    static constexpr uint32_t K_FULL = offsetof(map, k_full), K_EMPTY = offsetof(map, k_empty);
    static constexpr uint32_t V_FULL = offsetof(map, v_full), V_EMPTY = offsetof(map, v_empty);
    static constexpr uint32_t SMEM_BYTES = sizeof(map);

    static_assert(D == 64 || D == 128 || D == 256, "head dimensions of this kernel");
    static_assert(SMEM_BYTES <= 232448, "shared memory of an sm_90 CTA");
};

struct dq_sm90_args {
    CUtensorMap q, k, v, dout, dq;
    q_major_work work;
    const float *lse2, *delta; /* [batch][head][stat_rows], LSE in base 2 */
    int64_t stat_rows;
    float scale, scale_log2;
};

template <class C>
__device__ __forceinline__ void dq_barriers_init(uint32_t smem)
{
    mbarrier_init(smem + C::Q_FULL, 1);
    mbarrier_init(smem + C::DO_FULL, 1);
    for (int i = 0; i < C::K_STAGES; i++) {
        mbarrier_init(smem + C::K_FULL + 8 * i, 1);
        mbarrier_init(smem + C::K_EMPTY + 8 * i, 8);
    }
    for (int i = 0; i < C::V_STAGES; i++) {
        mbarrier_init(smem + C::V_FULL + 8 * i, 1);
        mbarrier_init(smem + C::V_EMPTY + 8 * i, 8);
    }
}

/* One tile of `bytes`, in panels `panel` apart. */
template <class C>
__device__ __forceinline__ void dq_load_tile(const CUtensorMap *map, uint32_t at, uint32_t panel,
                                             uint32_t full, int row, int head, int batch,
                                             uint64_t policy)
{
    mbarrier_arrive_expect(full, C::PANELS * panel);
    tma_load_tile<C::PANELS>(at, panel, map, full, row, head, batch, policy);
}

/* One thread: everything that arrives in shared memory.  dO after the first K: S needs it not. */
template <class C>
__device__ void dq_load(const dq_sm90_args &p, uint32_t smem)
{
    q_major_item b = q_major_find<C::M, C::N, C::CAUSAL>(p.work, blockIdx.x);
    uint64_t keep = l2_evict_last();
    ring<C::K_STAGES> k;
    ring<C::V_STAGES> v;

    for (int j = b.steps - 1; j >= 0; j--, k.advance(), v.advance()) {
        bool first = j == b.steps - 1;
        if (first)
            dq_load_tile<C>(&p.q, smem + C::Q_AT, C::Q_PANEL, smem + C::Q_FULL, b.row, b.head,
                            b.batch, keep);
        mbarrier_wait(k.barrier(smem + C::K_EMPTY), k.parity ^ 1);
        dq_load_tile<C>(&p.k, k.slot(smem + C::K_AT, C::KV_BYTES), C::KV_PANEL,
                        k.barrier(smem + C::K_FULL), j * C::N, b.kv_head, b.batch, keep);
        if (first)
            dq_load_tile<C>(&p.dout, smem + C::DO_AT, C::Q_PANEL, smem + C::DO_FULL, b.row, b.head,
                            b.batch, keep);
        mbarrier_wait(v.barrier(smem + C::V_EMPTY), v.parity ^ 1);
        dq_load_tile<C>(&p.v, v.slot(smem + C::V_AT, C::KV_BYTES), C::KV_PANEL,
                        v.barrier(smem + C::V_FULL), j * C::N, b.kv_head, b.batch, keep);
    }
}

/* What an MMA thread keeps: dQ, its two rows' statistics and limits, the rings. */
template <class C>
struct dq_state {
    float dq[C::D / 2], lse2[2], delta[2];
    uint32_t kept[C::KEPT ? C::KEPT : 1][4];
    uint32_t smem, q_rows, do_rows;
    int w, seen[2], mask_from;
    ring<C::K_STAGES> k;
    ring<C::V_STAGES> v;
};

template <class C>
__device__ __forceinline__ void dq_state_init(dq_state<C> &a, const dq_sm90_args &p,
                                              const q_major_item &b)
{
    const int t = threadIdx.x % 128, l = t % 32;
    const int row = b.row + 64 * a.w + 16 * (t / 32) + l / 4;
    const int64_t stat = (int64_t)(b.batch * p.work.heads + b.head) * p.stat_rows;

#pragma unroll
    for (int i = 0; i < C::D / 2; i++)
        a.dq[i] = 0;
    for (int r = 0; r < 2; r++) {
        bool in = row + 8 * r < p.work.nq;
        /* Past the L1, which may not have seen the pre-pass. */
        a.lse2[r] = in ? __ldcg(p.lse2 + stat + row + 8 * r) : INFINITY;
        a.delta[r] = in ? __ldcg(p.delta + stat + row + 8 * r) : 0;
        a.seen[r] = p.work.nk;
        if (C::CAUSAL)
            a.seen[r] = min(p.work.nk, row + 8 * r + 1 + p.work.offset);
        a.seen[r] -= 2 * (l % 4);
    }
    a.mask_from = C::CAUSAL ? min(p.work.nk, b.row + 64 * a.w + 1 + p.work.offset) : p.work.nk;
}

/* s becomes P = 2^(S scale_log2 - LSE2), 0 where hidden. */
template <class C>
__device__ __forceinline__ void dq_probabilities(const dq_state<C> &a, float (&s)[C::N / 2],
                                                 int tile, float scale_log2)
{
    if ((tile + 1) * C::N > a.mask_from) {
        int seen[2] = {a.seen[0] - tile * C::N, a.seen[1] - tile * C::N};
        rows_mask<C::N>(s, seen);
    }
#pragma unroll
    for (int i = 0; i < C::N / 2; i++)
        s[i] = exp2_approx(fmaf(s[i], scale_log2, -a.lse2[i / 2 % 2]));
}

template <class C>
__device__ __forceinline__ void dq_issue(dq_state<C> &a, uint32_t (&ds)[C::N / 4],
                                         const ring<C::K_STAGES> &at)
{
    registers_pin(ds);
    registers_pin(a.dq);
    wgmma_fence();
    gemm_over_keys<typename C::T, C::D, C::N>(a.dq, ds, at.slot(a.smem + C::K_AT, C::KV_BYTES));
    wgmma_commit();
}

/*
 * One key tile: dS of it in ds.  With LAG, ds holds the tile before at entry, whose dQ product is
 * issued behind S and dP; without, the caller issues dQ afterwards.
 */
template <class C, bool BEHIND>
__device__ __forceinline__ void dq_step(dq_state<C> &a, uint32_t (&ds)[C::N / 4],
                                        const ring<C::K_STAGES> &last, int tile, float scale_log2)
{
    float s[C::N / 2], dp[C::N / 2];

    mbarrier_wait(a.k.barrier(a.smem + C::K_FULL), a.k.parity);
    wgmma_fence();
    if constexpr (C::KEPT > 0)
        gemm_rows_kept<typename C::T, C::D, C::N, C::KEPT>(s, a.kept, a.q_rows, C::Q_PANEL,
                                                           a.k.slot(a.smem + C::K_AT, C::KV_BYTES));
    else
        gemm_rows<typename C::T, C::D, C::N>(s, a.q_rows, C::Q_PANEL,
                                             a.k.slot(a.smem + C::K_AT, C::KV_BYTES));
    wgmma_commit();
    mbarrier_wait(a.smem + C::DO_FULL, 0); /* once; at once ever after */
    mbarrier_wait(a.v.barrier(a.smem + C::V_FULL), a.v.parity);
    wgmma_fence();
    gemm_rows<typename C::T, C::D, C::N>(dp, a.do_rows, C::Q_PANEL,
                                         a.v.slot(a.smem + C::V_AT, C::KV_BYTES));
    wgmma_commit();
    if (BEHIND)
        dq_issue<C>(a, ds, last);
    wgmma_wait<BEHIND ? 2 : 1>(); /* S */
    registers_pin(s);
    dq_probabilities<C>(a, s, tile, scale_log2);
    wgmma_wait<BEHIND ? 1 : 0>(); /* dP */
    registers_pin(dp);
    mbarrier_arrive_warp(a.v.barrier(a.smem + C::V_EMPTY));
#pragma unroll
    for (int i = 0; i < C::N / 2; i++)
        s[i] *= dp[i] - a.delta[i / 2 % 2];
    if (BEHIND) {
        wgmma_wait<0>(); /* dQ of the tile before: ds may be overwritten */
        registers_pin(a.dq);
        mbarrier_arrive_warp(last.barrier(a.smem + C::K_EMPTY));
    }
    fragment_pack<typename C::T>(ds, s);
}

/* dQ of the tile in stage `at`, waited for. */
template <class C>
__device__ __forceinline__ void dq_product(dq_state<C> &a, uint32_t (&ds)[C::N / 4],
                                           const ring<C::K_STAGES> &at)
{
    dq_issue<C>(a, ds, at);
    wgmma_wait<0>();
    registers_pin(a.dq);
    mbarrier_arrive_warp(at.barrier(a.smem + C::K_EMPTY));
}

/* All key tiles of an item; steps >= 1. */
template <class C>
__device__ __forceinline__ void dq_steps(dq_state<C> &a, int steps, float scale_log2)
{
    uint32_t ds[C::N / 4];
    ring<C::K_STAGES> last = a.k;
    int tile = steps - 1;

    if (C::LAG) {
        dq_step<C, false>(a, ds, last, tile--, scale_log2);
        a.k.advance(), a.v.advance();
    }
    for (; tile >= 0; tile--) {
        if (C::KEPT) { /* descriptors are made anew: kept, too, they would not fit */
            a.smem = register_copy(a.smem);
            a.q_rows = register_copy(a.q_rows), a.do_rows = register_copy(a.do_rows);
        }
        dq_step<C, C::LAG>(a, ds, last, tile, scale_log2);
        if (!C::LAG)
            dq_product<C>(a, ds, a.k);
        last = a.k;
        a.k.advance(), a.v.advance();
    }
    if (C::LAG)
        dq_product<C>(a, ds, last);
}

template <class C>
__device__ __forceinline__ void dq_mma(const dq_sm90_args &p, uint32_t smem, int w)
{
    q_major_item b = q_major_find<C::M, C::N, C::CAUSAL>(p.work, blockIdx.x);
    dq_state<C> a;

    a.smem = smem, a.w = w;
    a.q_rows = smem + C::Q_AT + w * 8192, a.do_rows = smem + C::DO_AT + w * 8192;
    dq_state_init<C>(a, p, b);
    if (b.steps > 0) {
        mbarrier_wait(smem + C::Q_FULL, 0);
        kept_load<C::KEPT>(a.kept, a.q_rows, C::Q_PANEL);
        dq_steps<C>(a, b.steps, p.scale_log2);
    }
    registers_pin(a.dq);
    /* Q's rows are this warpgroup's alone. The item is found anew, not kept till here. */
    b = q_major_find<C::M, C::N, C::CAUSAL>(p.work, register_copy(blockIdx.x));
    fragment_store<typename C::T, C::D>(a.q_rows, C::Q_PANEL, a.dq, p.scale);
    fence_proxy_async();
    named_barrier_sync(4 + w, 128); /* the warpgroup's tile is complete */
    if (threadIdx.x % 128 == 0) {
        tma_store_tile<C::PANELS>(&p.dq, a.q_rows, C::Q_PANEL, b.row + 64 * w, b.head, b.batch);
        bulk_commit();
        bulk_wait_read<0>();
    }
}

/*
 * Starts when every CTA of the key-major kernel has started (that one tells), so its CTAs fill the
 * SMs that run out of work there.  It needs nothing of that kernel, only of the pre-pass, which is
 * complete by then; the wait at the end keeps what follows this grid behind both.
 */
template <class C>
__global__ void __launch_bounds__(384, 1) dq_sm90_main(const __grid_constant__ dq_sm90_args p)
{
    extern __shared__ __align__(1024) char shared[];
    const uint32_t smem = shared_address(shared);
    const int warp = cta_begin(smem, dq_barriers_init<C>, &p.q, &p.k, &p.v, &p.dout);

    if (warp < 4) {
        registers_shrink<40>();
        if (warp == 0 && (threadIdx.x & 31) == 0)
            dq_load<C>(p, smem);
    } else {
        registers_grow<232>();
        dq_mma<C>(p, smem, warp / 4 - 1);
    }
    grid_dependency_wait();
}

} // namespace fb
#endif
