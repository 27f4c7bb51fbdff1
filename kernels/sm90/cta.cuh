/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How a CTA of the sm_90a kernels begins.
 */
#ifndef FB_KERNELS_SM90_CTA_CUH
#define FB_KERNELS_SM90_CTA_CUH

#include "kernels/ptx/mbarrier.cuh"
#include "kernels/ptx/tma.cuh"

namespace fb {

/*
 * One thread asks for the tensor maps and makes the barriers; behind it they are there for all.
 * Returns the warp's number, from one lane, so that the compiler sees that a warp has one role.
 */
template <class... MAPS>
__device__ __forceinline__ int cta_begin(uint32_t smem, void (*barriers_init)(uint32_t smem),
                                         const MAPS *...maps)
{
    const int warp = __shfl_sync(0xffffffffu, threadIdx.x / 32, 0);

    if (threadIdx.x == 0) {
        (tensor_map_prefetch(maps), ...);
        barriers_init(smem);
        mbarrier_init_fence();
    }
    __syncthreads();
    return warp;
}

} // namespace fb
#endif
