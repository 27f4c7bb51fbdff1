/* SPDX-License-Identifier: BSD-3-Clause
 *
 * backward.cuh: the backward in plain fp32 CUDA, as two main loops.
 *
 * Idea: simt_keys_kernel owns a key tile and walks the query tiles that see it (FlashAttention-2):
 * dK and dV stay in registers, dQ goes out by a policy: by atomic additions, or not at all.
 * simt_queries_kernel owns a query tile and walks its keys: dQ stays in registers. The first with
 * atomics is one kernel of 5 GEMMs; both without are 7 and no atomics.
 *
 * A block of the first takes all query heads that share its key head, one after the other, so that
 * grouped heads need no atomics either.
 *
 * Shared memory (floats): four tiles of R x (D + 4), two of R x (16 S + 16) for p and ds, three
 * rows of R. At D = 128: R = 64 176,896 bytes, R = 32 80,256, R = 16 37,056; D = 256, R = 48
 * 230,976.
 *
 * Registers: dk, dv T x W each, s and dp T x T each, or dq T x W after them: 32 + 32 + 32 at D =
 * 128, R = 64, one block an SM. Up to D = 64 two blocks, 128 registers a thread.
 *
 * Rows of the next step are copied while dQ of this one is worked out, which reads neither; those
 * of the first step and of the block's own tiles are all under way together. A step on the diagonal
 * leaves out what the mask leaves out, by blocks of 16 x 16.
 *
 * Barriers: (1) tiles are whole, and the last step's p and ds read; (2) p and ds are whole; (3) the
 * tiles that the next step overwrites are read. Every barrier is reached by all threads: the loop's
 * bounds depend on the block alone.
 *
 * Determinism: dk and dv: yes, sums run in the order of the loops. dq by atomics: no; by
 * simt_queries_kernel: yes.
 * Source: Dao, FlashAttention-2 (2023), algorithm 2.
 */
#ifndef FB_KERNELS_SIMT_BACKWARD_CUH
#define FB_KERNELS_SIMT_BACKWARD_CUH

#include "kernels/simt/tile.cuh"

