/* SPDX-License-Identifier: BSD-3-Clause
 *
 * simt_backward.cuh: the backward in plain fp32 CUDA, as two main loops.
 *
 * Idea: simt_keys_kernel owns a key tile and walks the query tiles that see it (FlashAttention-2):
 * dK and dV stay in registers, dQ goes out by a policy: by atomic additions, or not at all.
 * simt_queries_kernel owns a query tile and walks its keys: dQ stays in registers. The first with
 * atomics is one kernel of 5 GEMMs; both without are 7 and no atomics.
 *
 * A block of the first takes all query heads that share its key head, one after the other, so that
 * grouped heads need no atomics either.
 *
 * Shared memory (floats): four tiles of R x (D + 4), two of R x (R + 8) for p and ds, three rows of
 * R. At D = 128: R = 64 173,056 bytes, R = 32 78,336, R = 16 37,056.
 * Registers: dk, dv T x W each, s and dp T x T each, or dq T x W after them: 32 + 32 + 32 at D =
 * 128, R = 64, one block an SM. Up to D = 64 two blocks, 128 registers a thread.
 *
 * Rows of the next step are asked for while this one is worked on: they come from the L1 then.
 *
 * Barriers: (1) before tiles are overwritten, their readers are done; (2) tiles are whole before
 * the score GEMMs; (3) p and ds are whole before the gradient GEMMs. Every barrier is reached by
 * all threads: the loop's bounds depend on the block alone.
 *
 * Determinism: dk and dv: yes, sums run in the order of the loops. dq by atomics: no; by
 * simt_queries_kernel: yes.
 * Source: Dao, FlashAttention-2 (2023), algorithm 2.
 */
#ifndef FB_KERNELS_CUDA_SIMT_BACKWARD_CUH
#define FB_KERNELS_CUDA_SIMT_BACKWARD_CUH

#include "kernels/cuda/simt_tile.cuh"

