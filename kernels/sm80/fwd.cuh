/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The attention forward on mma.sync: FlashAttention-2's. A CTA owns M query rows of one head, walks
 * over the key tiles that they see with a running maximum and sum, and writes o and lse.
 *
 * A warp owns whole rows, so the softmax needs no more than shuffles among four lanes, and P stays
 * in registers: the accumulators of S, packed, are the first operand of P V. Q, one K and one V
 * tile lie in shared memory; V arrives under S and the softmax, the next K under P V. Two barriers
 * a tile; the other CTA of the SM works meanwhile. At D <= 64 there is room for two K and V tiles:
 * both arrive a tile ahead, one barrier a tile, and three CTAs share an SM. o is scaled to a new
 * maximum only where that has grown much.
 *
 *     D     M x N    warps   rows a warp   O     S    Q+K+V, KiB
 *     64   128 x 64    4         32        64    64    48
 *     96   128 x 64    4         32        96    64    48
 *     128  128 x 64    4         32       128    64    64
 *     192  128 x 64    8         16        96    32    96
 *     256   64 x 64    4         16       128    32    96
 *
 * Deterministic: one CTA a row, one order.
 */
#ifndef FB_KERNELS_SM80_FWD_CUH
#define FB_KERNELS_SM80_FWD_CUH

#include "kernels/sm80/load.cuh"
#include "kernels/sm80/score.cuh"

namespace fb {

template <class TYPE, int DIM, bool GENERAL_>
struct sm80_fwd_config {
    using T = TYPE;
    static constexpr bool GENERAL = GENERAL_;
    static constexpr int D = DIM, M = D == 256 ? 64 : 128, N = 64;
    static constexpr int WARPS = D == 192 ? 8 : 4, THREADS = 32 * WARPS;
    static constexpr int MT = M / WARPS / 16, S_NT = N / 8, O_NT = D / 8;
    /* CTAs an SM, by registers; tiles of K and V at once. */
    static constexpr int CTAS = D == 192 ? 1 : D <= 64 && !GENERAL ? 3 : 2;
    static constexpr int STAGES = D <= 64 ? 2 : 1;
    static constexpr int KV_BYTES = N * D * 2, K_AT = M * D * 2;
    static constexpr int SMEM = K_AT + STAGES * 2 * KV_BYTES;
};

/* Running maximum (of scores to base 2) and sum of a warp's rows. */
template <class C>
struct sm80_softmax {
    float max[C::MT][2], sum[C::MT][2];
};

__device__ __forceinline__ float sm80_four_lanes_max(float x)
{
    x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 1));
    return fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 2));
}

__device__ __forceinline__ float sm80_four_lanes_sum(float x)
{
    x += __shfl_xor_sync(0xffffffffu, x, 1);
    return x + __shfl_xor_sync(0xffffffffu, x, 2);
}

/* Scores to scores to base 2, with every term, minus infinity where not seen. */
template <class C>
__device__ __forceinline__ void sm80_fwd_terms(const sm80_terms &t, const sm80_sequence &seq,
                                               float (&s)[C::MT][C::S_NT][4], int q, int k)
{
#pragma unroll
    for (int i = 0; i < C::MT; i++)
#pragma unroll
        for (int j = 0; j < C::S_NT; j++)
#pragma unroll
            for (int x = 0; x < 4; x++) {
                const int row = q + acc_row(i, x, 16), column = k + acc_column(j, x, 16);
                float g;
                if (C::GENERAL)
                    s[i][j][x] = sm80_score(t, seq, s[i][j][x], row, column, &g) * log2_e;
                if (!sm80_visible(seq, row, column))
                    s[i][j][x] = -INFINITY;
            }
}

/* Raises the running maximum to that of a tile of scores, and scales sums and o down to it, of rows
 * that rise by more than 2^8: p against an older maximum is as exact, and fits 16 bits. Each row by
 * itself, so that its bits do not depend on what its neighbours see; a warp without such a row
 * leaves at once. */
