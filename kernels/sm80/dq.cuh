/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dQ by rows of queries on mma.sync, and the split backward: dK, dV and dQ in one launch.
 *
 * The query-major role: a CTA owns M query rows of one head and walks over the key tiles that they
 * see; S, dP and dQ += dS K are three products. A warp owns whole rows (and, at large head sizes,
 * half of the keys), so dS stays in registers, packed, as the first operand of the third product:
 * no barrier stops all warps but the arrival of K and V. Where two warps share rows, their sums are
 * added through shared memory in the end, in a fixed order.
 *
 *     D     M x N    rows x keys a warp   dQ   S+dP   Q+dO   K+V, two stages   KiB
 *     64   128 x 64       16 x 64         32    64     32         32            64
 *     96   128 x 64       16 x 64         48    64     48         48            96
 *     128  128 x 64       16 x 64         64    64     64         64           128
 *     192   64 x 64       16 x 32         96    32     48         96           144
 *     256   64 x 64       16 x 32        128    32     64        128           192
 *   small tiles, one stage (two at D = 64, 96):
 *     64    64 x 64       16 x 64         32    64     16         16            48
 *     96    64 x 64       16 x 64         48    64     24         24            72
 *     128   64 x 64       16 x 64         64    64     32         32            64
 *     192   64 x 64       16 x 32         96    32     48         48            96
 *     256   64 x 32       16 x 32        128    32     64         32            96
 *
 * The split form runs this role beside the key-major one (bwd.cuh without dQ) in one launch:
 * CTAs of the two roles alternate, the longest of each first, so that neither leaves SMs idle at
 * its end. Seven products instead of five; no sum crosses CTAs. Bitwise repeatable. Source of the
 * idea: the two-role launch of FlexAttention's backward.
 */
#ifndef FB_KERNELS_SM80_DQ_CUH
#define FB_KERNELS_SM80_DQ_CUH

#include "kernels/sm80/bwd.cuh"

