/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The attention backward on mma.sync, key-major: a CTA owns N keys of one key head, walks over the
 * query tiles that see them in all heads of the group, keeps dK and dV in registers and adds dQ
 * tiles to a global sum.
 *
 * Idea: FlashAttention-2's five products, but rotated by half a step. Step i first makes dV, dK and
 * dQ from the P and dS of query tile i - 1, then S, dP, P and dS of tile i, so that only one
 * barrier a step stops all warps: the one that shows them P and dS. What else they wait for has
 * long happened: the copies of Q and dO (issued a step ahead, arriving on an mbarrier), and that
 * nobody reads the old tiles any more (arrivals before S, waited for behind dS). Exponentials of
 * one warp run under products of another.
 *
 * Differs from FlashAttention-2: one blocking barrier a step instead of three; vector additions to
 * dQ (sm_90); unmasked tiles without mask code; the group of query heads is summed in registers;
 * orders of dQ (below) in one kernel.
 *
 * Budget: config.cuh. One CTA an SM.
 *
 * dQ, chosen at run time, or in a kernel of its own where that is faster (table.cuh):
 *   atomic     additions in any order. dK and dV are bitwise repeatable, dQ is not.
 *   ordered    each warp adds its part of 2 to 8 query tiles when a counter says that the key
 *              tiles before have: a fixed order (key_tile.cuh). The first assigns. CTAs take
 *              their place from a ticket, so that they wait only for CTAs that run. Repeatable.
 *   partials   each CTA has a run of the key tiles of all heads and adds to copies of dQ of its
 *              own, in its own order; the first to touch a block assigns, so nothing is cleared.
 *              The last pass sums copies in order. Repeatable.
 *
 * Source of the structure: FlashAttention-2 (Dao 2023) and its public kernels.
 */
#ifndef FB_KERNELS_SM80_BWD_CUH
#define FB_KERNELS_SM80_BWD_CUH

#include "kernels/ptx/mbarrier.cuh"
#include "kernels/sm80/config.cuh"
#include "kernels/sm80/key_tile.cuh"
#include "kernels/sm80/load.cuh"
#include "kernels/sm80/score.cuh"