template <class C>
__device__ __forceinline__ void sm80_fwd_raise(sm80_softmax<C> &r,
                                               const float (&s)[C::MT][C::S_NT][4],
                                               float (&o)[C::MT][C::O_NT][4], float scale)
{
    float top[C::MT][2];
    bool rises = false;
#pragma unroll
    for (int i = 0; i < 2 * C::MT; i++) {
        float x = -INFINITY;
#pragma unroll
        for (int j = 0; j < C::S_NT; j++)
            x = fmaxf(x, fmaxf(s[i / 2][j][i % 2 * 2], s[i / 2][j][i % 2 * 2 + 1]));
        top[i / 2][i % 2] = sm80_four_lanes_max(x) * scale;
        rises |= top[i / 2][i % 2] > r.max[i / 2][i % 2] + 8;
    }
    if (!__any_sync(0xffffffffu, rises))
        return;
#pragma unroll
    for (int i = 0; i < C::MT; i++)
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const float before = r.max[i][half];
            const float after = top[i][half] > before + 8 ? top[i][half] : before;
            const float shrink = after == before ? 1 : exp2_approx(before - after);
            r.max[i][half] = after;
            r.sum[i][half] *= shrink;
#pragma unroll
            for (int j = 0; j < C::O_NT; j++)
                o[i][j][2 * half] *= shrink, o[i][j][2 * half + 1] *= shrink;
        }
}

/* Takes one tile of scores into the running softmax: s becomes p against the running maximum.
 * `scale` turns scores into scores to base 2. */
template <class C>
__device__ __forceinline__ void sm80_fwd_softmax(sm80_softmax<C> &r, float (&s)[C::MT][C::S_NT][4],
                                                 float (&o)[C::MT][C::O_NT][4], float scale)
{
    sm80_fwd_raise<C>(r, s, o, scale);
#pragma unroll
    for (int i = 0; i < C::MT; i++)
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const float base = r.max[i][half] == -INFINITY ? 0 : r.max[i][half]; /* nothing seen */
            float sum = 0;
#pragma unroll
            for (int j = 0; j < C::S_NT; j++)
#pragma unroll
                for (int x = 2 * half; x < 2 * half + 2; x++) {
                    s[i][j][x] = exp2_approx(fmaf(s[i][j][x], scale, -base));
                    sum += s[i][j][x];
                }
            r.sum[i][half] += sum;
        }
}

template <class C>
__device__ __forceinline__ void sm80_fwd_drop(const fb_sm80_args &p, const sm80_terms &t,
                                              float (&s)[C::MT][C::S_NT][4], int q, int k)
{
#pragma unroll
    for (int i = 0; i < C::MT; i++)
#pragma unroll
        for (int j = 0; j < C::S_NT; j++)
#pragma unroll
            for (int x = 0; x < 4; x++)
                s[i][j][x] *= sm80_keep(p, t, q + acc_row(i, x, 16), k + acc_column(j, x, 16));
}

/* o += p v, p from registers. */
template <class C>
__device__ __forceinline__ void sm80_fwd_values(float (&o)[C::MT][C::O_NT][4],
                                                const float (&s)[C::MT][C::S_NT][4], uint32_t v_at)
{
    using T = typename C::T;
    const operand_mn<C::D, 16> v = {lane_rows_first<C::D>(v_at, 0, 0)};
#pragma unroll
    for (int k = 0; k < C::N / 16; k++) {
        uint32_t a[C::MT][4], b[4];
#pragma unroll
        for (int i = 0; i < C::MT; i++)
#pragma unroll
            for (int x = 0; x < 4; x++)
                a[i][x] = elem<T>::pack(s[i][2 * k + x / 2][x % 2 * 2],
                                        s[i][2 * k + x / 2][x % 2 * 2 + 1]);
#pragma unroll
        for (int j = 0; j < C::O_NT / 2; j++) {
            v.load(b, j, k);
#pragma unroll
            for (int i = 0; i < C::MT; i++) {
                mma_m16n8k16<T>(o[i][2 * j], a[i], b[0], b[1]);
                mma_m16n8k16<T>(o[i][2 * j + 1], a[i], b[2], b[3]);
            }
        }
    }
}