namespace fb {

constexpr float simt_log2e = 1.4426950408889634f;

template <int D, int R>
struct simt_backward_shared {
    using shape = simt_shape<D, R>;
    float q[shape::tile], dout[shape::tile], k[shape::tile], v[shape::tile];
    float p[shape::scores], ds[shape::scores];
    float top[R], factor[R], delta[R]; /* p = exp2(scale log2e s - top) factor */
};

/* What a row of p is made from: lse, or maximum and sum where a forward has left them. */
template <int R>
__device__ __forceinline__ void simt_load_rows(float *top, float *factor, float *delta,
                                               const fb_simt_call &call, int64_t b, int64_t h,
                                               int64_t first)
{
    const int64_t i = first + threadIdx.x;
    if (threadIdx.x >= R)
        return;
    const int64_t row = (b * call.h + h) * call.nq + i;
    const bool inside = i < call.nq, own = call.row_max != nullptr;
    top[threadIdx.x] = !inside ? 0
                       : own   ? call.row_max[row] * simt_log2e
                               : simt_head(call.lse, b, h)[i * call.lse.stride[2]] * simt_log2e;
    factor[threadIdx.x] = inside && own ? 1 / call.row_sum[row] : 1;
    delta[threadIdx.x] = inside ? call.delta[row] : 0;
}

/* p and ds of a tile pair into shared memory: s and dp from their tiles, both masked. */
template <int D, int R>
__device__ __forceinline__ void simt_p_ds(simt_backward_shared<D, R> &m, const fb_simt_call &call,
                                          int64_t i0, int64_t j0, simt_thread at)
{
    using shape = simt_shape<D, R>;
    float s[shape::T][shape::T] = {}, dp[shape::T][shape::T] = {};
    const float c = call.scale * simt_log2e;
    const bool all = simt_all_visible<R>(call, i0, j0);
    const simt_band band = simt_band_find<R>(call, i0, j0);
    simt_scores<D, R>(s, m.q, m.k, at);
    simt_scores<D, R>(dp, m.dout, m.v, at);
#pragma unroll
    for (int i = 0; i < shape::T; i++) {
        const int row = at.y + 16 * i;
        const float top = m.top[row], factor = m.factor[row], delta = m.delta[row];
#pragma unroll
        for (int j = 0; j < shape::T; j++) {
            const int column = at.x + 16 * j;
            const bool seen = all || band.visible(row, column);
            const float p = seen ? exp2f(fmaf(s[i][j], c, -top)) * factor : 0;
            m.p[row * shape::lds + column] = p;
            m.ds[row * shape::lds + column] = seen ? p * (dp[i][j] - delta) : 0;
        }
    }
}

/* ---- dQ out of the key-major loop --------------------------------------------------------------
 */

struct simt_no_dq {
    static constexpr bool wanted = false;
};

/* Four neighbours in one transaction where the device can and the tensor lies so. */
struct simt_atomic_dq {
    static constexpr bool wanted = true;
    template <int D, int R>
    static __device__ __forceinline__ void add(const float (&dq)[R / 16][D / 16],
                                               const fb_simt_call &call, int64_t b, int64_t h,
                                               int64_t i0, simt_thread at)
    {
        using shape = simt_shape<D, R>;
        const int rows = (int)simt_least(R, call.nq - i0); /* of the tile */
        float *to = call.grad_q.data + b * call.grad_q.stride[0] + h * call.grad_q.stride[1] +
                    (i0 + at.y) * call.grad_q.stride[2];
#if __CUDA_ARCH__ >= 900
        const bool wide = simt_aligned(call.grad_q, call.d);
#endif
#pragma unroll
        for (int i = 0; i < shape::T; i++, to += 16 * call.grad_q.stride[2]) {
            if (at.y + 16 * i >= rows)
                break;
#pragma unroll
            for (int w = 0; w < shape::W; w++) {
                const int column = simt_column<D, R>(at.x, w);
#if __CUDA_ARCH__ >= 900
                if constexpr (shape::V == 4)
                    if (wide) {
                        if (w % 4 == 0 && column < call.d)
                            atomicAdd((float4 *)(to + column),
                                      make_float4(call.scale * dq[i][w], call.scale * dq[i][w + 1],
                                                  call.scale * dq[i][w + 2],
                                                  call.scale * dq[i][w + 3]));
                        continue;
                    }
#endif
                if (column < call.d)
                    atomicAdd(to + column, call.scale * dq[i][w]);
            }
        }
    }
};

/* ---- Main loops --------------------------------------------------------------------------------
 */

/* Rows of a gradient tile from `to` on, `apart` rows between a thread's, of which `rows` exist. */
template <int D, int R>
__device__ __forceinline__ void simt_store_rows(const float (&out)[R / 16][D / 16], float *to,
                                                int64_t stride, int apart, int rows, int width,
                                                float factor, simt_thread at)
{
    using shape = simt_shape<D, R>;
#pragma unroll
    for (int i = 0; i < shape::T; i++, to += apart * stride) {
        if (i * apart >= rows)
            break;
#pragma unroll
        for (int w = 0; w < shape::W; w++) {
            const int column = simt_column<D, R>(at.x, w);
            if (column < width)
                to[column] = factor * out[i][w];
        }
    }
}

/* A gradient tile whose rows are first + T y + i: dk, dv. */
template <int D, int R>
__device__ __forceinline__ void
simt_store_turned(const float (&out)[R / 16][D / 16], const fb_simt_view &view, int64_t b,
                  int64_t h, int64_t first, int64_t n, int width, float factor, simt_thread at)
{
    const int64_t row = first + at.y * simt_shape<D, R>::T;
    float *to = view.data + b * view.stride[0] + h * view.stride[1] + row * view.stride[2];
    simt_store_rows<D, R>(out, to, view.stride[2], 1, (int)simt_least(R, n - row), width, factor,
                          at);
}

/* One where rows are first + y + 16 i: dq. */
template <int D, int R>
__device__ __forceinline__ void
simt_store(const float (&out)[R / 16][D / 16], const fb_simt_view &view, int64_t b, int64_t h,
           int64_t first, int64_t n, int width, float factor, simt_thread at)
{
    const int64_t row = first + at.y;
    float *to = view.data + b * view.stride[0] + h * view.stride[1] + row * view.stride[2];
    simt_store_rows<D, R>(out, to, view.stride[2], 16, (int)simt_least(R, n - row), width, factor,
                          at);
}

/* One query tile of query head h against the block's key tile. */
template <int D, int R, class Dq>
__device__ __forceinline__ void simt_keys_step(simt_backward_shared<D, R> &m,
                                               const fb_simt_call &call, int64_t b, int64_t h,
                                               int64_t i0, int64_t j0, float (&dk)[R / 16][D / 16],
                                               float (&dv)[R / 16][D / 16], simt_thread at)
{
    __syncthreads(); /* (1) the last step's reads of q, dout, p, ds */
    simt_load_tile<D, R>(m.q, simt_head(call.q, b, h), call.q.stride[2], i0, call.nq, call.d,
                         simt_aligned(call.q, call.d));
    simt_load_tile<D, R>(m.dout, simt_head(call.dout, b, h), call.dout.stride[2], i0, call.nq,
                         call.dv, simt_aligned(call.dout, call.dv));
    simt_load_rows<R>(m.top, m.factor, m.delta, call, b, h, i0);
    __syncthreads(); /* (2) */
    simt_prefetch_tile<D, R>(simt_head(call.q, b, h), call.q.stride[2], i0 + R, call.nq, call.d);
    simt_prefetch_tile<D, R>(simt_head(call.dout, b, h), call.dout.stride[2], i0 + R, call.nq,
                             call.dv);
    simt_p_ds<D, R>(m, call, i0, j0, at);
    __syncthreads(); /* (3) */
    simt_add_turned<D, R>(dv, m.p, m.dout, at);
    simt_add_turned<D, R>(dk, m.ds, m.q, at);
    if constexpr (Dq::wanted) {
        float dq[R / 16][D / 16] = {};
        simt_add<D, R>(dq, m.ds, m.k, at);
        Dq::template add<D, R>(dq, call, b, h, i0, at);
    }
}

/* Blocks: key tiles of all batches and key heads. */
template <int D, int R, class Dq>
__global__ void __launch_bounds__(simt_threads, simt_shape<D, R>::ctas)
    simt_keys_kernel(const __grid_constant__ fb_simt_call call)
{
    using shape = simt_shape<D, R>;
    extern __shared__ float4 simt_shared[];
    auto &m = *(simt_backward_shared<D, R> *)simt_shared;
    const simt_thread at = simt_place();
    const int64_t group = call.h / call.hk, heads = call.b * call.hk, tiles = (call.nk + R - 1) / R;
    const simt_block block = simt_find_block(call, blockIdx.x, heads, tiles);
    const int64_t b = block.head / call.hk, hk = block.head % call.hk, j0 = block.tile * R;
    int64_t first, end;
    simt_query_tiles<R>(call, j0, &first, &end);
    float dk[shape::T][shape::W] = {}, dv[shape::T][shape::W] = {};
    simt_load_tile<D, R>(m.k, simt_head(call.k, b, hk), call.k.stride[2], j0, call.nk, call.d,
                         simt_aligned(call.k, call.d));
    simt_load_tile<D, R>(m.v, simt_head(call.v, b, hk), call.v.stride[2], j0, call.nk, call.dv,
                         simt_aligned(call.v, call.dv));
    for (int64_t h = hk * group; h < (hk + 1) * group; h++)
        for (int64_t tile = first; tile < end; tile++)
            simt_keys_step<D, R, Dq>(m, call, b, h, tile * R, j0, dk, dv, at);
    simt_store_turned<D, R>(dk, call.grad_k, b, hk, j0, call.nk, call.d, call.scale, at);
    simt_store_turned<D, R>(dv, call.grad_v, b, hk, j0, call.nk, call.dv, 1, at);
}

/* Blocks: query tiles of all batches and query heads. Only ds of the score tiles is used. */
template <int D, int R>
__global__ void __launch_bounds__(simt_threads, simt_shape<D, R>::ctas)
    simt_queries_kernel(const __grid_constant__ fb_simt_call call)
{
    using shape = simt_shape<D, R>;
    extern __shared__ float4 simt_shared[];
    auto &m = *(simt_backward_shared<D, R> *)simt_shared;
    const simt_thread at = simt_place();
    const int64_t group = call.h / call.hk, heads = call.b * call.h, tiles = (call.nq + R - 1) / R;
    const simt_block block = simt_find_block(call, blockIdx.x, heads, tiles);
    const int64_t b = block.head / call.h, h = block.head % call.h;
    const int64_t i0 = (tiles - 1 - block.tile) * R;
    int64_t first, end;
    simt_key_tiles<R>(call, i0, &first, &end);
    float dq[shape::T][shape::W] = {};
    simt_load_tile<D, R>(m.q, simt_head(call.q, b, h), call.q.stride[2], i0, call.nq, call.d,
                         simt_aligned(call.q, call.d));
    simt_load_tile<D, R>(m.dout, simt_head(call.dout, b, h), call.dout.stride[2], i0, call.nq,
                         call.dv, simt_aligned(call.dout, call.dv));
    simt_load_rows<R>(m.top, m.factor, m.delta, call, b, h, i0);
    for (int64_t tile = first; tile < end; tile++) {
        const int64_t j0 = tile * R;
        __syncthreads(); /* (1) the last step's reads of k, v, ds */
        simt_load_tile<D, R>(m.k, simt_head(call.k, b, h / group), call.k.stride[2], j0, call.nk,
                             call.d, simt_aligned(call.k, call.d));
        simt_load_tile<D, R>(m.v, simt_head(call.v, b, h / group), call.v.stride[2], j0, call.nk,
                             call.dv, simt_aligned(call.v, call.dv));
        __syncthreads(); /* (2) */
        simt_p_ds<D, R>(m, call, i0, j0, at);
        __syncthreads(); /* (3) */
        simt_add<D, R>(dq, m.ds, m.k, at);
    }
    simt_store<D, R>(dq, call.grad_q, b, h, i0, call.nq, call.d, call.scale, at);
}

} // namespace fb
#endif
