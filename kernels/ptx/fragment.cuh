/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What becomes of a wgmma accumulator (its layout is in wgmma.cuh): packed, it is the A operand of
 * the next product; scaled and packed, it goes to a swizzled tile that the copy engine stores.
 */
#ifndef FB_KERNELS_PTX_FRAGMENT_CUH
#define FB_KERNELS_PTX_FRAGMENT_CUH

#include "kernels/ptx/elem.cuh"
#include "kernels/ptx/warpgroup.cuh"

namespace fb {

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

/* Pairs of a score fragment as the A operand of the next product. */
template <class T, int COUNT>
__device__ __forceinline__ void fragment_pack(uint32_t (&packed)[COUNT / 2],
                                              const float (&s)[COUNT])
{
#pragma unroll
    for (int i = 0; i < COUNT / 2; i++)
        packed[i] = elem<T>::pack(s[2 * i], s[2 * i + 1]);
}

/* A 64 x D accumulator, times `scale`, to swizzled panels `panel` bytes apart; `at` is the address
 * of this warpgroup's first row. */
template <class T, int D>
__device__ __forceinline__ void fragment_store(uint32_t at, uint32_t panel,
                                               const float (&acc)[D / 2], float scale)
{
    int t = threadIdx.x % 128, l = t % 32, mi = l / 8;
    uint32_t row = at + (16 * (t / 32) + 8 * (mi % 2) + l % 8) * 128;

#pragma unroll
    for (int j = 0; j < D / 16; j++) {
        uint32_t r[4];
#pragma unroll
        for (int i = 0; i < 4; i++)
            r[i] = elem<T>::pack(acc[8 * j + 2 * i] * scale, acc[8 * j + 2 * i + 1] * scale);
        uint32_t chunk = (2 * (j % 4) + mi / 2) ^ (l % 8);
        stmatrix_x4(row + j / 4 * panel + chunk * 16, r[0], r[1], r[2], r[3]);
    }
}

} // namespace fb
#endif
