/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The first steps of an A operand that does not change, kept in registers: 64 rows of a swizzled
 * tile as the A fragments of KEPT products of 16 columns. Each spares shared memory 16 of the 32
 * clocks that a product of 64 columns has there, as many as it takes itself.
 *
 * Registers: 4 a kept step, all the time. How many fit is the caller's budget: 8 in the keys kernel
 * of D = 256 (bwd_wide_config.cuh), 3 in its dQ kernel. Deterministic: the same products.
 */
#ifndef FB_KERNELS_SM90_KEPT_ROWS_CUH
#define FB_KERNELS_SM90_KEPT_ROWS_CUH

#include "kernels/ptx/ldmatrix.cuh"
#include "kernels/ptx/warpgroup.cuh"
#include "kernels/ptx/wgmma.cuh"

namespace fb {

/* `at` is the first of the warpgroup's rows, in panels `panel` bytes apart. */
template <int KEPT>
__device__ __forceinline__ void kept_load(uint32_t (*kept)[4], uint32_t at, uint32_t panel)
{
    const uint32_t l = threadIdx.x % 32, row = 16 * (threadIdx.x % 128 / 32) + l % 16;

#pragma unroll
    for (int k = 0; k < KEPT; k++) {
        ldmatrix_x4(kept[k], at + k / 4 * panel + swizzle_offset(row, 2 * (k % 4) + l / 16));
        registers_pin(kept[k]);
    }
}

/* gemm_rows() (q_major.cuh) with the first steps of A in `kept`. */
template <class T, int D, int N, int KEPT>
__device__ __forceinline__ void gemm_rows_kept(float (&acc)[N / 2], const uint32_t (*kept)[4],
                                               uint32_t a, uint32_t a_panel, uint32_t b)
{
#pragma unroll
    for (int k = 0; k < D / 16; k++) {
        uint32_t step = (k % 4) * 32;
        uint64_t to = wgmma_desc_k(b + k / 4 * (N * 128) + step);
        if (k < KEPT)
            wgmma_rs<T, N, 0>(acc, kept[k], to, k > 0);
        else
            wgmma_ss<T, N, 0, 0>(acc, wgmma_desc_k(a + k / 4 * a_panel + step), to, k > 0);
    }
}

} // namespace fb
#endif
