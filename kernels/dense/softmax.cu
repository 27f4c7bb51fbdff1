/* SPDX-License-Identifier: BSD-3-Clause
 *
 * softmax.cu: softmax of materialised scores and its gradient.
 *
 * Idea: what stands between the GEMMs is bound by memory, so each kernel touches every element as
 * rarely as it can. The online form keeps maximum and sum of a row together: when a larger score
 * comes, the sum so far is scaled down, so that one pass gives both (Milakov and Gimelshein 2018).
 * The plain form is the one it is measured against.
 *
 * Blocks: 256 threads a row (online), 256 rows (plain), 256 elements a step (gradients); 2 x 8
 * floats of shared memory for the exchange between warps. Rows are chosen by 64-bit loops over the
 * grid.
 *
 * Arithmetic is fp32; one rounding to the element type. exp by exp2f: 2 ulp.
 * Barriers: in reduce_row, between the warps' results and their reading, and before the next row
 * overwrites them. Deterministic: every sum runs in an order that depends on the shape alone.
 */
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "kernels/dense/softmax.h"

namespace {

constexpr int threads = 256, warps = threads / 32;
constexpr int64_t most_blocks = 1 << 16;
constexpr float log2e = 1.4426950408889634f;

__device__ float widen(float x)
{
    return x;
}
__device__ float widen(__half x)
{
    return __half2float(x);
}
__device__ float widen(__nv_bfloat16 x)
{
    return __bfloat162float(x);
}

template <class T>
__device__ T narrow(float x);
template <>
__device__ float narrow<float>(float x)
{
    return x;
}
template <>
__device__ __half narrow<__half>(float x)
{
    return __float2half(x);
}
template <>
__device__ __nv_bfloat16 narrow<__nv_bfloat16>(float x)
{
    return __float2bfloat16(x);
}

/* Keys that row i sees: from .. end - 1. */
__device__ void visible(const fb_softmax_call &call, int64_t i, int64_t *from, int64_t *end)
{
    const int64_t lo = i + call.lo, hi = i + call.hi + 1;
    *from = lo > 0 ? lo : 0;
    *end = hi < call.nk ? hi : call.nk;
    if (*end < *from)
        *end = *from;
}

/* exp(x - top). The difference is taken first: a product with log2 e that one side rounds and the
 * other contracts would leave the largest p of a row off by half a step of its score. */
__device__ float exp_from(float x, float top)
{
    return exp2f((x - top) * log2e);
}

/* Maximum, and sum of exp(x - top), of what was seen. */
struct running {
    float top, sum;
};

__device__ running join(running a, running b)
{
    const float top = fmaxf(a.top, b.top);
    if (top == -INFINITY)
        return {top, 0};
    return {top, a.sum * exp_from(a.top, top) + b.sum * exp_from(b.top, top)};
}

/* The same value for all threads of the block. */
__device__ running reduce_row(running mine, running (&exchange)[warps])
{
    for (int step = 16; step > 0; step /= 2) {
        const running other = {__shfl_xor_sync(~0u, mine.top, step),
                               __shfl_xor_sync(~0u, mine.sum, step)};
        mine = join(mine, other);
    }
    __syncthreads(); /* the last row's results are read */
    if (threadIdx.x % 32 == 0)
        exchange[threadIdx.x / 32] = mine;
    __syncthreads();
    running all = exchange[0];
    for (int w = 1; w < warps; w++)
        all = join(all, exchange[w]);
    return all;
}

template <class T>
__global__ void __launch_bounds__(threads)
    online_kernel(const __grid_constant__ fb_softmax_call call)
{
    __shared__ running exchange[warps];
    for (int64_t r = blockIdx.x; r < call.heads * call.nq; r += gridDim.x) {
        const int64_t head = r / call.nq, i = r % call.nq;
        const float *s = call.s + head * call.head_s + i * call.nk;
        T *p = (T *)call.p + head * call.head_p + i * call.nk;
        int64_t from, end;
        visible(call, i, &from, &end);
        running mine = {-INFINITY, 0};
        for (int64_t j = from + threadIdx.x; j < end; j += threads)
            mine = join(mine, {s[j], 1});
        const running row = reduce_row(mine, exchange);
        const float factor = row.sum > 0 ? 1 / row.sum : 0;
        for (int64_t j = threadIdx.x; j < call.nk; j += threads)
            p[j] = narrow<T>(j >= from && j < end ? exp_from(s[j], row.top) * factor : 0);
        if (threadIdx.x == 0)
            call.lse[head * call.head_lse + i * call.row_lse] =
                row.sum > 0 ? row.top + logf(row.sum) : -INFINITY;
    }
}

__global__ void __launch_bounds__(threads)
    plain_kernel(const __grid_constant__ fb_softmax_call call)
{
    for (int64_t r = (int64_t)blockIdx.x * threads + threadIdx.x; r < call.heads * call.nq;
         r += (int64_t)gridDim.x * threads) {
        const int64_t head = r / call.nq, i = r % call.nq;
        const float *s = call.s + head * call.head_s + i * call.nk;
        float *p = (float *)call.p + head * call.head_p + i * call.nk;
        int64_t from, end;
        visible(call, i, &from, &end);
        float top = -INFINITY, sum = 0;
        for (int64_t j = from; j < end; j++)
            top = fmaxf(top, s[j]);
        for (int64_t j = from; j < end; j++)
            sum += expf(s[j] - top);
        for (int64_t j = 0; j < call.nk; j++)
            p[j] = j >= from && j < end ? expf(s[j] - top) / sum : 0;
        call.lse[head * call.head_lse + i * call.row_lse] = sum > 0 ? top + logf(sum) : -INFINITY;
    }
}

/* Again: p is made from s and lse and written, too. */
template <class T, bool Again>
__global__ void __launch_bounds__(threads)
    gradient_kernel(const __grid_constant__ fb_softmax_call call)
{
    for (int64_t r = blockIdx.x; r < call.heads * call.nq; r += gridDim.x) {
        const int64_t head = r / call.nq, i = r % call.nq;
        const float *s = call.s + head * call.head_s + i * call.nk;
        const float *dp = call.dp + head * call.head_dp + i * call.nk;
        T *p = (T *)call.p + head * call.head_p + i * call.nk;
        T *ds = (T *)call.ds + head * call.head_ds + i * call.nk;
        const float delta = call.delta[head * call.head_delta + i];
        const float lse = Again ? call.lse[head * call.head_lse + i * call.row_lse] : 0;
        int64_t from, end;
        visible(call, i, &from, &end);
        for (int64_t j = threadIdx.x; j < call.nk; j += threads) {
            const bool seen = j >= from && j < end;
            float x = 0;
            if (Again) {
                x = seen ? exp_from(s[j], lse) : 0;
                p[j] = narrow<T>(x);
            } else {
                x = widen(p[j]);
            }
            ds[j] = narrow<T>(seen ? x * (dp[j] - delta) : 0);
        }
    }
}

template <class T>
__global__ void __launch_bounds__(threads)
    convert_kernel(const __grid_constant__ fb_convert_call call)
{
    const int64_t count = call.heads * call.n * call.width;
    for (int64_t at = (int64_t)blockIdx.x * threads + threadIdx.x; at < count;
         at += (int64_t)gridDim.x * threads) {
        const int64_t c = at % call.width, r = at / call.width;
        const int64_t head = r / call.n, i = r % call.n;
        ((T *)call.out)[head * call.head_out + i * call.row_out + c] =
            narrow<T>(call.in[head * call.head_in + i * call.row_in + c]);
    }
}

unsigned blocks_for(int64_t items)
{
    return (unsigned)(items < most_blocks ? items : most_blocks);
}

template <bool Again>
int launch_gradient(const struct fb_softmax_call &call, cudaStream_t stream)
{
    const int64_t rows = call.heads * call.nq;
    if (rows == 0 || call.nk == 0)
        return cudaSuccess;
    if (call.element == FB_CUDA_FP32)
        gradient_kernel<float, Again><<<blocks_for(rows), threads, 0, stream>>>(call);
    else if (call.element == FB_CUDA_BF16)
        gradient_kernel<__nv_bfloat16, Again><<<blocks_for(rows), threads, 0, stream>>>(call);
    else
        gradient_kernel<__half, Again><<<blocks_for(rows), threads, 0, stream>>>(call);
    return cudaGetLastError();
}

} // namespace