/* The sums are whole: takes in the sink, writes lse, leaves the factors of o in r.sum. */
template <class C>
__device__ __forceinline__ void sm80_fwd_finish(const fb_sm80_args &p, const sm80_sequence &seq,
                                                int head, int row, sm80_softmax<C> &r)
{
#pragma unroll
    for (int i = 0; i < C::MT; i++)
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const int at = row + acc_row(i, 2 * half, 16);
            const float seen = sm80_four_lanes_sum(r.sum[i][half]); /* 0: no key, sink or not */
            float top = r.max[i][half], sum = seen, shrink = 1;
            if (C::GENERAL && p.sink) {
                const float sink = p.sink[head] * log2_e, higher = fmaxf(top, sink);
                shrink = exp2_approx(top - higher);
                sum = sum * shrink + exp2_approx(sink - higher);
                top = higher;
            }
            if (threadIdx.x % 4 == 0 && at < seq.nq)
                p.lse.data[seq.q_batch * p.lse.batch + head * p.lse.head +
                           (seq.q_row + at) * p.lse.row] =
                    seen == 0 ? -INFINITY : (top + log2f(sum)) * 0.69314718055994531f;
            r.sum[i][half] = seen == 0 ? 0 : shrink / sum;
        }
}

template <class C>
__device__ __forceinline__ void
sm80_fwd_write(const fb_sm80_args &p, const sm80_sequence &seq, int head, int row, char *shared,
               float (&o)[C::MT][C::O_NT][4], const sm80_softmax<C> &r)
{
    using T = typename C::T;
    const int mine = threadIdx.x / 32 * C::MT * 16;
    const uint32_t smem = (uint32_t)__cvta_generic_to_shared(shared);
#pragma unroll
    for (int i = 0; i < C::MT; i++)
#pragma unroll
        for (int j = 0; j < C::O_NT; j++)
#pragma unroll
            for (int x = 0; x < 4; x++)
                o[i][j][x] *= r.sum[i][x / 2];
    acc_store<T, C::D, 16, 16>(lane_rows_first<C::D>(smem, mine, 0), o, 1);
    __syncthreads();
    sm80_store_tile<C::M, C::D, C::THREADS, C::GENERAL>(
        shared, sm80_row<T>(p.o, seq.q_batch, head, seq.q_row + row), p.o.row, seq.nq - row,
        p.columns_v, p.aligned);
}

/* Where K of key tile n lies, V behind it. */
template <class C>
__device__ __forceinline__ uint32_t sm80_fwd_stage(uint32_t smem, int n)
{
    return smem + C::K_AT + n % C::STAGES * (2 * C::KV_BYTES);
}

/* One tile of K or V; `aligned` copies are one group, others are there at once. */
template <class C>
__device__ __forceinline__ void sm80_fwd_load(const fb_sm80_args &p, const fb_sm80_tensor &t,
                                              const sm80_sequence &seq, int head, int n,
                                              int columns, uint32_t to)
{
    using T = typename C::T;
    const int row = n * C::N;
    sm80_load_tile<C::N, C::D, C::THREADS, C::GENERAL>(
        to, sm80_row<T>(t, seq.q_batch, head, seq.k_row + row), t.row, seq.nk - row, columns,
        p.aligned);
    cp_async_commit();
}

