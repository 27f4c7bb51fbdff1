/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Values for the inputs of the device tests: normal numbers by a hash of seed and place, and an LSE
 * to time with.
 */
#ifndef FB_TESTS_DEVICE_INPUTS_CUH
#define FB_TESTS_DEVICE_INPUTS_CUH

#include <math.h>
#include <stdint.h>

static __device__ uint32_t mix(uint64_t x)
{
    x = (x ^ (x >> 31)) * 0x7fb5d329728ea185ull;
    x = (x ^ (x >> 27)) * 0x81dadef4bc2dd44dull;
    return (uint32_t)((x ^ (x >> 33)) >> 16);
}

template <class T>
__global__ void fill_normal(T *x, size_t n, uint64_t seed, float sigma, float mean)
{
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float u = (mix(seed * 1000003 + 2 * i) + 1.0f) / 4294967296.0f;
        float v = mix(seed * 1000003 + 2 * i + 1) / 4294967296.0f;
        x[i] = (T)(mean + sigma * sqrtf(-2 * logf(fminf(u, 1.0f))) * cospif(2 * v));
    }
}

/* What LSE is on average for N(0,1) inputs: timing wants real magnitudes, not exact ones. */
static __global__ void fill_lse(float *lse, size_t n, int nq, int nk, bool causal)
{
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        int seen = causal ? min(nk, max(0, (int)(i % nq) + 1 + nk - nq)) : nk;
        lse[i] = seen ? logf(seen) + 0.5f : -INFINITY;
    }
}

#endif
