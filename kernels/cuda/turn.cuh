/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Taking turns across CTAs: a counter in global memory that says whose turn it is.
 *
 * What a warp did before it passes the turn (additions by all of its lanes, relaxed) is ordered
 * before what the next one does after it got it: __syncwarp orders the lanes, the release makes one
 * lane's word stand for all, the acquire and __syncwarp hand it on.
 *
 * An acquire stops the warp for a trip to the L2 even if the turn has long come, so a warp looks at
 * the counter early, by a load that nobody waits for, and acquires only if that saw too little.
 * After a look that saw enough nothing is read that others wrote; there are additions, which are
 * issued behind the branch on what was seen, and a GPU issues no write before the branch that it
 * depends on. That is a property of the machines; the memory model of the language promises it for
 * the acquire alone.
 */
#ifndef FB_KERNELS_CUDA_TURN_CUH
#define FB_KERNELS_CUDA_TURN_CUH

namespace fb {

/* What the counter showed when the load was served; every lane gets it. */
__device__ __forceinline__ unsigned turn_look(const unsigned *counter)
{
    unsigned seen;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(counter) : "memory");
    return seen;
}

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
    if (threadIdx.x % 32 == 0)
        asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(counter) : "memory");
}

} // namespace fb
#endif
