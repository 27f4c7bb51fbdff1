/* SPDX-License-Identifier: BSD-3-Clause
 *
 * forward.cuh: the forward in plain fp32 CUDA: a block owns a query tile and walks its keys
 * with a running maximum, so that no row of scores is ever kept.
 *
 * Threads that share a row of scores sit in two warps (8 columns each); the maximum of a tile's row
 * is found in each warp by shuffles and exchanged through shared memory. The sum is not: every
 * thread adds up its own columns, rescaled as the maximum grows, and they are put together once, at
 * the end. It is of p before any rounding.
 *
 * Shared memory (floats): q, k, v R x (D + 4) each, p R x (16 S + 16), 2 R for the exchange: less
 * than the backward's. Registers: o T x W, s T x T, maximum and sum T each.
 *
 * v of a step is copied while its scores are worked out, k of the next while p v is.
 *
 * Barriers: (1) k is whole; v, p and the maxima of the last step are read, (2) the maxima of both
 * warps are there, k is read, (3) v and p are whole.
 * Determinism: yes. Source: Dao, FlashAttention-2 (2023), algorithm 1.
 */
#ifndef FB_KERNELS_SIMT_FORWARD_CUH
#define FB_KERNELS_SIMT_FORWARD_CUH

#include "kernels/simt/backward.cuh"

