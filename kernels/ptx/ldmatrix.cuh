/* SPDX-License-Identifier: BSD-3-Clause
 *
 * ldmatrix and its inverse: 8x8 blocks of 16-bit elements between shared memory and the registers
 * of a warp, in mma fragment order (sm_75 and later; stmatrix sm_90, written out before).
 *
 * Lane l gives the address of row l % 8 of block l / 8, 16 bytes, 16-byte aligned. Register i of
 * lane l then holds elements 2 (l % 4) and 2 (l % 4) + 1 of row l / 4 of block i; the transposing
 * form delivers each block's transpose.
 */
#ifndef FB_KERNELS_PTX_LDMATRIX_CUH
#define FB_KERNELS_PTX_LDMATRIX_CUH

#include <stdint.h>

namespace fb {

__device__ __forceinline__ void ldmatrix_x4(uint32_t (&r)[4], uint32_t at)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(at)
                 : "memory");
}

__device__ __forceinline__ void ldmatrix_x4_trans(uint32_t (&r)[4], uint32_t at)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(at)
                 : "memory");
}

__device__ __forceinline__ float shared_float(uint32_t at)
{
    float x;
    asm volatile("ld.shared.f32 %0, [%1];" : "=f"(x) : "r"(at) : "memory");
    return x;
}

/* The inverse of ldmatrix_x4: `at` is the same address of the same lane. */
__device__ __forceinline__ void matrix_store_x4(uint32_t at, const uint32_t (&r)[4])
{
#if __CUDA_ARCH__ >= 900
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(at),
                 "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3])
                 : "memory");
#else
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        uint32_t row = __shfl_sync(0xffffffffu, at, 8 * i + lane / 4);
        asm volatile("st.shared.b32 [%0], %1;" ::"r"(row + 4 * (lane % 4)), "r"(r[i]) : "memory");
    }
#endif
}

} // namespace fb
#endif
