/* SPDX-License-Identifier: BSD-3-Clause
 *
 * kernel.cu: the softmax and its gradient in double precision, a block of 256 threads for
 * each row of scores; the products before and after are cuBLAS's.
 *
 * A row is read three times in the forward (largest score, sum, p) and once in the backward; it
 * lies in the L2 meanwhile. The sink is one more term of the sum. Shared memory: a double a warp.
 * Barriers: two for each sum over a row. Deterministic: every sum runs in one order.
 */
#include <math_constants.h>

#include "verify/device/kernel.h"

namespace {

constexpr int threads = 256, warps = threads / 32;
using call_type = fb_ref_device_call;
using block_type = fb_ref_device_block;

/* The row of this block: blockIdx.x is its query, blockIdx.y its key head. */
struct row {
    int64_t query, head, flat; /* flat: among the queries of all heads */
    int64_t offset;            /* of its first key in the blocks of scores */
    int64_t lo, hi;            /* the keys that it sees, counted from the block's first */
};

__device__ row row_of(const call_type &call, const block_type &block)
{
    row r;
    r.query = block.first + blockIdx.x;
    r.head = blockIdx.y * (call.heads / call.key_heads) + block.member;
    r.flat = r.head * call.nq + r.query;
    r.offset = (blockIdx.y * block.rows + blockIdx.x) * block.keys;
    r.lo = call.lo[r.query] - block.from;
    r.hi = call.hi[r.query] - block.from;
    return r;
}

/* The largest, or the sum, over the block; the same in every thread. */
template <bool is_sum>
__device__ double over_row(double x)
{
    __shared__ double part[warps];
    for (int step = 16; step > 0; step /= 2) {
        const double other = __shfl_xor_sync(~0u, x, step);
        x = is_sum ? x + other : fmax(x, other);
    }
    __syncthreads(); /* the parts of the sum before have been read */
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = x;
    __syncthreads();
    x = part[0];
    for (int w = 1; w < warps; w++)
        x = is_sum ? x + part[w] : fmax(x, part[w]);
    return x;
}

/* The score of a pair, and the derivative of the softcap. j counts from the block's first key. */
__device__ double score(const call_type &call, const block_type &block, const row &r, int64_t j,
                        double *derivative)
{
    const double slope = call.slope[r.head % call.h];
    double s = call.scale * call.product[r.offset + j];
    *derivative = 1;
    if (call.softcap != 0) {
        const double t = tanh(s / call.softcap);
        *derivative = 1 - t * t;
        s = call.softcap * t;
    }
    const double distance = fabs((double)(r.query + call.nk - call.nq - (block.from + j)));
    return slope == 0 ? s : s - slope * distance;
}

__global__ void __launch_bounds__(threads)
    softmax_kernel(const __grid_constant__ fb_ref_device_call call,
                   const __grid_constant__ fb_ref_device_block block)
{
    const row r = row_of(call, block);
    const bool sees = r.lo < r.hi;
    const double sink = sees ? call.sink[r.head % call.h] : -CUDART_INF;
    double top = sink, sum = 0, derivative;
    for (int64_t j = r.lo + threadIdx.x; j < r.hi; j += threads)
        top = fmax(top, score(call, block, r, j, &derivative));
    top = over_row<false>(top);
    for (int64_t j = r.lo + threadIdx.x; j < r.hi; j += threads)
        sum += exp(score(call, block, r, j, &derivative) - top);
    sum = over_row<true>(sum) + (sees ? exp(sink - top) : 0);
    for (int64_t j = threadIdx.x; j < block.keys; j += threads) {
        const bool visible = j >= r.lo && j < r.hi;
        call.p[r.offset + j] = visible ? exp(score(call, block, r, j, &derivative) - top) / sum : 0;
    }
    if (threadIdx.x == 0)
        call.lse[r.flat] = sees ? top + log(sum) : -CUDART_INF;
}

__global__ void __launch_bounds__(threads)
    gradient_kernel(const __grid_constant__ fb_ref_device_call call,
                    const __grid_constant__ fb_ref_device_block block)
{
    const row r = row_of(call, block);
    double delta = 0, derivative;
    for (int64_t c = threadIdx.x; c < call.dv_width; c += threads)
        delta += call.dout[r.flat * call.dv_width + c] * call.o[r.flat * call.dv_width + c];
    delta = over_row<true>(delta) - call.dlse[r.flat];
    for (int64_t j = threadIdx.x; j < block.keys; j += threads) {
        const double p = call.p[r.offset + j], dp = call.dp[r.offset + j];
        score(call, block, r, j, &derivative);
        call.dp[r.offset + j] = p == 0 ? 0 : p * (dp - delta) * derivative;
    }
}

int launch(void (*kernel)(call_type, block_type), const call_type &call, const block_type &block)
{
    if (call.key_heads > 65535)
        return cudaErrorInvalidValue;
    const dim3 grid((unsigned)block.rows, (unsigned)call.key_heads);
    kernel<<<grid, threads>>>(call, block);
    return cudaGetLastError();
}

} // namespace

extern "C" int fb_ref_device_softmax(const struct fb_ref_device_call *call,
                                     const struct fb_ref_device_block *block)
{
    return launch(softmax_kernel, *call, *block);
}

extern "C" int fb_ref_device_gradient(const struct fb_ref_device_call *call,
                                      const struct fb_ref_device_block *block)
{
    return launch(gradient_kernel, *call, *block);
}