namespace fb {

constexpr float simt_log2e = 1.4426950408889634f;

/* What rows of p and ds are made from: lse, or maximum and sum where a forward has left them. */
template <int R>
struct simt_rows {
    float top[R], sum[R], delta[R];
};

template <int D, int R>
struct simt_backward_shared {
    using shape = simt_shape<D, R>;
    float q[shape::tile], dout[shape::tile], k[shape::tile], v[shape::tile];
    float p[shape::scores], ds[shape::scores];
    simt_rows<R> rows;
};

/* Heights that are worth compiling: the tallest that any device holds and keeps in registers, and
 * what devices with less shared memory need. */
constexpr bool simt_compiled(int d, int rows)
{
    return d <= 96    ? rows == 64 || rows == 32
           : d <= 128 ? rows == 64 || rows == 32 || rows == 16
                      : rows == 48 || rows == 32 || rows == 16;
}

/* Shared memory a block, in bytes, of the devices that may run the code of this pass. Machine code
 * serves the later devices of its own major version, PTX all that came later (FB_PTX_FROM: the
 * first architecture whose PTX is built, of two digits): 64 KiB on 7.5, 96 on 7.0, 99 on 8.6, 8.9
 * and 12.0, 163 on 8.0 and 8.7, 227 on 9.0, 10.0 and 11.0. */
#ifndef FB_PTX_FROM
#define FB_PTX_FROM 75
#endif
#if __CUDA_ARCH__ >= 900
constexpr size_t simt_devices[] = {101376, 232448};
#elif __CUDA_ARCH__ >= 10 * FB_PTX_FROM
constexpr size_t simt_devices[] = {65536, 98304, 101376, 166912, 232448};
#elif __CUDA_ARCH__ >= 800
constexpr size_t simt_devices[] = {101376, 166912};
#elif __CUDA_ARCH__ >= 750
constexpr size_t simt_devices[] = {65536};
#else
constexpr size_t simt_devices[] = {65536, 98304};
#endif

/* The tile height that the host takes on a device (fb_simt_rows): the tallest that fits; 0: none.
 */
template <int D>
constexpr int simt_height(size_t shared)
{
    return simt_compiled(D, 64) && sizeof(simt_backward_shared<D, 64>) <= shared   ? 64
           : simt_compiled(D, 48) && sizeof(simt_backward_shared<D, 48>) <= shared ? 48
           : simt_compiled(D, 32) && sizeof(simt_backward_shared<D, 32>) <= shared ? 32
           : simt_compiled(D, 16) && sizeof(simt_backward_shared<D, 16>) <= shared ? 16
                                                                                   : 0;
}

template <int D, int R>
constexpr bool simt_any_device_takes()
{
    for (size_t shared : simt_devices)
        if (simt_height<D>(shared) == R)
            return true;
    return false;
}

/* Does any device that runs this pass's code take tiles of this height? The others' kernels are
 * empty, which is half of the compiler's work: they are long. */
template <int D, int R>
constexpr bool simt_wanted = simt_any_device_takes<D, R>();

template <int R>
__device__ __forceinline__ void simt_copy_rows(simt_rows<R> &rows, const fb_simt_call &call,
                                               int64_t b, int64_t h, int64_t first)
{
    const int r = threadIdx.x;
    if (r >= R)
        return;
    const bool inside = first + r < call.nq;
    const int64_t i = inside ? first + r : 0, row = (b * call.h + h) * call.nq + i;
    if (call.row_max) {
        simt_copy<1>(rows.top + r, call.row_max + row, inside);
        simt_copy<1>(rows.sum + r, call.row_sum + row, inside);
    } else {
        simt_copy<1>(rows.top + r, simt_head(call.lse, b, h) + i * call.lse.stride[2], inside);
    }
    simt_copy<1>(rows.delta + r, call.delta + row, inside);
}

/* Queries of the tile at i0, and what goes with them. */
template <int D, int R>
__device__ __forceinline__ void simt_copy_queries(simt_backward_shared<D, R> &m,
                                                  const fb_simt_call &call, int64_t b, int64_t h,
                                                  int64_t i0)
{
    simt_copy_tile<D, R>(m.q, call.q, b, h, i0, call.nq, call.d);
    simt_copy_tile<D, R>(m.dout, call.dout, b, h, i0, call.nq, call.dv);
    simt_copy_rows<R>(m.rows, call, b, h, i0);
}

/* p and ds of a tile pair into shared memory: s and dp from their tiles, both masked. */
template <int D, int R, bool Lower>
__device__ __forceinline__ void simt_p_ds(simt_backward_shared<D, R> &m, const fb_simt_call &call,
                                          int64_t i0, int64_t j0, simt_thread at)
{
    using shape = simt_shape<D, R>;
    float s[shape::T][shape::T] = {}, dp[shape::T][shape::T] = {};
    const float c = call.scale * simt_log2e;
    const bool all = !Lower && simt_all_visible<R>(call, i0, j0);
    const simt_band band = simt_band_find<R>(call, i0, j0);
    simt_scores<D, R, Lower>(s, m.q, m.k, at);
    simt_scores<D, R, Lower>(dp, m.dout, m.v, at);
#pragma unroll
    for (int i = 0; i < shape::T; i++) {
        const int row = at.y + 16 * i;
        const float top = m.rows.top[row] * simt_log2e, delta = m.rows.delta[row];
        const float factor = call.row_max ? 1 / m.rows.sum[row] : 1;
#pragma unroll
        for (int j = 0; j < shape::T; j++) {
            const bool seen = all || band.visible(row, at.x + 16 * j);
            const float p = seen ? exp2f(fmaf(s[i][j], c, -top)) * factor : 0;
            s[i][j] = p;
            dp[i][j] = seen ? p * (dp[i][j] - delta) : 0;
        }
        simt_put_scores<D, R>(m.p, row, s[i], at);
        simt_put_scores<D, R>(m.ds, row, dp[i], at);
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

/* A gradient tile whose rows are first + y + 16 i. */
template <int D, int R>
__device__ __forceinline__ void
simt_store(const float (&out)[R / 16][D / 16], const fb_simt_view &view, int64_t b, int64_t h,
           int64_t first, int64_t n, int width, float factor, simt_thread at)
{
    using shape = simt_shape<D, R>;
    const bool wide = shape::V == 4 && simt_aligned(view, width);
    const int rows = (int)simt_least(R, n - first);
    float *to =
        view.data + b * view.stride[0] + h * view.stride[1] + (first + at.y) * view.stride[2];
#pragma unroll
    for (int i = 0; i < shape::T; i++, to += 16 * view.stride[2]) {
        if (at.y + 16 * i >= rows)
            break;
#pragma unroll
        for (int w = 0; w < shape::W; w += shape::V) {
            const int column = simt_column<D, R>(at.x, w);
            float x[shape::V];
#pragma unroll
            for (int e = 0; e < shape::V; e++)
                x[e] = factor * out[i][w + e];
            if (wide && column < width)
                simt_put<shape::V>(to + column, x);
#pragma unroll
            for (int e = 0; e < shape::V; e++)
                if (!wide && column + e < width)
                    to[column + e] = x[e];
        }
    }
}

/* A query tile of a query head, among those that a block of keys walks. */
struct simt_step {
    int64_t h, tile;
};

/* One step against the block's key tile; `next` is copied where there is `more`. */
template <int D, int R, class Dq>
__device__ __forceinline__ void
simt_keys_step(simt_backward_shared<D, R> &m, const fb_simt_call &call, int64_t b, simt_step now,
               simt_step next, bool more, int64_t j0, float (&dk)[R / 16][D / 16],
               float (&dv)[R / 16][D / 16], simt_thread at)
{
    const int64_t i0 = now.tile * R;
    const bool lower = simt_lower(call, i0, j0);
    simt_wait<0>();
    __syncthreads(); /* (1) */
    if (lower)
        simt_p_ds<D, R, true>(m, call, i0, j0, at);
    else
        simt_p_ds<D, R, false>(m, call, i0, j0, at);
    __syncthreads(); /* (2) */
    if (lower) {
        simt_add_turned<D, R, true>(dv, m.p, m.dout, at);
        simt_add_turned<D, R, true>(dk, m.ds, m.q, at);
    } else {
        simt_add_turned<D, R>(dv, m.p, m.dout, at);
        simt_add_turned<D, R>(dk, m.ds, m.q, at);
    }
    __syncthreads(); /* (3) */
    if (more)
        simt_copy_queries<D, R>(m, call, b, next.h, next.tile * R);
    simt_close();
    if constexpr (Dq::wanted) {
        float dq[R / 16][D / 16] = {};
        if (lower)
            simt_add<D, R, true>(dq, m.ds, m.k, at);
        else
            simt_add<D, R>(dq, m.ds, m.k, at);
        Dq::template add<D, R>(dq, call, b, now.h, i0, at);
    }
}

/* Blocks: key tiles of all batches and key heads. */
template <int D, int R, class Dq>
__global__ void __launch_bounds__(simt_threads, simt_shape<D, R>::ctas)
    simt_keys_kernel(const __grid_constant__ fb_simt_call call)
{
    if constexpr (!simt_wanted<D, R>) {
        __trap();
        return;
    }
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
    simt_step now = {hk * group, first};
    bool more = first < end;
    if (more) {
        simt_copy_queries<D, R>(m, call, b, now.h, first * R);
        simt_copy_tile<D, R>(m.k, call.k, b, hk, j0, call.nk, call.d);
        simt_copy_tile<D, R>(m.v, call.v, b, hk, j0, call.nk, call.dv);
        simt_close();
    }
    while (more) {
        const bool last = now.tile + 1 == end;
        const simt_step next = {now.h + last, last ? first : now.tile + 1};
        more = next.h < (hk + 1) * group;
        simt_keys_step<D, R, Dq>(m, call, b, now, next, more, j0, dk, dv, at);
        now = next;
    }
    simt_store<D, R>(dk, call.grad_k, b, hk, j0, call.nk, call.d, call.scale, at);
    simt_store<D, R>(dv, call.grad_v, b, hk, j0, call.nk, call.dv, 1, at);
}

/* One key tile against the block's queries. Where there are `more`, the next is copied: v while dq
 * is worked out, k behind that. Only ds of the score tiles is used. */
template <int D, int R>
__device__ __forceinline__ void
simt_queries_step(simt_backward_shared<D, R> &m, const fb_simt_call &call, int64_t b, int64_t hk,
                  int64_t i0, int64_t j0, bool more, float (&dq)[R / 16][D / 16], simt_thread at)
{
    const bool lower = simt_lower(call, i0, j0);
    simt_wait<0>();
    __syncthreads(); /* (1) */
    if (lower)
        simt_p_ds<D, R, true>(m, call, i0, j0, at);
    else
        simt_p_ds<D, R, false>(m, call, i0, j0, at);
    __syncthreads(); /* (2), and (3) of v */
    if (more)
        simt_copy_tile<D, R>(m.v, call.v, b, hk, j0 + R, call.nk, call.dv);
    if (lower)
        simt_add<D, R, true>(dq, m.ds, m.k, at);
    else
        simt_add<D, R>(dq, m.ds, m.k, at);
    __syncthreads(); /* (3) of k */
    if (more)
        simt_copy_tile<D, R>(m.k, call.k, b, hk, j0 + R, call.nk, call.d);
    simt_close();
}

/* Blocks: query tiles of all batches and query heads. */
template <int D, int R>
__global__ void __launch_bounds__(simt_threads, simt_shape<D, R>::ctas)
    simt_queries_kernel(const __grid_constant__ fb_simt_call call)
{
    if constexpr (!simt_wanted<D, R>) {
        __trap();
        return;
    }
    using shape = simt_shape<D, R>;
    extern __shared__ float4 simt_shared[];
    auto &m = *(simt_backward_shared<D, R> *)simt_shared;
    const simt_thread at = simt_place();
    const int64_t group = call.h / call.hk, heads = call.b * call.h, tiles = (call.nq + R - 1) / R;
    const simt_block block = simt_find_block(call, blockIdx.x, heads, tiles);
    const int64_t b = block.head / call.h, h = block.head % call.h, hk = h / group;
    const int64_t i0 = (tiles - 1 - block.tile) * R;
    int64_t first, end;
    simt_key_tiles<R>(call, i0, &first, &end);
    float dq[shape::T][shape::W] = {};
    if (first < end) {
        simt_copy_queries<D, R>(m, call, b, h, i0);
        simt_copy_tile<D, R>(m.k, call.k, b, hk, first * R, call.nk, call.d);
        simt_copy_tile<D, R>(m.v, call.v, b, hk, first * R, call.nk, call.dv);
        simt_close();
    }
    for (int64_t j0 = first * R; j0 < end * R; j0 += R)
        simt_queries_step<D, R>(m, call, b, hk, i0, j0, j0 + R < end * R, dq, at);
    simt_store<D, R>(dq, call.grad_q, b, h, i0, call.nq, call.d, call.scale, at);
}

} // namespace fb
#endif
