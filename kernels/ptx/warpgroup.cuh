/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Warp and warpgroup helpers of sm_90: register re-allocation, named barriers, the 128-byte
 * swizzle, and stmatrix.
 *
 * The swizzle is the one the copy engine (CU_TENSOR_MAP_SWIZZLE_128B) and wgmma descriptors agree
 * on: a panel holds rows of 128 bytes (64 16-bit columns), panels start at multiples of 1024 bytes,
 * and the 16-byte chunk c of row r lies at chunk position c ^ (r & 7).
 */
#ifndef FB_KERNELS_PTX_WARPGROUP_CUH
#define FB_KERNELS_PTX_WARPGROUP_CUH

#include <stdint.h>

namespace fb {

/* Registers of each thread of the executing warpgroup from here on; multiples of 8. */
template <int REGISTERS>
__device__ __forceinline__ void registers_shrink()
{
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(REGISTERS));
}

template <int REGISTERS>
__device__ __forceinline__ void registers_grow()
{
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(REGISTERS));
}

/* The same value, but what is computed from it is computed anew: for what is needed only long after
 * and would hold registers till then. */
__device__ __forceinline__ int register_copy(int x)
{
    int y;
    asm volatile("mov.b32 %0, %1;" : "=r"(y) : "r"(x));
    return y;
}

/* Named barrier `id` (1..15; 0 is __syncthreads) among `threads` threads, whole warps. */
__device__ __forceinline__ void named_barrier_sync(int id, int threads)
{
    asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

__device__ __forceinline__ void named_barrier_arrive(int id, int threads)
{
    asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

/* Byte offset of 16-byte chunk `chunk` (0..7) of row `row` in a swizzled panel. */
__host__ __device__ __forceinline__ uint32_t swizzle_offset(uint32_t row, uint32_t chunk)
{
    return row * 128 + ((chunk ^ (row & 7)) << 4);
}

/*
 * Four 8x8 blocks of 16-bit elements from registers in mma fragment order.  Lane l gives the
 * address of row l%8 of block l/8.  The transposing form stores each block's transpose.
 */
__device__ __forceinline__ void stmatrix_x4(uint32_t addr, uint32_t r0, uint32_t r1, uint32_t r2,
                                            uint32_t r3)
{
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(addr),
                 "r"(r0), "r"(r1), "r"(r2), "r"(r3)
                 : "memory");
}

__device__ __forceinline__ void stmatrix_x4_trans(uint32_t addr, uint32_t r0, uint32_t r1,
                                                  uint32_t r2, uint32_t r3)
{
    asm volatile(
        "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(addr),
        "r"(r0), "r"(r1), "r"(r2), "r"(r3)
        : "memory");
}

__device__ __forceinline__ float2 shared_load2(uint32_t addr)
{
    float2 v;
    asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(v.x), "=f"(v.y) : "r"(addr) : "memory");
    return v;
}

__device__ __forceinline__ float4 shared_load4(uint32_t addr)
{
    float4 v;
    asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
                 : "r"(addr)
                 : "memory");
    return v;
}

__device__ __forceinline__ uint4 shared_load_chunk(uint32_t addr)
{
    uint4 v;
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "r"(addr)
                 : "memory");
    return v;
}

__device__ __forceinline__ void shared_store(uint32_t addr, float x)
{
    asm volatile("st.shared.f32 [%0], %1;" ::"r"(addr), "f"(x) : "memory");
}

__device__ __forceinline__ void shared_store4(uint32_t addr, float a, float b, float c, float d)
{
    asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(addr), "f"(a), "f"(b), "f"(c),
                 "f"(d)
                 : "memory");
}

} // namespace fb
#endif
