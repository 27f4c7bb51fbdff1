/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The dQ accumulator in global memory of the mma.sync backward, and how tiles are added to it.
 *
 * It holds one block of M * D numbers a query tile, in the order of registers: the four values of
 * accumulator tile c (of a warp's Q_MT * Q_NT) of lane l of warp w are together, so that a warp
 * adds 512 neighbouring bytes an instruction. On sm_90 a lane's four travel as one vector; before,
 * value x of all lanes lies together, so that each scalar addition of a warp covers 128
 * neighbouring bytes. Nobody else knows the order, and all who add or read run from machine code
 * for the same architecture.
 */
#ifndef FB_KERNELS_SM80_DQ_SUM_CUH
#define FB_KERNELS_SM80_DQ_SUM_CUH

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "kernels/sm80/args.h"

namespace fb {

/* Adds a lane's four of accumulator tile c, or assigns them: the first of a sum. One instruction of
 * two, by a predicate: a branch would stand between the products and the additions that run under
 * them. */
__device__ __forceinline__ void sm80_dq_give4(float *block, int warp, int lane, int c, int count,
                                              const float (&x)[4], bool assigns)
{
#if __CUDA_ARCH__ >= 900
    float *at = block + ((warp * count + c) * 32 + lane) * 4;
    asm volatile("{\n"
                 ".reg .pred assigns;\n"
                 "setp.ne.b32 assigns, %5, 0;\n"
                 "@assigns st.global.v4.f32 [%0], {%1, %2, %3, %4};\n"
                 "@!assigns red.relaxed.gpu.global.add.v4.f32 [%0], {%1, %2, %3, %4};\n"
                 "}\n" ::"l"(at),
                 "f"(x[0]), "f"(x[1]), "f"(x[2]), "f"(x[3]), "r"((int)assigns)
                 : "memory");
#else
#pragma unroll
    for (int i = 0; i < 4; i++) {
        float *at = block + ((warp * count + c) * 4 + i) * 32 + lane;
        if (assigns)
            *at = x[i];
        else
            atomicAdd(at, x[i]);
    }
#endif
}

/* What was added, read back by the same lane of the same warp. */
__device__ __forceinline__ float4 sm80_dq_get4(const float *block, int warp, int lane, int c,
                                               int count)
{
#if __CUDA_ARCH__ >= 900
    return *(const float4 *)(block + ((warp * count + c) * 32 + lane) * 4);
#else
    const float *at = block + (warp * count + c) * 128 + lane;
    return make_float4(at[0], at[32], at[64], at[96]);
#endif
}

/* Asks for a block that will be added to, so that additions find it in the L2. */
template <int SIZE, int THREADS>
__device__ __forceinline__ void sm80_dq_fetch(const fb_sm80_args &p, int64_t block)
{
    const char *at = (const char *)p.dq_sum + block * (SIZE * 4);
#pragma unroll
    for (int line = threadIdx.x; line < SIZE / 32; line += THREADS)
        asm volatile("prefetch.global.L2 [%0];" ::"l"(at + 128 * line));
}

/* 16-bit sums: pairs of neighbours, each addition rounded. */
template <class Pair>
__device__ __forceinline__ void sm80_dq_add_pairs(Pair *block, int warp, int lane, int c, int count,
                                                  Pair low, Pair high)
{
    Pair *at = block + ((warp * count + c) * 32 + lane) * 2;
    atomicAdd(at, low);
    atomicAdd(at + 1, high);
}

/* Part `part` of PARTS of what a warp adds to a query tile's block of `size` numbers, or assigns
 * where nothing was added before. */
template <bool GENERAL, int PARTS, int MT, int NT>
__device__ __forceinline__ void sm80_dq_add(const fb_sm80_args &p, int64_t block, int part,
                                            int size, const float (&acc)[MT][NT][4], bool assigns)
{
    constexpr int MINE = MT * NT, COUNT = MINE * PARTS;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (GENERAL && p.round_dq != FB_SM80_FP32) {
#pragma unroll
        for (int c = 0; c < MINE; c++) {
            const float(&x)[4] = acc[c / NT][c % NT];
            if (p.round_dq == FB_SM80_BF16)
                sm80_dq_add_pairs((__nv_bfloat162 *)p.dq_sum + block * (size / 2), warp, lane,
                                  part * MINE + c, COUNT, __floats2bfloat162_rn(x[0], x[1]),
                                  __floats2bfloat162_rn(x[2], x[3]));
            else
                sm80_dq_add_pairs((__half2 *)p.dq_sum + block * (size / 2), warp, lane,
                                  part * MINE + c, COUNT, __floats2half2_rn(x[0], x[1]),
                                  __floats2half2_rn(x[2], x[3]));
        }
        return;
    }
    float *at = (float *)p.dq_sum + block * size;
#pragma unroll
    for (int c = 0; c < MINE; c++)
        sm80_dq_give4(at, warp, lane, part * MINE + c, COUNT, acc[c / NT][c % NT], assigns);
}

} // namespace fb
#endif
