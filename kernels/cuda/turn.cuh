/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Taking turns across CTAs: a counter in global memory that says whose turn it is.
 *
 * What a warp did before it passes the turn (additions by all of its lanes, relaxed) is ordered
 * before what the next one does after it got it: __syncwarp orders the lanes, the fence and the
 * release make one lane's word stand for all, the acquire and __syncwarp hand it on.
 */
#ifndef FB_KERNELS_CUDA_TURN_CUH
#define FB_KERNELS_CUDA_TURN_CUH

namespace fb {

__device__ __forceinline__ void turn_wait_warp(const unsigned *counter, unsigned turn)
{
    if (threadIdx.x % 32 == 0) {
        unsigned seen;
        do
            asm volatile("ld.acquire.gpu.global.u32 %0, [%1];"
                         : "=r"(seen)
                         : "l"(counter)
                         : "memory");
        while (seen != turn);
    }
    __syncwarp();
}

__device__ __forceinline__ void turn_pass_warp(unsigned *counter)
{
    __syncwarp();
    if (threadIdx.x % 32 == 0) {
        __threadfence();
        asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(counter) : "memory");
    }
}

} // namespace fb
#endif
