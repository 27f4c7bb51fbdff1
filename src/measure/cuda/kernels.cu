/* SPDX-License-Identifier: BSD-3-Clause
 *
 * kernels.cu: the kernels of the harness itself: hashes, a search for elements that nobody
 * wrote, noise. Grids are small and loop, so that any 64-bit size will do. All are deterministic:
 * the hash is a sum of integers, the search a minimum, whatever the order of threads.
 */
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "measure/cuda/kernels.h"

namespace {

constexpr int threads = 256, most_blocks = 4096;

int blocks_for(uint64_t items)
{
    const uint64_t blocks = (items + threads - 1) / threads;
    return (int)(blocks < 1 ? 1 : blocks < most_blocks ? blocks : most_blocks);
}

__device__ uint64_t first_item()
{
    return (uint64_t)blockIdx.x * threads + threadIdx.x;
}

__device__ uint64_t item_step()
{
    return (uint64_t)gridDim.x * threads;
}

/* A bijection of the word for each index: any change of one word changes the sum. */
__device__ uint64_t mix(uint64_t word, uint64_t index)
{
    uint64_t x = word + 0x9E3779B97F4A7C15u * (index + 1);
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

__device__ void add_warp_sum(uint64_t sum, uint64_t *to)
{
    for (int step = 16; step > 0; step /= 2)
        sum += __shfl_xor_sync(~0u, sum, step);
    if (threadIdx.x % 32 == 0)
        atomicAdd((unsigned long long *)to, (unsigned long long)sum);
}

/* data is aligned to 8 bytes: blocks start on 256. */
__global__ void __launch_bounds__(threads)
    hash_kernel(const unsigned char *data, uint64_t bytes, uint64_t *to)
{
    const uint64_t words = bytes / 8;
    uint64_t sum = 0;
    for (uint64_t i = first_item(); i < words; i += item_step())
        sum += mix(((const uint64_t *)data)[i], i);
    for (uint64_t i = 8 * words + first_item(); i < bytes; i += item_step())
        sum += mix(data[i], i + words);
    add_warp_sum(sum, to);
}

struct walk {
    int64_t shape[4], stride[4];
};

template <class Bits>
__global__ void __launch_bounds__(threads)
    find_kernel(const Bits *data, struct walk w, unsigned long long *first)
{
    const uint64_t count = (uint64_t)(w.shape[0] * w.shape[1] * w.shape[2] * w.shape[3]);
    for (uint64_t i = first_item(); i < count; i += item_step()) {
        const int64_t c = (int64_t)(i % w.shape[3]), row = (int64_t)(i / w.shape[3]);
        const int64_t n = row % w.shape[2], head = row / w.shape[2];
        const int64_t at = head / w.shape[1] * w.stride[0] + head % w.shape[1] * w.stride[1] +
                           n * w.stride[2] + c * w.stride[3];
        if (data[at] == (Bits) ~(Bits)0)
            atomicMin(first, (unsigned long long)i);
    }
}

__device__ float noise(uint64_t i)
{
    return (float)(mix(i, 0) >> 40) * 0x1p-24f - 0.5f;
}

__device__ void store(float *to, float x)
{
    *to = x;
}
__device__ void store(__half *to, float x)
{
    *to = __float2half(x);
}
__device__ void store(__nv_bfloat16 *to, float x)
{
    *to = __float2bfloat16(x);
}

template <class T>
__global__ void __launch_bounds__(threads) noise_kernel(T *data, uint64_t count)
{
    for (uint64_t i = first_item(); i < count; i += item_step())
        store(data + i, noise(i));
}

__global__ void empty_kernel()
{
}

/* clocks: 1500 to the microsecond is near enough for a load. */
__global__ void __launch_bounds__(threads)
    burst_kernel(unsigned *numbers, uint64_t count, long long clocks)
{
    const long long start = clock64();
    for (uint64_t i = first_item(); clock64() - start < clocks; i += item_step())
        atomicAdd(&numbers[i % count], 1u);
}

} // namespace

extern "C" int fb_cuda_launch_empty(void *stream)
{
    empty_kernel<<<1, 1, 0, (cudaStream_t)stream>>>();
    return cudaGetLastError();
}

extern "C" int fb_cuda_hash(const void *data, uint64_t bytes, uint64_t *sum, void *stream)
{
    hash_kernel<<<blocks_for(bytes / 8), threads, 0, (cudaStream_t)stream>>>(
        (const unsigned char *)data, bytes, sum);
    return cudaGetLastError();
}

extern "C" int fb_cuda_find_ones(const struct fb_tensor *t, uint64_t *first, void *stream)
{
    struct walk w;
    uint64_t count = 1;
    for (int i = 0; i < 4; i++) {
        w.shape[i] = t->shape[i];
        w.stride[i] = t->stride[i];
        count *= (uint64_t)t->shape[i];
    }
    if (t->dtype == FB_FP32)
        find_kernel<<<blocks_for(count), threads, 0, (cudaStream_t)stream>>>(
            (const uint32_t *)t->data, w, (unsigned long long *)first);
    else
        find_kernel<<<blocks_for(count), threads, 0, (cudaStream_t)stream>>>(
            (const uint16_t *)t->data, w, (unsigned long long *)first);
    return cudaGetLastError();
}

extern "C" int fb_cuda_burst(void *memory, uint64_t bytes, int blocks, int microseconds,
                             void *stream)
{
    burst_kernel<<<blocks, threads, 0, (cudaStream_t)stream>>>((unsigned *)memory, bytes / 4,
                                                               1500 * (long long)microseconds);
    return cudaGetLastError();
}

extern "C" int fb_cuda_fill_noise(void *data, enum fb_dtype dtype, int64_t count, void *stream)
{
    const int blocks = blocks_for((uint64_t)count);
    cudaStream_t s = (cudaStream_t)stream;
    if (dtype == FB_FP32)
        noise_kernel<<<blocks, threads, 0, s>>>((float *)data, (uint64_t)count);
    else if (dtype == FB_BF16)
        noise_kernel<<<blocks, threads, 0, s>>>((__nv_bfloat16 *)data, (uint64_t)count);
    else
        noise_kernel<<<blocks, threads, 0, s>>>((__half *)data, (uint64_t)count);
    return cudaGetLastError();
}
