/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The small passes around the mma.sync backward.
 *
 * Pre-pass, one CTA a query tile, head and batch entry: delta = rowsum(dO o O) - dlse and LSE times
 * log2 e, both padded to whole tiles so that a tile's part is one aligned copy; a zeroed dQ block
 * where additions have no order, zeroed turns where they have. Rows behind the last get LSE = +inf
 * and delta = 0, hence p = 0 and ds = 0, and so does a row that sees no key (its LSE is -inf).
 *
 * Post-pass, the same CTAs: the sum of a unit's copies of dQ in their order, scaled, converted,
 * turned through shared memory into rows. A copy is read only where it was written: where one of
 * its key tiles visits the query tile.
 *
 * Sink pass, one CTA a head: dsink = -sum p(sink) delta, in a fixed order.
 *
 * All memory bound, parallel and deterministic.
 */
#ifndef FB_KERNELS_SM80_PREPOST_CUH
#define FB_KERNELS_SM80_PREPOST_CUH

#include "kernels/sm80/config.cuh"
#include "kernels/sm80/key_tile.cuh"
#include "kernels/sm80/load.cuh"
#include "kernels/sm80/score.cuh"

namespace fb {

/* A CTA's query tile. */
struct sm80_query_tile {
    sm80_sequence s;
    int head, m, tiles_m;
    int64_t block;
};

__device__ __forceinline__ sm80_query_tile sm80_query_tile_find(const fb_sm80_args &p, int bm)
{
    sm80_query_tile t;
    t.tiles_m = (p.nq + bm - 1) / bm;
    t.block = blockIdx.x;
    t.m = (int)(t.block % t.tiles_m);
    t.head = (int)(t.block / t.tiles_m % p.heads);
    t.s = sm80_sequence_find(p, (int)(t.block / t.tiles_m / p.heads));
    return t;
}

/* The products of up to 8 pairs of neighbours. */
template <class T>
__device__ __forceinline__ float sm80_dot8(const char *x, const char *y, int columns, bool aligned)
{
    float sum = 0;
    if (aligned) {
        const uint4 a4 = *(const uint4 *)x, b4 = *(const uint4 *)y;
        const uint32_t a[4] = {a4.x, a4.y, a4.z, a4.w}, b[4] = {b4.x, b4.y, b4.z, b4.w};
#pragma unroll
        for (int i = 0; i < 4; i++) {
            sum = fmaf(elem<T>::lo(a[i]), elem<T>::lo(b[i]), sum);
            sum = fmaf(elem<T>::hi(a[i]), elem<T>::hi(b[i]), sum);
        }
        return sum;
    }
    for (int i = 0; i < min(8, columns); i++)
        sum = fmaf((float)((const T *)x)[i], (float)((const T *)y)[i], sum);
    return sum;
}

__device__ __forceinline__ float sm80_bf16(float x, int round)
{
    return round ? __bfloat162float(__float2bfloat16_rn(x)) : x;
}

template <class C>
__device__ __forceinline__ void sm80_clear_dq(const fb_sm80_args &p, int64_t block)
{
    const int bytes = p.round_dq == FB_SM80_FP32 ? 4 : 2;
    uint4 *at = (uint4 *)((char *)p.dq_sum + block * (C::M * C::D) * bytes);
    for (int i = threadIdx.x; i < C::M * C::D / 16 * bytes; i += blockDim.x)
        at[i] = make_uint4(0, 0, 0, 0);
}

template <class C>
__global__ void __launch_bounds__(256) sm80_pre(const __grid_constant__ fb_sm80_args p)
{
    using T = typename C::T;
    constexpr int LANES = C::D <= 64 ? 8 : C::D <= 128 ? 16 : 32, ROWS = 256 / LANES;
    const sm80_query_tile t = sm80_query_tile_find(p, C::M);
    const int lane = threadIdx.x % LANES, columns = p.columns_v - 8 * lane;
    const char *o = sm80_row<T>(p.o, t.s.q_batch, t.head, t.s.q_row) + 16 * lane;
    const char *g = sm80_row<T>(p.dout, t.s.q_batch, t.head, t.s.q_row) + 16 * lane;
    const float *lse = p.lse.data + t.s.q_batch * p.lse.batch + t.head * p.lse.head;
    const float *dlse = p.dlse.data + t.s.q_batch * p.dlse.batch + t.head * p.dlse.head;
    float sum[C::M / ROWS];
#pragma unroll
    for (int i = 0; i < C::M / ROWS; i++) {
        const int64_t row = t.m * C::M + i * ROWS + threadIdx.x / LANES;
        sum[i] =
            row < t.s.nq && columns > 0
                ? sm80_dot8<T>(o + 2 * row * p.o.row, g + 2 * row * p.dout.row, columns, p.aligned)
                : 0;
    }
    if (p.dq_sum && p.dq_policy == FB_SM80_DQ_ATOMIC)
        sm80_clear_dq<C>(p, t.block);
    if (sm80_takes_turns<C>(p)) /* the words, and the ticket behind them */
        for (int64_t i = t.block * 256 + threadIdx.x; i <= sm80_turn_rows<C>(p) * C::WARPS;
             i += (int64_t)gridDim.x * 256)
            p.turns[i] = 0;
#pragma unroll
    for (int i = 0; i < C::M / ROWS; i++) {
        const int in_tile = i * ROWS + threadIdx.x / LANES, row = t.m * C::M + in_tile;
        const int64_t from = t.s.q_row + row, to = t.block * C::M + in_tile;
#pragma unroll
        for (int step = LANES / 2; step > 0; step /= 2)
            sum[i] += __shfl_xor_sync(0xffffffffu, sum[i], step);
        if (lane != 0)
            continue;
        const float l = row < t.s.nq ? lse[from * p.lse.row] : INFINITY;
        if (p.dlse.data && row < t.s.nq)
            sum[i] -= dlse[from * p.dlse.row];
        p.delta[to] = sm80_bf16(sum[i], p.delta_bf16);
        p.lse2[to] = isinf(l) ? INFINITY : sm80_bf16(l, p.lse_bf16) * log2_e;
    }
}

/* This lane's part of one block, as loads that nothing stands between: their number under way at
 * once is what the pass runs by. Sums of 16 bits arrive in the low half of `x`. */
template <class C>
__device__ __forceinline__ void sm80_post_load(const fb_sm80_args &p, int64_t block, int part,
                                               float4 (&x)[C::Q_MT * C::Q_NT])
{
    constexpr int MINE = C::Q_MT * C::Q_NT, COUNT = MINE * C::Q_PARTS;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (p.round_dq == FB_SM80_FP32) {
#pragma unroll
        for (int c = 0; c < MINE; c++)
            x[c] = sm80_dq_get4((const float *)p.dq_sum + block * (C::M * C::D), warp, lane,
                                part * MINE + c, COUNT);
        return;
    }
#pragma unroll
    for (int c = 0; c < MINE; c++) {
        const uint2 y = *((const uint2 *)p.dq_sum + block * (C::M * C::D / 4) +
                          (warp * COUNT + part * MINE + c) * 32 + lane);
        const bool bf16 = p.round_dq == FB_SM80_BF16;
        x[c].x = bf16 ? elem<__nv_bfloat16>::lo(y.x) : elem<__half>::lo(y.x);
        x[c].y = bf16 ? elem<__nv_bfloat16>::hi(y.x) : elem<__half>::hi(y.x);
        x[c].z = bf16 ? elem<__nv_bfloat16>::lo(y.y) : elem<__half>::lo(y.y);
        x[c].w = bf16 ? elem<__nv_bfloat16>::hi(y.y) : elem<__half>::hi(y.y);
    }
}

/* Adds this lane's part of one block to acc. */
template <class C>
__device__ __forceinline__ void sm80_post_read(const fb_sm80_args &p, int64_t block, int part,
                                               float (&acc)[C::Q_MT][C::Q_NT][4])
{
    float4 y[C::Q_MT * C::Q_NT];
    sm80_post_load<C>(p, block, part, y);
#pragma unroll
    for (int c = 0; c < C::Q_MT * C::Q_NT; c++) {
        float(&x)[4] = acc[c / C::Q_NT][c % C::Q_NT];
        x[0] += y[c].x, x[1] += y[c].y, x[2] += y[c].z, x[3] += y[c].w;
    }
}

/* The same of all copies of its unit that hold the block. */
template <class C>
__device__ __forceinline__ void sm80_post_copies(const fb_sm80_args &p, const sm80_query_tile &t,
                                                 int first, int last, int part,
                                                 float (&acc)[C::Q_MT][C::Q_NT][4])
{
    const fb_sm80_shares &s = p.shares;
    const int group = p.heads / p.kv_heads, unit = t.s.batch * p.kv_heads + t.head / group;
    const int tiles_m = (p.nq + C::M - 1) / C::M;
    int cta = fb_sm80_run_of(&s, unit * s.tiles), start = fb_sm80_run_start(&s, cta);
    for (; start < (unit + 1) * s.tiles; cta++) {
        const int end = fb_sm80_run_start(&s, cta + 1);
        const fb_sm80_part its = fb_sm80_part_of(&s, unit, start, end);
        const int64_t head = (int64_t)fb_sm80_copy_of(&s, cta, unit) * group + t.head % group;
        if (fb_sm80_part_visits(&s, &its, first, last))
            sm80_post_read<C>(p, head * tiles_m + t.m, part, acc);
        start = end;
    }
}

/* One part of a block's sum. */
template <class C>
__device__ __forceinline__ void sm80_post_sum(const fb_sm80_args &p, const sm80_query_tile &t,
                                              int part, float (&acc)[C::Q_MT][C::Q_NT][4])
{
    const int first = sm80_first_key_tile(t.s, t.m, C::M, C::N);
    const int last = sm80_last_key_tile(t.s, t.m, C::M, C::N);
    acc_clear(acc);
    if (p.dq_policy == FB_SM80_DQ_ATOMIC || (p.dq_policy == FB_SM80_DQ_ORDERED && first <= last))
        sm80_post_read<C>(p, t.block, part, acc);
    if (p.dq_policy == FB_SM80_DQ_PARTIALS && first <= last)
        sm80_post_copies<C>(p, t, first, last, part, acc);
}

template <class C>
__global__ void __launch_bounds__(C::THREADS, 2) sm80_post(const __grid_constant__ fb_sm80_args p)
{
#if __CUDA_ARCH__ >= 800
    using T = typename C::T;
    __shared__ __align__(128) char shared[C::Q_BYTES];
    const sm80_query_tile t = sm80_query_tile_find(p, C::M);
    const int warp = threadIdx.x / 32, wm = warp % C::Q_M, wd = warp / C::Q_M;
    const int row = t.m * C::M, rows = t.s.nq - row;
    const uint32_t at = lane_rows_first<C::D>((uint32_t)__cvta_generic_to_shared(shared),
                                              wm * C::Q_MT * 16, 2 * wd);
    if (rows <= 0)
        return;
#pragma unroll
    for (int part = 0; part < C::Q_PARTS; part++) {
        float acc[C::Q_MT][C::Q_NT][4];
        sm80_post_sum<C>(p, t, part, acc);
        acc_store<T, C::D, 16, 16 * C::Q_D>(
            smem_tile<C::D>::right(at, part * (C::D / C::Q_PARTS / 8)), acc, p.scale);
    }
    __syncthreads();
    sm80_store_tile<C::M, C::D, C::THREADS, true>(
        shared, sm80_row<T>(p.dq, t.s.q_batch, t.head, t.s.q_row + row), p.dq.row, rows, p.columns,
        p.aligned);
#endif
}

/* Rows of tiles of `bm` queries; one CTA a head. */
static __global__ void __launch_bounds__(256)
    sm80_sink(const __grid_constant__ fb_sm80_args p, int bm)
{
    __shared__ float part[256];
    const int head = blockIdx.x, t = threadIdx.x;
    const int64_t rows = (int64_t)((p.nq + bm - 1) / bm) * bm;
    float sum = 0;
    for (int batch = 0; batch < p.batch; batch++)
        for (int64_t row = t; row < rows; row += 256) {
            const int64_t at = ((int64_t)batch * p.heads + head) * rows + row;
            sum -= exp2f(p.sink[head] * log2_e - p.lse2[at]) * p.delta[at];
        }
    part[t] = sum;
    for (int step = 128; step > 0; step /= 2) {
        __syncthreads();
        if (t < step)
            part[t] += part[t + step];
    }
    if (t == 0)
        p.dsink[head] = part[0];
}

} // namespace fb
#endif
