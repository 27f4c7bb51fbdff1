/* SPDX-License-Identifier: BSD-3-Clause
 *
 * mma.sync m16n8k16: the tensor-core product of one warp, 16-bit operands, fp32 sums (sm_80).
 *
 *     d[16][8] += a[16][16] b[16][8]
 *
 * With g = lane / 4 and t = lane % 4 a lane holds
 *     a:  a[g][2t..], a[g + 8][2t..], a[g][2t + 8..], a[g + 8][2t + 8..]     two elements each
 *     b:  b[2t..][g], b[2t + 8..][g]
 *     d:  d[g][2t], d[g][2t + 1], d[g + 8][2t], d[g + 8][2t + 1]
 * so that two d tiles side by side, packed to 16 bits, are an a operand.
 */
#ifndef FB_KERNELS_PTX_MMA_CUH
#define FB_KERNELS_PTX_MMA_CUH

#include "kernels/ptx/elem.cuh"

namespace fb {

template <class T>
__device__ __forceinline__ void mma_m16n8k16(float (&d)[4], const uint32_t (&a)[4], uint32_t b0,
                                             uint32_t b1)
{
    if constexpr (elem<T>::is_bf16)
        asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, "
            "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
    else
        asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, "
            "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

} // namespace fb
#endif
