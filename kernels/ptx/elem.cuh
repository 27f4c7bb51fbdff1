/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Element types and the register-level conversions that every kernel needs.
 *
 * A kernel is a template over T, the 16-bit type of q, k, v, o and the gradients; all arithmetic
 * and all accumulators are fp32.  fb::elem<T> holds what differs between the two types.
 * Packing rounds to nearest even (cvt.rn).
 */
#ifndef FB_KERNELS_PTX_ELEM_CUH
#define FB_KERNELS_PTX_ELEM_CUH

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>

namespace fb {

template <class T>
struct elem;

template <>
struct elem<__nv_bfloat16> {
    static constexpr bool is_bf16 = true;
    /* Two fp32 to one register; lo goes to the lower 16 bits, as an mma fragment wants it. */
    static __device__ __forceinline__ uint32_t pack(float lo, float hi)
    {
        uint32_t r;
        asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(hi), "f"(lo));
        return r;
    }
    static __device__ __forceinline__ float lo(uint32_t r)
    {
        return __uint_as_float(r << 16);
    }
    static __device__ __forceinline__ float hi(uint32_t r)
    {
        return __uint_as_float(r & 0xffff0000u);
    }
};

template <>
struct elem<__half> {
    static constexpr bool is_bf16 = false;
    static __device__ __forceinline__ uint32_t pack(float lo, float hi)
    {
        uint32_t r;
        asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(hi), "f"(lo));
        return r;
    }
    static __device__ __forceinline__ float lo(uint32_t r)
    {
        return __half2float(__ushort_as_half((unsigned short)r));
    }
    static __device__ __forceinline__ float hi(uint32_t r)
    {
        return __half2float(__ushort_as_half((unsigned short)(r >> 16)));
    }
};

/* 2^x, relative error about 2^-22; results below 2^-126 become 0. */
__device__ __forceinline__ float exp2_approx(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

/* The dot product of 16 bytes of elements with 16 others. */
template <class T>
__device__ __forceinline__ float dot8(uint4 x, uint4 y)
{
    using E = elem<T>;
    float sum = 0;
    const uint32_t a[4] = {x.x, x.y, x.z, x.w}, b[4] = {y.x, y.y, y.z, y.w};
#pragma unroll
    for (int i = 0; i < 4; i++)
        sum += E::lo(a[i]) * E::lo(b[i]) + E::hi(a[i]) * E::hi(b[i]);
    return sum;
}

} // namespace fb
#endif