extern "C" int fb_softmax_online(const struct fb_softmax_call *call, void *stream)
{
    const int64_t rows = call->heads * call->nq;
    cudaStream_t s = (cudaStream_t)stream;
    if (rows == 0)
        return cudaSuccess;
    if (call->element == FB_CUDA_FP32)
        online_kernel<float><<<blocks_for(rows), threads, 0, s>>>(*call);
    else if (call->element == FB_CUDA_BF16)
        online_kernel<__nv_bfloat16><<<blocks_for(rows), threads, 0, s>>>(*call);
    else
        online_kernel<__half><<<blocks_for(rows), threads, 0, s>>>(*call);
    return cudaGetLastError();
}

extern "C" int fb_softmax_plain(const struct fb_softmax_call *call, void *stream)
{
    const int64_t rows = call->heads * call->nq;
    if (rows == 0)
        return cudaSuccess;
    if (call->element != FB_CUDA_FP32)
        return cudaErrorInvalidValue;
    plain_kernel<<<blocks_for((rows + threads - 1) / threads), threads, 0, (cudaStream_t)stream>>>(
        *call);
    return cudaGetLastError();
}

extern "C" int fb_softmax_gradient(const struct fb_softmax_call *call, void *stream)
{
    return launch_gradient<false>(*call, (cudaStream_t)stream);
}

extern "C" int fb_softmax_gradient_again(const struct fb_softmax_call *call, void *stream)
{
    return launch_gradient<true>(*call, (cudaStream_t)stream);
}

extern "C" int fb_convert_rows(const struct fb_convert_call *call, void *stream)
{
    const int64_t count = call->heads * call->n * call->width;
    const unsigned blocks = blocks_for((count + threads - 1) / threads);
    cudaStream_t s = (cudaStream_t)stream;
    if (count == 0)
        return cudaSuccess;
    if (call->element == FB_CUDA_FP32)
        convert_kernel<float><<<blocks, threads, 0, s>>>(*call);
    else if (call->element == FB_CUDA_BF16)
        convert_kernel<__nv_bfloat16><<<blocks, threads, 0, s>>>(*call);
    else
        convert_kernel<__half><<<blocks, threads, 0, s>>>(*call);
    return cudaGetLastError();
}
