/* SPDX-License-Identifier: BSD-3-Clause
 *
 * simt_forward.cuh: the forward in plain fp32 CUDA: a block owns a query tile and walks its keys
 * with a running maximum, so that no row of scores is ever kept.
 *
 * Threads that share a row of scores sit in two warps (8 columns each); the maximum of a tile's row
 * is found in each warp by shuffles and exchanged through shared memory. The sum is not: every
 * thread adds up its own columns, rescaled as the maximum grows, and they are put together once, at
 * the end. It is of p before any rounding.
 *
 * Shared memory (floats): q, k, v R x (D + 4) each, p R x (R + 8), 2 R for the exchange: less than
 * the backward's. Registers: o T x W, s T x T, maximum and sum T each.
 *
 * Barriers: (1) the last step's readers of k, v, p, (2) k and v are whole, (3) the maxima of both
 * warps, (4) p is whole.
 * Determinism: yes. Source: Dao, FlashAttention-2 (2023), algorithm 1.
 */
#ifndef FB_KERNELS_CUDA_SIMT_FORWARD_CUH
#define FB_KERNELS_CUDA_SIMT_FORWARD_CUH

#include "kernels/cuda/simt_backward.cuh"

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

/* The larger, or the sum, of the 8 lanes that share a row in this warp. */
__device__ __forceinline__ float simt_max_of_8(float x)
{
    for (int step = 4; step > 0; step /= 2)
        x = fmaxf(x, __shfl_xor_sync(~0u, x, step));
    return x;
}
__device__ __forceinline__ float simt_sum_of_8(float x)
{
    for (int step = 4; step > 0; step /= 2)
        x += __shfl_xor_sync(~0u, x, step);
    return x;
}

/* Scores of a tile in powers of two, -inf where not visible, and their maxima in both warps. */
template <int D, int R>
__device__ __forceinline__ void
simt_masked_scores(float (&s)[R / 16][R / 16], simt_forward_shared<D, R> &m,
                   const fb_simt_call &call, int64_t i0, int64_t j0, simt_thread at)
{
    using shape = simt_shape<D, R>;
    const float c = call.scale * simt_log2e;
    const bool all = simt_all_visible<R>(call, i0, j0);
    const simt_band band = simt_band_find<R>(call, i0, j0);
    simt_scores<D, R>(s, m.q, m.k, at);
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
__device__ __forceinline__ void simt_next_p(const float (&s)[R / 16][R / 16],
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
            const float p = exp2f(s[i][j] - top);
            soft.sum[i] += p;
            m.p[row * shape::lds + at.x + 16 * j] = p;
        }
    }
}

/* Sums of both warps, in one order for all threads: lower columns first. */
template <int D, int R>
__device__ __forceinline__ void simt_whole_sums(simt_forward_shared<D, R> &m, simt_softmax<R> &soft,
                                                simt_thread at)
{
    __syncthreads(); /* (3) the last step's maxima */
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

/* Blocks: query tiles of all batches and query heads. */
template <int D, int R>
__global__ void __launch_bounds__(simt_threads, simt_shape<D, R>::ctas)
    simt_forward_kernel(const __grid_constant__ fb_simt_call call)
{
    using shape = simt_shape<D, R>;
    extern __shared__ float4 simt_shared[];
    auto &m = *(simt_forward_shared<D, R> *)simt_shared;
    const simt_thread at = simt_place();
    const int64_t group = call.h / call.hk, heads = call.b * call.h, tiles = (call.nq + R - 1) / R;
    const simt_block block = simt_find_block(call, blockIdx.x, heads, tiles);
    const int64_t b = block.head / call.h, h = block.head % call.h;
    const int64_t i0 = (tiles - 1 - block.tile) * R;
    int64_t first, end;
    simt_key_tiles<R>(call, i0, &first, &end);
    float o[shape::T][shape::W] = {};
    simt_softmax<R> soft;
    for (int i = 0; i < shape::T; i++)
        soft.top[i] = -INFINITY, soft.sum[i] = 0;
    simt_load_tile<D, R>(m.q, simt_head(call.q, b, h), call.q.stride[2], i0, call.nq, call.d,
                         simt_aligned(call.q, call.d));
    for (int64_t tile = first; tile < end; tile++) {
        float s[shape::T][shape::T] = {};
        __syncthreads(); /* (1) */
        simt_load_tile<D, R>(m.k, simt_head(call.k, b, h / group), call.k.stride[2], tile * R,
                             call.nk, call.d, simt_aligned(call.k, call.d));
        simt_load_tile<D, R>(m.v, simt_head(call.v, b, h / group), call.v.stride[2], tile * R,
                             call.nk, call.dv, simt_aligned(call.v, call.dv));
        __syncthreads(); /* (2) */
        simt_masked_scores<D, R>(s, m, call, i0, tile * R, at);
        __syncthreads(); /* (3) */
        simt_next_p<D, R>(s, m, soft, o, at);
        __syncthreads(); /* (4) */
        simt_add<D, R>(o, m.p, m.v, at);
    }
    simt_whole_sums<D, R>(m, soft, at);
    simt_store_forward<D, R>(o, soft, call, b, h, i0, at);
}

} // namespace fb
#endif
