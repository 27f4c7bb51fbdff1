/* SPDX-License-Identifier: BSD-3-Clause
 *
 * delta.cuh: the row sums of dout o o, one pass over memory.
 *
 * Idea: a team of 2^k neighbouring lanes (2^k <= 32) owns a row. Its lanes read the row in turns of
 * one 16-byte load each from dout and o, multiply in fp32, and add their partial sums by a
 * butterfly of shuffles. The team is the smallest that covers the row in one turn, or a warp: 16
 * lanes for d = 128 in a 16-bit type, so that no lane idles at the usual head sizes.
 *
 * Alignment: 16-byte loads need both bases on 16 bytes and every stride a multiple of the 8 (4 in
 * fp32) elements of a load; the host looks once and chooses the kernel. Elements behind the last
 * whole load are added one a lane. Everything else takes the scalar kernel, one element a load.
 *
 * Budget: 256 threads, no shared memory, at most 54 registers (48 on sm_80 and later): five blocks
 * an SM with 32 bytes a thread under way are 40 KB, while latency times bandwidth asks for about 25
 * KB an SM of the fastest device (4.8 TB/s, 0.7 us, 132 SMs). A row costs one 64-bit multiplication
 * a tensor and no division: blockIdx.y is batch and head.
 *
 * Deterministic: which lane adds which element, and in what order, depends on d and the kernel
 * chosen alone; nothing is atomic. A sum is at most 9 products deep in a lane, then 5 additions.
 */
#ifndef FB_KERNELS_DENSE_DELTA_CUH
#define FB_KERNELS_DENSE_DELTA_CUH

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>

#include "kernels/dense/delta.h"

namespace fb {

constexpr int delta_threads = 256;

__device__ __forceinline__ float delta_widen(float x)
{
    return x;
}
__device__ __forceinline__ float delta_widen(__half x)
{
    return __half2float(x);
}
__device__ __forceinline__ float delta_widen(__nv_bfloat16 x)
{
    return __bfloat162float(x);
}

/* The elements of one load. */
template <class T, int Width>
struct alignas(sizeof(T) * Width) delta_load {
    T x[Width];
};

/* What one lane adds of a row of d elements: its share of the whole loads, then of the tail. */
template <class T, int Width>
__device__ __forceinline__ float delta_lane_sum(const T *dout, const T *o, int d, int lane,
                                                int lanes)
{
    using load = delta_load<T, Width>;
    float sum = 0;
    for (int c = lane * Width; c + Width <= d; c += lanes * Width) {
        const load x = *(const load *)(dout + c);
        const load y = *(const load *)(o + c);
#pragma unroll
        for (int i = 0; i < Width; i++)
            sum = fmaf(delta_widen(x.x[i]), delta_widen(y.x[i]), sum);
    }
    for (int c = d / Width * Width + lane; c < d; c += lanes)
        sum = fmaf(delta_widen(dout[c]), delta_widen(o[c]), sum);
    return sum;
}

/* Every lane of the team gets the sum; `team` names its lanes within the warp. */
__device__ __forceinline__ float delta_team_sum(float sum, int lanes, unsigned team)
{
    for (int step = lanes / 2; step > 0; step /= 2)
        sum += __shfl_xor_sync(team, sum, step);
    return sum;
}

__device__ __forceinline__ int64_t delta_offset(const int64_t (&stride)[3], int64_t b, int64_t h,
                                                int64_t i)
{
    return b * stride[0] + h * stride[1] + i * stride[2];
}

/* Blocks in y share the b * h heads, blocks in x the n rows of a head; lanes is a power of two. */
template <class T, int Width>
__global__ void __launch_bounds__(delta_threads)
    delta_kernel(const __grid_constant__ struct fb_cuda_delta call, int lanes)
{
    const int lane = threadIdx.x % lanes;
    const int teams = delta_threads / lanes;
    const unsigned team = (lanes == 32 ? ~0u : (1u << lanes) - 1) << (threadIdx.x % 32 - lane);
    for (int64_t bh = blockIdx.y; bh < call.b * call.h; bh += gridDim.y) {
        const int64_t b = bh / call.h, h = bh % call.h;
        const T *dout = (const T *)call.dout + delta_offset(call.dout_stride, b, h, 0);
        const T *o = (const T *)call.o + delta_offset(call.o_stride, b, h, 0);
        for (int64_t i = (int64_t)blockIdx.x * teams + threadIdx.x / lanes; i < call.n;
             i += (int64_t)gridDim.x * teams) {
            float sum = delta_lane_sum<T, Width>(
                dout + i * call.dout_stride[2], o + i * call.o_stride[2], (int)call.d, lane, lanes);
            sum = delta_team_sum(sum, lanes, team);
            if (lane == 0) {
                if (call.dlse)
                    sum -= call.dlse[delta_offset(call.dlse_stride, b, h, i)];
                call.delta[delta_offset(call.delta_stride, b, h, i)] = sum;
            }
        }
    }
}

} // namespace fb
#endif