template <class C>
__global__ void __launch_bounds__(C::THREADS, C::CTAS)
    sm80_fwd(const __grid_constant__ fb_sm80_args p)
{
#if __CUDA_ARCH__ >= 800
    using T = typename C::T;
    extern __shared__ __align__(1024) char shared[];
    const uint32_t smem = (uint32_t)__cvta_generic_to_shared(shared);
    const int tiles_m = (p.nq + C::M - 1) / C::M, mine = threadIdx.x / 32 * C::MT * 16;
    int unit, place;
    sm80_place(p.batch * p.heads, p.section, blockIdx.x, tiles_m, &unit, &place);
    const int head = unit % p.heads, kv_head = head / (p.heads / p.kv_heads);
    const int m = tiles_m - 1 - place, row = m * C::M; /* causal: longest first */
    const sm80_sequence seq = sm80_sequence_find(p, unit / p.heads);
    const sm80_terms terms = sm80_terms_find(p, seq.batch, head);
    if (row >= seq.nq)
        return;
    const int first = sm80_first_key_tile(seq, m, C::M, C::N);
    const int last = sm80_last_key_tile(seq, m, C::M, C::N);
    const operand_k<C::D, 16> q = {lane_rows_first<C::D>(smem, mine, 0)};
    float o[C::MT][C::O_NT][4];
    sm80_softmax<C> r;
    acc_clear(o);
#pragma unroll
    for (int i = 0; i < 2 * C::MT; i++)
        r.max[i / 2][i % 2] = -INFINITY, r.sum[i / 2][i % 2] = 0;

    sm80_load_tile<C::M, C::D, C::THREADS, C::GENERAL>(
        smem, sm80_row<T>(p.q, seq.q_batch, head, seq.q_row + row), p.q.row, seq.nq - row,
        p.columns, p.aligned);
    cp_async_commit(); /* waited for without a key tile, too: o leaves through the place of Q */
    if (first <= last)
        sm80_fwd_load<C>(p, p.k, seq, kv_head, first, p.columns, sm80_fwd_stage<C>(smem, first));
    if (first <= last && C::STAGES > 1)
        sm80_fwd_load<C>(p, p.v, seq, kv_head, first, p.columns_v,
                         sm80_fwd_stage<C>(smem, first) + C::KV_BYTES);
    for (int n = first; n <= last; n++) {
        const uint32_t stage = sm80_fwd_stage<C>(smem, n), next = sm80_fwd_stage<C>(smem, n + 1);
        const operand_k<C::D, 16> k = {lane_chunks_first<C::D>(stage, 0, 0)};
        float s[C::MT][C::S_NT][4];
        cp_async_wait<0>();
        __syncthreads(); /* Q and K are there, V too with two stages; the last V has been read */
        if (C::STAGES == 1) {
            sm80_fwd_load<C>(p, p.v, seq, kv_head, n, p.columns_v, stage + C::KV_BYTES);
        } else if (n < last) {
            sm80_fwd_load<C>(p, p.k, seq, kv_head, n + 1, p.columns, next);
            sm80_fwd_load<C>(p, p.v, seq, kv_head, n + 1, p.columns_v, next + C::KV_BYTES);
        }
        acc_clear(s);
        warp_product<T, C::D / 16>(s, q, k);
        if (C::GENERAL || !sm80_all_visible(seq, row, n * C::N, C::M, C::N))
            sm80_fwd_terms<C>(terms, seq, s, row + mine, n * C::N);
        sm80_fwd_softmax<C>(r, s, o, C::GENERAL ? 1 : p.scale * log2_e);
        if (C::GENERAL && p.keep_scale != 0)
            sm80_fwd_drop<C>(p, terms, s, row + mine, n * C::N);
        if (C::STAGES == 1) {
            cp_async_wait<0>();
            __syncthreads(); /* V is there; K has been read */
            if (n < last)
                sm80_fwd_load<C>(p, p.k, seq, kv_head, n + 1, p.columns, next);
        }
        sm80_fwd_values<C>(o, s, stage + C::KV_BYTES);
    }
    cp_async_wait<0>();
    sm80_fwd_finish<C>(p, seq, head, row + mine, r);
    __syncthreads(); /* Q has been read: o leaves through its place */
    sm80_fwd_write<C>(p, seq, head, row, shared, o, r);
#endif
}

} // namespace fb
#endif