namespace fb {

template <class TYPE, int DIM, bool GENERAL_, bool SMALL = false>
struct sm80_dq_config {
    using T = TYPE;
    static constexpr bool GENERAL = GENERAL_;
    static constexpr int D = DIM, N = SMALL && D == 256 ? 32 : 64;
    static constexpr int WARPS = sm80_tiles<DIM, SMALL>::WARPS, THREADS = 32 * WARPS;
    static constexpr int W_N = D <= 128 || WARPS == 4 ? 1 : 2, W_M = WARPS / W_N, M = 16 * W_M;
    static constexpr int S_NT = N / W_N / 8, Q_NT = D / 8;
    static constexpr int FULL_AT = 0, FREE_AT = 16, Q_AT = 128, Q_BYTES = M * D * 2;
    static constexpr int DO_AT = Q_AT + Q_BYTES, STAGE_AT = DO_AT + Q_BYTES;
    static constexpr int KV_BYTES = N * D * 2, STAGE_BYTES = 2 * KV_BYTES;
    static constexpr int smem_bytes(int stages)
    {
        return STAGE_AT + stages * STAGE_BYTES;
    }
    static_assert(W_N == 1 || STAGE_BYTES >= M * D * 4, "the sums of half the warps fit a stage");
};

/* The work of a CTA on one query tile. */
struct sm80_query_rows {
    sm80_sequence s;
    int head, kv_head, m, first, steps;
};

template <class C>
__device__ __forceinline__ void sm80_dq_load(const fb_sm80_args &p, const sm80_query_rows &w,
                                             int step, uint32_t smem, int stage)
{
    using T = typename C::T;
    const int row = (w.first + step) * C::N, rows = w.s.nk - row;
    const uint32_t to = smem + C::STAGE_AT + stage * C::STAGE_BYTES;
    sm80_load_tile<C::N, C::D, C::THREADS, C::GENERAL>(
        to, sm80_row<T>(p.k, w.s.q_batch, w.kv_head, w.s.k_row + row), p.k.row, rows, p.columns,
        p.aligned);
    sm80_load_tile<C::N, C::D, C::THREADS, C::GENERAL>(
        to + C::KV_BYTES, sm80_row<T>(p.v, w.s.q_batch, w.kv_head, w.s.k_row + row), p.v.row, rows,
        p.columns_v, p.aligned);
    if (C::GENERAL && !p.aligned)
        mbarrier_arrive(smem + C::FULL_AT + 8 * stage);
    else
        cp_async_arrive(smem + C::FULL_AT + 8 * stage);
}

template <class C>
__device__ __forceinline__ void sm80_dq_load_rows(const fb_sm80_args &p, const sm80_query_rows &w,
                                                  uint32_t smem)
{
    using T = typename C::T;
    const int row = w.m * C::M, rows = w.s.nq - row;
    sm80_load_tile<C::M, C::D, C::THREADS, C::GENERAL>(
        smem + C::Q_AT, sm80_row<T>(p.q, w.s.q_batch, w.head, w.s.q_row + row), p.q.row, rows,
        p.columns, p.aligned);
    sm80_load_tile<C::M, C::D, C::THREADS, C::GENERAL>(
        smem + C::DO_AT, sm80_row<T>(p.dout, w.s.q_batch, w.head, w.s.q_row + row), p.dout.row,
        rows, p.columns_v, p.aligned);
}

/* dQ += dS K with dS in registers. */
template <class C>
__device__ __forceinline__ void sm80_dq_product(float (&dq)[1][C::Q_NT][4],
                                                const float (&ds)[1][C::S_NT][4],
                                                const operand_mn<C::D, 16> &k)
{
    using T = typename C::T;
#pragma unroll
    for (int step = 0; step < C::S_NT / 2; step++) {
        uint32_t a[4], b[4];
#pragma unroll
        for (int x = 0; x < 4; x++)
            a[x] = elem<T>::pack(ds[0][2 * step + x / 2][x % 2 * 2],
                                 ds[0][2 * step + x / 2][x % 2 * 2 + 1]);
#pragma unroll
        for (int j = 0; j < C::Q_NT / 2; j++) {
            k.load(b, j, step);
            mma_m16n8k16<T>(dq[0][2 * j], a, b[0], b[1]);
            mma_m16n8k16<T>(dq[0][2 * j + 1], a, b[2], b[3]);
        }
    }
}

/* One key tile: S, dP, dS, and the product above. (q, key) is the warp's first entry. */
template <class C>
__device__ __forceinline__ void sm80_dq_step(const fb_sm80_args &p, const sm80_query_rows &w,
                                             uint32_t smem, uint32_t stage, int q, int key,
                                             const float (&lse2)[1][2], const float (&delta)[1][2],
                                             float (&dq)[1][C::Q_NT][4])
{
    using T = typename C::T;
    const int row = q - w.m * C::M, half = threadIdx.x / 32 / C::W_M * (C::N / C::W_N);
    const operand_k<C::D, 16> rows = {lane_rows_first<C::D>(smem + C::Q_AT, row, 0)};
    const operand_k<C::D, 16> dout = {lane_rows_first<C::D>(smem + C::DO_AT, row, 0)};
    const operand_k<C::D, 16> k = {lane_chunks_first<C::D>(stage, half, 0)};
    const operand_k<C::D, 16> v = {lane_chunks_first<C::D>(stage + C::KV_BYTES, half, 0)};
    const operand_mn<C::D, 16> kt = {lane_rows_first<C::D>(stage, half, 0)};
    float s[1][C::S_NT][4], dp[1][C::S_NT][4];
    acc_clear(s);
    acc_clear(dp);
    warp_product<T, C::D / 16>(s, rows, k);
    if constexpr (C::GENERAL) {
        warp_product<T, C::D / 16>(dp, dout, v);
        sm80_general<16, 16>(p, sm80_terms_find(p, w.s.batch, w.head), w.s, s, dp, lse2, delta, q,
                             key);
    } else {
        sm80_exponentials(s, p.scale * log2_e, lse2);
        warp_product<T, C::D / 16>(dp, dout, v);
        if (!sm80_all_visible(w.s, q, key, 16, C::N / C::W_N))
            sm80_mask<16, 16>(s, w.s, q, key);
        sm80_gradients(s, dp, delta);
    }
    sm80_dq_product<C>(dq, dp, kt);
    if constexpr (C::GENERAL)
        sm80_round(dq, p.round_dq);
}

/* Adds the sums of the warps of the second half of the keys to those of the first. */
template <class C>
__device__ __forceinline__ void sm80_dq_join(char *shared, float (&dq)[1][C::Q_NT][4])
{
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    float4 *at = (float4 *)(shared + C::STAGE_AT) + warp % C::W_M * C::Q_NT * 32 + lane;
    __syncthreads(); /* nobody reads K and V any more */
    if (warp >= C::W_M)
#pragma unroll
        for (int c = 0; c < C::Q_NT; c++)
            at[32 * c] = make_float4(dq[0][c][0], dq[0][c][1], dq[0][c][2], dq[0][c][3]);
    __syncthreads();
    if (warp < C::W_M)
#pragma unroll
        for (int c = 0; c < C::Q_NT; c++) {
            const float4 x = at[32 * c];
            dq[0][c][0] += x.x, dq[0][c][1] += x.y, dq[0][c][2] += x.z, dq[0][c][3] += x.w;
        }
}

template <class C>
__device__ __forceinline__ void sm80_dq_write(const fb_sm80_args &p, const sm80_query_rows &w,
                                              char *shared, const float (&dq)[1][C::Q_NT][4])
{
    using T = typename C::T;
    const int warp = threadIdx.x / 32, row = w.m * C::M;
    __syncthreads(); /* nobody reads Q any more */
    if (warp < C::W_M)
        acc_store<T, C::D, 16, 16>(
            lane_rows_first<C::D>(shared_address(shared) + C::Q_AT, 16 * warp, 0), dq, p.scale);
    __syncthreads();
    sm80_store_tile<C::M, C::D, C::THREADS, C::GENERAL>(
        shared + C::Q_AT, sm80_row<T>(p.dq, w.s.q_batch, w.head, w.s.q_row + row), p.dq.row,
        w.s.nq - row, p.columns, p.aligned);
}

template <class C>
__device__ __forceinline__ void sm80_query_major_role(const fb_sm80_args &p, char *shared, int unit,
                                                      int head_in_group, int m, int stat_rows)
{
    const uint32_t smem = shared_address(shared), stages = smem + C::STAGE_AT;
    const int mask = p.stages - 1, warp = threadIdx.x / 32, warp_row = warp % C::W_M * 16;
    const int half = warp / C::W_M * (C::N / C::W_N);
    sm80_query_rows w;
    w.s = sm80_sequence_find(p, unit / p.kv_heads);
    w.kv_head = unit % p.kv_heads;
    w.head = w.kv_head * (p.heads / p.kv_heads) + head_in_group;
    w.m = m;
    w.first = sm80_first_key_tile(w.s, m, C::M, C::N);
    w.steps = max(0, sm80_last_key_tile(w.s, m, C::M, C::N) - w.first + 1);
    if (m * C::M >= w.s.nq)
        return;
    float dq[1][C::Q_NT][4], lse2[1][2], delta[1][2];
    acc_clear(dq);
#pragma unroll
    for (int i = 0; i < 2; i++) {
        const int row = m * C::M + warp_row + acc_row(0, 2 * i, 16);
        const int64_t at = ((int64_t)w.s.batch * p.heads + w.head) * stat_rows + row;
        lse2[0][i] = row < w.s.nq ? p.lse2[at] : INFINITY;
        delta[0][i] = row < w.s.nq ? p.delta[at] : 0;
    }
    if (w.steps > 0) {
        sm80_dq_load_rows<C>(p, w, smem);
        sm80_dq_load<C>(p, w, 0, smem, 0);
    }
    for (int i = 0; i < w.steps; i++) {
        if (i > 0 && !mask) {
            mbarrier_wait(smem + C::FREE_AT, (i - 1) & 1);
            sm80_dq_load<C>(p, w, i, smem, 0);
        }
        if (mask && i > 0)
            mbarrier_wait(smem + C::FREE_AT, (i - 1) & 1);
        if (mask && i + 1 < w.steps)
            sm80_dq_load<C>(p, w, i + 1, smem, (i + 1) & 1);
        mbarrier_wait(smem + C::FULL_AT + 8 * (i & mask), i >> mask & 1);
        sm80_dq_step<C>(p, w, smem, stages + (i & mask) * C::STAGE_BYTES, m * C::M + warp_row,
                        (w.first + i) * C::N + half, lse2, delta, dq);
        mbarrier_arrive_warp(smem + C::FREE_AT);
    }
    if (C::W_N > 1)
        sm80_dq_join<C>(shared, dq);
    sm80_dq_write<C>(p, w, shared, dq);
}

/* Both roles. Of a unit's CTAs, even ones take key tiles and odd ones query tiles while there are
 * both; then come those left over. */
template <class C, class Q>
__device__ __forceinline__ void sm80_split_role(const fb_sm80_args &p, char *shared)
{
    const int group = p.heads / p.kv_heads, tiles_m = (p.nq + Q::M - 1) / Q::M;
    const int keys = (p.nk + C::N - 1) / C::N, queries = tiles_m * group;
    const int pairs = min(keys, queries);
    int unit, place;
    sm80_place(p.batch * p.kv_heads, p.section, blockIdx.x, keys + queries, &unit, &place);
    const bool paired = place < 2 * pairs;
    const int index = paired ? place / 2 : place - pairs;
    sm80_barriers_init<C>(shared_address(shared));
    if (paired ? place % 2 == 0 : keys > queries) {
        const sm80_key_tile w = sm80_key_tile_find<C>(p, unit, index);
        sm80_walk<C>(p, w, shared, 0);
    } else {
        sm80_query_major_role<Q>(p, shared, unit, index % group, tiles_m - 1 - index / group,
                                 (p.nq + C::M - 1) / C::M * C::M);
    }
}

template <class C, class Q>
__global__ void __launch_bounds__(C::THREADS, 1) sm80_split(const __grid_constant__ fb_sm80_args p)
{
#if __CUDA_ARCH__ >= 800
    extern __shared__ __align__(1024) char shared[];
    if constexpr (C::COMPILED)
        sm80_split_role<C, Q>(p, shared);
#endif
}

} // namespace fb
#endif
