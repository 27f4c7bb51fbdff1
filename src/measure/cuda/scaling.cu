/* SPDX-License-Identifier: BSD-3-Clause
 *
 * scaling.cu: the device's side of factors on tensors (core/memory.h): a tensor times the
 * factors of its heads, and how far results are from others under such factors. Both are one pass
 * over memory, so that a timed call can be looked at in less time than it took.
 */
#include <cstring>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "measure/cuda/scaling.h"

namespace {

constexpr int threads = 256, most_blocks = 4096;

struct view {
    int64_t shape[4], stride[4];
};

view view_of(const struct fb_tensor *t)
{
    view v;
    for (int i = 0; i < 4; i++) {
        v.shape[i] = t->shape[i];
        v.stride[i] = t->stride[i];
    }
    return v;
}

__device__ float get(const float *from)
{
    return *from;
}
__device__ float get(const __half *from)
{
    return __half2float(*from);
}
__device__ float get(const __nv_bfloat16 *from)
{
    return __bfloat162float(*from);
}
__device__ void put(float *to, float x)
{
    *to = x;
}
__device__ void put(__half *to, float x)
{
    *to = __float2half(x);
}
__device__ void put(__nv_bfloat16 *to, float x)
{
    *to = __float2bfloat16(x);
}

/* Element `index` of [b, h, n, c] in logical order. */
struct place {
    int64_t b, h, n, c;
};

__device__ place place_of(uint64_t index, const view &v)
{
    place p;
    p.c = (int64_t)(index % v.shape[3]);
    index /= v.shape[3];
    p.n = (int64_t)(index % v.shape[2]);
    index /= v.shape[2];
    p.h = (int64_t)(index % v.shape[1]);
    p.b = (int64_t)(index / v.shape[1]);
    return p;
}

__device__ int64_t offset(const place &p, const view &v)
{
    return p.b * v.stride[0] + p.h * v.stride[1] + p.n * v.stride[2] + p.c * v.stride[3];
}

/* fb_factor_index, as the device compiles it. */
__device__ float factor_at(const struct fb_factors &f, const view &v, const place &p)
{
    return f.value ? f.value[(v.shape[0] == 1 ? 0 : p.b) * f.hk + p.h * f.hk / v.shape[1]] : 1.0f;
}

template <class T>
__global__ void __launch_bounds__(threads)
    scale_kernel(T *to, view out, const T *from, view in, struct fb_factors factors, uint64_t count)
{
    for (uint64_t i = (uint64_t)blockIdx.x * threads + threadIdx.x; i < count;
         i += (uint64_t)gridDim.x * threads) {
        const place p = place_of(i, out);
        put(to + offset(p, out), factor_at(factors, out, p) * get(from + offset(p, in)));
    }
}

/* Sums in device memory. worst holds the bits of a float that is not negative, whose order is that
 * of the bits. */
struct sums {
    unsigned long long count;
    double square;
    unsigned worst;
};

template <class T>
__global__ void __launch_bounds__(threads)
    compare_kernel(const T *got, view seen, const T *base, view known, struct fb_factors factors,
                   uint64_t count, struct sums *to)
{
    unsigned long long differing = 0;
    double square = 0;
    float worst = 0;
    for (uint64_t i = (uint64_t)blockIdx.x * threads + threadIdx.x; i < count;
         i += (uint64_t)gridDim.x * threads) {
        const place p = place_of(i, seen);
        const float x = get(got + offset(p, seen)) / factor_at(factors, seen, p);
        const float y = get(base + offset(p, known));
        if (x == y || (isnan(x) && isnan(y)))
            continue;
        const float apart = fabsf(x - y);
        differing++;
        square += (double)apart * apart;
        worst = isnan(apart) ? INFINITY : fmaxf(worst, apart);
    }
    for (int step = 16; step > 0; step /= 2) {
        differing += __shfl_xor_sync(~0u, differing, step);
        square += __shfl_xor_sync(~0u, square, step);
        worst = fmaxf(worst, __shfl_xor_sync(~0u, worst, step));
    }
    if (threadIdx.x % 32 == 0 && differing) {
        atomicAdd(&to->count, differing);
        atomicAdd(&to->square, square);
        atomicMax(&to->worst, __float_as_uint(worst));
    }
}

uint64_t elements_of(const view &v)
{
    return (uint64_t)v.shape[0] * v.shape[1] * v.shape[2] * v.shape[3];
}

int blocks_for(uint64_t items)
{
    const uint64_t blocks = (items + threads - 1) / threads;
    return (int)(blocks < 1 ? 1 : blocks < most_blocks ? blocks : most_blocks);
}

template <class T>
int scale(const struct fb_tensor *to, const struct fb_tensor *from, const struct fb_factors *f,
          cudaStream_t stream)
{
    const view out = view_of(to);
    const uint64_t count = elements_of(out);
    if (count)
        scale_kernel<<<blocks_for(count), threads, 0, stream>>>(
            (T *)to->data, out, (const T *)from->data, view_of(from), *f, count);
    return cudaGetLastError();
}

template <class T>
int compare(const struct fb_tensor *got, const struct fb_tensor *base, const struct fb_factors *f,
            struct sums *to, cudaStream_t stream)
{
    const view seen = view_of(got);
    const uint64_t count = elements_of(seen);
    if (count)
        compare_kernel<<<blocks_for(count), threads, 0, stream>>>(
            (const T *)got->data, seen, (const T *)base->data, view_of(base), *f, count, to);
    return cudaGetLastError();
}

} // namespace

extern "C" int fb_cuda_scale(const struct fb_tensor *to, const struct fb_tensor *from,
                             const struct fb_factors *factors, void *stream)
{
    cudaStream_t s = (cudaStream_t)stream;
    if (to->dtype == FB_FP32)
        return scale<float>(to, from, factors, s);
    return to->dtype == FB_BF16 ? scale<__nv_bfloat16>(to, from, factors, s)
                                : scale<__half>(to, from, factors, s);
}

extern "C" int fb_cuda_compare(const struct fb_tensor *got, const struct fb_tensor *base,
                               const struct fb_factors *factors, struct fb_difference *difference,
                               void *stream)
{
    cudaStream_t s = (cudaStream_t)stream;
    struct sums *place = NULL, sums;
    int error = cudaMalloc((void **)&place, sizeof *place);
    if (!error)
        error = cudaMemsetAsync(place, 0, sizeof *place, s);
    if (!error && got->dtype == FB_FP32)
        error = compare<float>(got, base, factors, place, s);
    else if (!error && got->dtype == FB_BF16)
        error = compare<__nv_bfloat16>(got, base, factors, place, s);
    else if (!error)
        error = compare<__half>(got, base, factors, place, s);
    if (!error)
        error = cudaMemcpyAsync(&sums, place, sizeof sums, cudaMemcpyDeviceToHost, s);
    if (!error)
        error = cudaStreamSynchronize(s);
    cudaFree(place);
    if (error)
        return error;
    float worst;
    memcpy(&worst, &sums.worst, sizeof worst);
    difference->count = (int64_t)sums.count;
    difference->square = sums.square;
    difference->worst = worst;
    return 0;
}