namespace fb {

template <int D, int R>
struct simt_forward_shared {
    using shape = simt_shape<D, R>;
    float q[shape::tile], k[shape::tile], v[shape::tile];
    float p[shape::scores];
    float exchange[2][R];
};

/* What a thread knows of its rows: maximum (in powers of two) and its own share of the sum. */
template <int R>
struct simt_softmax {
    float top[R / 16], sum[R / 16];
};

/* The larger, or the sum, of the 8 lanes that share a row in this warp: simt_place, bits 1 to 3. */
__device__ __forceinline__ float simt_max_of_8(float x)
{
    for (int step = 8; step > 1; step /= 2)
        x = fmaxf(x, __shfl_xor_sync(~0u, x, step));
    return x;
}
__device__ __forceinline__ float simt_sum_of_8(float x)
{
    for (int step = 8; step > 1; step /= 2)
        x += __shfl_xor_sync(~0u, x, step);
    return x;
}

/* Scores of a tile in powers of two, -inf where not visible, and their maxima in both warps. */
template <int D, int R, bool Lower>
__device__ __forceinline__ void
simt_masked_scores(float (&s)[R / 16][R / 16], simt_forward_shared<D, R> &m,
                   const fb_simt_call &call, int64_t i0, int64_t j0, simt_thread at)
{
    using shape = simt_shape<D, R>;
    const float c = call.scale * simt_log2e;
    const bool all = !Lower && simt_all_visible<R>(call, i0, j0);
    const simt_band band = simt_band_find<R>(call, i0, j0);
    simt_scores<D, R, Lower>(s, m.q, m.k, at);
#pragma unroll
    for (int i = 0; i < shape::T; i++) {
        const int row = at.y + 16 * i;
        float most = -INFINITY;
#pragma unroll
        for (int j = 0; j < shape::T; j++) {
            const bool seen = all || band.visible(row, at.x + 16 * j);
            s[i][j] = seen ? s[i][j] * c : -INFINITY;
            most = fmaxf(most, s[i][j]);
        }
        most = simt_max_of_8(most);
        if (at.x % 8 == 0)
            m.exchange[at.x / 8][row] = most;
    }
}

/* p into shared memory; o and the sums are rescaled to the new maximum. */
template <int D, int R>
__device__ __forceinline__ void simt_next_p(float (&s)[R / 16][R / 16],
                                            simt_forward_shared<D, R> &m, simt_softmax<R> &soft,
                                            float (&o)[R / 16][D / 16], simt_thread at)
{
    using shape = simt_shape<D, R>;
#pragma unroll
    for (int i = 0; i < shape::T; i++) {
        const int row = at.y + 16 * i;
        const float most = fmaxf(soft.top[i], fmaxf(m.exchange[0][row], m.exchange[1][row]));
        /* A row that has seen nothing yet: 0 in the place of -inf, and every p is exp2(-inf). */
        const float top = most == -INFINITY ? 0 : most;
        const float rescale = exp2f(soft.top[i] - top);
        soft.top[i] = most;
        soft.sum[i] *= rescale;
#pragma unroll
        for (int w = 0; w < shape::W; w++)
            o[i][w] *= rescale;
#pragma unroll
        for (int j = 0; j < shape::T; j++) {
            s[i][j] = exp2f(s[i][j] - top);
            soft.sum[i] += s[i][j];
        }
        simt_put_scores<D, R>(m.p, row, s[i], at);
    }
}

/* Sums of both warps, in one order for all threads: lower columns first. */
template <int D, int R>
__device__ __forceinline__ void simt_whole_sums(simt_forward_shared<D, R> &m, simt_softmax<R> &soft,
                                                simt_thread at)
{
    __syncthreads(); /* the last step's maxima are read */
    for (int i = 0; i < R / 16; i++) {
        const float sum = simt_sum_of_8(soft.sum[i]);
        if (at.x % 8 == 0)
            m.exchange[at.x / 8][at.y + 16 * i] = sum;
    }
    __syncthreads();
    for (int i = 0; i < R / 16; i++)
        soft.sum[i] = m.exchange[0][at.y + 16 * i] + m.exchange[1][at.y + 16 * i];
}

template <int D, int R>
__device__ __forceinline__ void
simt_store_forward(float (&o)[R / 16][D / 16], const simt_softmax<R> &soft,
                   const fb_simt_call &call, int64_t b, int64_t h, int64_t i0, simt_thread at)
{
    using shape = simt_shape<D, R>;
    const float ln2 = 0.69314718055994531f;
#pragma unroll
    for (int i = 0; i < shape::T; i++) {
        const int64_t row = i0 + at.y + 16 * i;
        const float sum = soft.sum[i], inverse = sum > 0 ? 1 / sum : 0;
#pragma unroll
        for (int w = 0; w < shape::W; w++)
            o[i][w] *= inverse;
        if (at.x != 0 || row >= call.nq)
            continue;
        const float most = soft.top[i] * ln2;
        float *lse = call.lse.data + b * call.lse.stride[0] + h * call.lse.stride[1];
        lse[row * call.lse.stride[2]] = sum > 0 ? most + logf(sum) : -INFINITY;
        if (call.row_max) {
            call.row_max[(b * call.h + h) * call.nq + row] = most;
            call.row_sum[(b * call.h + h) * call.nq + row] = sum;
        }
    }
    simt_store<D, R>(o, call.o, b, h, i0, call.nq, call.dv, 1, at);
}

/* The tile of keys at j0 against the block's queries; k of the tile at `next`, where that is >= 0,
 * is under way at the end, as k of this one is at the start. */
template <int D, int R, bool Lower>
__device__ __forceinline__ void
simt_forward_step(simt_forward_shared<D, R> &m, simt_softmax<R> &soft, const fb_simt_call &call,
                  int64_t b, int64_t hk, int64_t i0, int64_t j0, int64_t next,
                  float (&o)[R / 16][D / 16], simt_thread at)
{
    float s[R / 16][R / 16] = {};
    simt_wait<0>();
    __syncthreads(); /* (1) */
    simt_copy_tile<D, R>(m.v, call.v, b, hk, j0, call.nk, call.dv);
    simt_close();
    simt_masked_scores<D, R, Lower>(s, m, call, i0, j0, at);
    __syncthreads(); /* (2) */
    if (next >= 0)
        simt_copy_tile<D, R>(m.k, call.k, b, hk, next, call.nk, call.d);
    simt_close();
    simt_next_p<D, R>(s, m, soft, o, at);
    simt_wait<1>();  /* all but k */
    __syncthreads(); /* (3) */
    simt_add<D, R, Lower>(o, m.p, m.v, at);
}

/* Blocks: query tiles of all batches and query heads. */
template <int D, int R>
__global__ void __launch_bounds__(simt_threads, simt_shape<D, R>::ctas)
    simt_forward_kernel(const __grid_constant__ fb_simt_call call)
{
    if constexpr (!simt_wanted<D, R>) {
        __trap();
        return;
    }
    using shape = simt_shape<D, R>;
    extern __shared__ float4 simt_shared[];
    auto &m = *(simt_forward_shared<D, R> *)simt_shared;
    const simt_thread at = simt_place();
    const int64_t group = call.h / call.hk, heads = call.b * call.h, tiles = (call.nq + R - 1) / R;
    const simt_block block = simt_find_block(call, blockIdx.x, heads, tiles);
    const int64_t b = block.head / call.h, h = block.head % call.h, hk = h / group;
    const int64_t i0 = (tiles - 1 - block.tile) * R;
    int64_t first, end;
    simt_key_tiles<R>(call, i0, &first, &end);
    float o[shape::T][shape::W] = {};
    simt_softmax<R> soft;
    for (int i = 0; i < shape::T; i++)
        soft.top[i] = -INFINITY, soft.sum[i] = 0;
    if (first < end) {
        simt_copy_tile<D, R>(m.q, call.q, b, h, i0, call.nq, call.d);
        simt_copy_tile<D, R>(m.k, call.k, b, hk, first * R, call.nk, call.d);
        simt_close();
    }
    for (int64_t tile = first; tile < end; tile++) {
        const int64_t j0 = tile * R, next = tile + 1 < end ? j0 + R : -1;
        if (simt_lower(call, i0, j0))
            simt_forward_step<D, R, true>(m, soft, call, b, hk, i0, j0, next, o, at);
        else
            simt_forward_step<D, R, false>(m, soft, call, b, hk, i0, j0, next, o, at);
    }
    simt_whole_sums<D, R>(m, soft, at);
    simt_store_forward<D, R>(o, soft, call, b, h, i0, at);
}

} // namespace fb
#endif