namespace fb {

/* A warp's sums of a key tile. */
template <class C>
struct sm80_sums {
    float dk[C::KV_MT][C::KV_NT][4], dv[C::KV_MT][C::KV_NT][4];
};

/* Issues the copies of one step's Q, dO, LSE and delta. */
template <class C>
__device__ __forceinline__ void sm80_load_step(const fb_sm80_args &p, const sm80_key_tile &w,
                                               const sm80_step &at, uint32_t smem, int stage)
{
    using T = typename C::T;
    const uint32_t to = smem + C::STAGE_AT + stage * C::STAGE_BYTES;
    const int row = at.m * C::M, rows = w.s.nq - row;
    const int64_t stat = sm80_query_block<C>(p, w.s.batch, at) * C::M;
    sm80_load_tile<C::M, C::D, C::THREADS, C::GENERAL>(
        to, sm80_row<T>(p.q, w.s.q_batch, at.head, w.s.q_row + row), p.q.row, rows, p.columns,
        p.aligned);
    sm80_load_tile<C::M, C::D, C::THREADS, C::GENERAL>(
        to + C::Q_BYTES, sm80_row<T>(p.dout, w.s.q_batch, at.head, w.s.q_row + row), p.dout.row,
        rows, p.columns_v, p.aligned);
    const int t = threadIdx.x;
    if (t < C::M / 4)
        cp_async_16(to + 2 * C::Q_BYTES + 16 * t, p.lse2 + stat + 4 * t, true);
    else if (t < C::M / 2)
        cp_async_16(to + 2 * C::Q_BYTES + 16 * t, p.delta + stat + 4 * (t - C::M / 4), true);
    if (C::GENERAL && !p.aligned) {
        cp_async_commit();
        cp_async_wait<0>();
        mbarrier_arrive(smem + C::FULL_AT + 8 * stage);
    } else {
        cp_async_arrive(smem + C::FULL_AT + 8 * stage);
    }
}

template <class C>
__device__ __forceinline__ void sm80_load_keys(const fb_sm80_args &p, const sm80_key_tile &w,
                                               uint32_t smem)
{
    using T = typename C::T;
    const int row = w.n * C::N, rows = w.s.nk - row;
    sm80_load_tile<C::N, C::D, C::THREADS, C::GENERAL>(
        smem + C::K_AT, sm80_row<T>(p.k, w.s.q_batch, w.kv_head, w.s.k_row + row), p.k.row, rows,
        p.columns, p.aligned);
    sm80_load_tile<C::N, C::D, C::THREADS, C::GENERAL>(
        smem + C::V_AT, sm80_row<T>(p.v, w.s.q_batch, w.kv_head, w.s.k_row + row), p.v.row, rows,
        p.columns_v, p.aligned);
}

/* dV += P^T dO and dK += dS^T Q: the warp's blocks of keys and columns. */
template <class C>
__device__ __forceinline__ void sm80_add_keys(uint32_t smem, uint32_t stage, sm80_sums<C> &sum)
{
    const int warp = threadIdx.x / 32, wk = warp % C::KV_N, wd = warp / C::KV_N;
    const operand_mn<C::N, 16 *C::KV_N> pt = {lane_chunks_first<C::N>(smem + C::P_AT, 0, 2 * wk)};
    const operand_mn<C::N, 16 *C::KV_N> dst = {lane_chunks_first<C::N>(smem + C::DS_AT, 0, 2 * wk)};
    const operand_mn<C::D, 16 *C::KV_D> q = {lane_rows_first<C::D>(stage, 0, 2 * wd)};
    const operand_mn<C::D, 16 *C::KV_D> dout = {
        lane_rows_first<C::D>(stage + C::Q_BYTES, 0, 2 * wd)};
    warp_product<typename C::T, C::M / 16>(sum.dv, pt, dout);
    warp_product<typename C::T, C::M / 16>(sum.dk, dst, q);
}

/* Part `part` of the columns of dQ of one tile: dS K. */
template <class C>
__device__ __forceinline__ void sm80_make_dq(uint32_t smem, int part,
                                             float (&dq)[C::Q_MT][C::Q_NT][4])
{
    const int warp = threadIdx.x / 32, wm = warp % C::Q_M, wd = warp / C::Q_M;
    const operand_k<C::N, 16> ds = {lane_rows_first<C::N>(smem + C::DS_AT, wm * C::Q_MT * 16, 0)};
    const operand_mn<C::D, 16 *C::Q_D> k = {smem_tile<C::D>::right(
        lane_rows_first<C::D>(smem + C::K_AT, 0, 2 * wd), part * (C::D / C::Q_PARTS / 8))};
    acc_clear(dq);
    warp_product<typename C::T, C::N / 16>(dq, ds, k);
}

/* Scores, probabilities and their gradient of one step, in registers. */
template <class C>
__device__ __forceinline__ void
sm80_make_scores(const fb_sm80_args &p, const sm80_key_tile &w, const sm80_step &at, uint32_t smem,
                 uint32_t stage, float (&s)[C::S_MT][C::S_NT][4], float (&dp)[C::S_MT][C::S_NT][4])
{
    using T = typename C::T;
    const int warp = threadIdx.x / 32, wm = warp % C::S_M, wn = warp / C::S_M;
    const int row = wm * C::S_MT * 16;
    const operand_k<C::D, 16> q = {lane_rows_first<C::D>(stage, row, 0)};
    const operand_k<C::D, 16> dout = {lane_rows_first<C::D>(stage + C::Q_BYTES, row, 0)};
    const operand_k<C::D, 16 *C::S_N> k = {lane_chunks_first<C::D>(smem + C::K_AT, 16 * wn, 0)};
    const operand_k<C::D, 16 *C::S_N> v = {lane_chunks_first<C::D>(smem + C::V_AT, 16 * wn, 0)};
    const uint32_t stat = stage + 2 * C::Q_BYTES + 4 * (row + threadIdx.x % 32 / 4);
    float lse2[C::S_MT][2], delta[C::S_MT][2];
    acc_clear(s);
    warp_product<T, C::D / 16>(s, q, k);
#pragma unroll
    for (int i = 0; i < 2 * C::S_MT; i++) {
        lse2[i / 2][i % 2] = shared_float(stat + 32 * i);
        delta[i / 2][i % 2] = shared_float(stat + 32 * i + C::STAT_BYTES);
    }
    acc_clear(dp);
    if constexpr (C::GENERAL) {
        const sm80_terms t = sm80_terms_find(p, w.s.batch, at.head);
        warp_product<T, C::D / 16>(dp, dout, v);
        sm80_general<16, 16 * C::S_N>(p, t, w.s, s, dp, lse2, delta, at.m * C::M + row,
                                      w.n * C::N + 16 * wn);
    } else {
        sm80_exponentials(s, p.scale * log2_e, lse2);
        warp_product<T, C::D / 16>(dp, dout, v);
        if (!sm80_all_visible(w.s, at.m * C::M, w.n * C::N, C::M, C::N))
            sm80_mask<16, 16 * C::S_N>(s, w.s, at.m * C::M + row, w.n * C::N + 16 * wn);
        sm80_gradients(s, dp, delta);
    }
}

template <class C>
__device__ __forceinline__ void sm80_share_scores(uint32_t smem,
                                                  const float (&s)[C::S_MT][C::S_NT][4],
                                                  const float (&dp)[C::S_MT][C::S_NT][4])
{
    using T = typename C::T;
    const int warp = threadIdx.x / 32, wm = warp % C::S_M, wn = warp / C::S_M;
    const uint32_t at = lane_rows_first<C::N>(smem + C::P_AT, wm * C::S_MT * 16, 2 * wn);
    acc_store<T, C::N, 16, 16 * C::S_N>(at, s, 1);
    acc_store<T, C::N, 16, 16 * C::S_N>(at + C::S_BYTES, dp, 1);
}

/* dK and dV leave through the shared memory of K and V, which nobody reads any more. */
template <class C>
__device__ __forceinline__ void sm80_write_keys(const fb_sm80_args &p, const sm80_key_tile &w,
                                                char *shared, const sm80_sums<C> &sum)
{
    using T = typename C::T;
    const int warp = threadIdx.x / 32, wk = warp % C::KV_N, wd = warp / C::KV_N;
    const int row = w.n * C::N, rows = w.s.nk - row;
    const uint32_t at = lane_rows_first<C::D>(shared_address(shared) + C::K_AT, 16 * wk, 2 * wd);
    acc_store<T, C::D, 16 * C::KV_N, 16 * C::KV_D>(at, sum.dk, p.scale);
    acc_store<T, C::D, 16 * C::KV_N, 16 * C::KV_D>(at + C::KV_BYTES, sum.dv, 1);
    __syncthreads();
    sm80_store_tile<C::N, C::D, C::THREADS, C::GENERAL>(
        shared + C::K_AT, sm80_row<T>(p.dk, w.s.q_batch, w.kv_head, w.s.k_row + row), p.dk.row,
        rows, p.columns, p.aligned);
    sm80_store_tile<C::N, C::D, C::THREADS, C::GENERAL>(
        shared + C::V_AT, sm80_row<T>(p.dv, w.s.q_batch, w.kv_head, w.s.k_row + row), p.dv.row,
        rows, p.columns_v, p.aligned);
}

/* One key tile. `done` counts the CTA's steps so far: barriers' phases go on from tile to tile. */
template <class C>
__device__ __forceinline__ void sm80_walk(const fb_sm80_args &p, const sm80_key_tile &w,
                                          char *shared, int done)
{
    const uint32_t smem = shared_address(shared), stages = smem + C::STAGE_AT;
    const int mask = p.stages - 1; /* step u lies in stage u & mask, its use number u >> mask */
    sm80_step now = sm80_step_first(w);
    sm80_sums<C> sum;
    unsigned seen = 0;
    acc_clear(sum.dk);
    acc_clear(sum.dv);
    if (w.steps > 0) {
        sm80_load_keys<C>(p, w, smem);
        sm80_load_step<C>(p, w, now, smem, done & mask);
    }
    if (w.steps > 1 && mask)
        sm80_load_step<C>(p, w, sm80_step_next(w, now), smem, (done + 1) & mask);
    if (w.steps > 0)
        seen = sm80_first_look<C>(p, w, now);
    for (int i = 0; i <= w.steps && w.steps > 0; i++) {
        const int u = done + i;
        const sm80_step old = sm80_step_next(w, now, true);
        if (i > 0) {
            sm80_add_keys<C>(smem, stages + ((u - 1) & mask) * C::STAGE_BYTES, sum);
            if constexpr (C::GENERAL) {
                sm80_round(sum.dk, p.round_dkv);
                sm80_round(sum.dv, p.round_dkv);
            }
            if constexpr (C::WITH_DQ) {
                sm80_begin_turn<C>(p, w, old, seen);
#pragma unroll
                for (int part = 0; part < C::Q_PARTS; part++) {
                    float dq[C::Q_MT][C::Q_NT][4];
                    sm80_make_dq<C>(smem, part, dq);
                    if (part == C::Q_PARTS - 1)
                        mbarrier_arrive_warp(smem + C::FREE_AT);
                    sm80_give_dq<C>(p, w, old, part, dq);
                }
            } else {
                mbarrier_arrive_warp(smem + C::FREE_AT);
            }
        }
        if (i < w.steps) {
            float s[C::S_MT][C::S_NT][4], dp[C::S_MT][C::S_NT][4];
            if (i > 0 && !mask) {
                mbarrier_wait(smem + C::FREE_AT, (u - 1) & 1);
                sm80_load_step<C>(p, w, now, smem, 0);
            }
            mbarrier_wait(smem + C::FULL_AT + 8 * (u & mask), u >> mask & 1);
            const unsigned looked = i > 0 ? sm80_look<C>(p, w, old, now) : 0;
            sm80_make_scores<C>(p, w, now, smem, stages + (u & mask) * C::STAGE_BYTES, s, dp);
            if (i > 0)
                seen = sm80_tell_turn<C>(p, w, old, looked);
            if (i > 0 && mask) {
                mbarrier_wait(smem + C::FREE_AT, (u - 1) & 1);
                if (i + 1 < w.steps)
                    sm80_load_step<C>(p, w, sm80_step_next(w, now), smem, (u + 1) & mask);
            }
            sm80_share_scores<C>(smem, s, dp);
            sm80_fetch_dq<C>(p, w, now);
        } else {
            sm80_tell_turn<C>(p, w, old, 0);
        }
        __syncthreads(); /* P and dS are there; in the end: all have read K and V */
        now = sm80_step_next(w, now);
    }
    if (w.n * C::N < w.s.nk)
        sm80_write_keys<C>(p, w, shared, sum);
}

template <class C>
__device__ __forceinline__ void sm80_barriers_init(uint32_t smem)
{
    if (threadIdx.x == 0) {
        mbarrier_init(smem + C::FULL_AT, C::THREADS);
        mbarrier_init(smem + C::FULL_AT + 8, C::THREADS);
        mbarrier_init(smem + C::FREE_AT, C::WARPS);
    }
    __syncthreads();
}

/* The place of this CTA: in the order of starting, where others wait for it. */
template <class C>
__device__ __forceinline__ int64_t sm80_ticket(const fb_sm80_args &p, char *shared)
{
    if (!sm80_takes_turns<C>(p))
        return blockIdx.x;
    unsigned *place = (unsigned *)(shared + C::PLACE_AT);
    if (threadIdx.x == 0)
        *place = atomicAdd(p.turns + sm80_turn_rows<C>(p) * C::WARPS, 1);
    __syncthreads();
    return *place;
}

/* The key-major role: CTA `index` of those that share the key tiles of all units. A plain kernel
 * has a walk of its own for a single tile, which knows more; a general one would spill. */
template <class C>
__device__ __forceinline__ void sm80_key_major_role(const fb_sm80_args &p, char *shared,
                                                    int64_t index)
{
    const bool partials = sm80_adds_by<C>(p, FB_SM80_DQ_PARTIALS);
    if (!C::GENERAL && !partials)
        return sm80_walk<C>(p, sm80_own_key_tile<C>(p, index), shared, 0);
    const int start = partials ? fb_sm80_run_start(&p.shares, (int)index) : 0;
    const int end = partials ? fb_sm80_run_start(&p.shares, (int)index + 1) : 1;
    int done = 0;
    for (int place = start; place < end; place++) {
        if (place > start)
            __syncthreads(); /* dK and dV have left the shared memory of K and V */
        if (done > 0) /* the last step's stage: long free, but each phase is to be waited for */
            mbarrier_wait(shared_address(shared) + C::FREE_AT, (done - 1) & 1);
        const sm80_key_tile w = partials ? sm80_shared_key_tile<C>(p, (int)index, start, place)
                                         : sm80_own_key_tile<C>(p, index);
        sm80_walk<C>(p, w, shared, done);
        done += w.steps;
    }
}

template <class C>
__global__ void __launch_bounds__(C::THREADS, C::CTAS)
    sm80_key_major(const __grid_constant__ fb_sm80_args p)
{
#if __CUDA_ARCH__ >= 800
    extern __shared__ __align__(1024) char shared[];
    if constexpr (C::COMPILED) {
        sm80_barriers_init<C>(shared_address(shared));
        sm80_key_major_role<C>(p, shared, sm80_ticket<C>(p, shared));
    }
#endif
}

} // namespace fb
#endif
