/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Taking turns across CTAs: a word in global memory by which a warp says how far it is, and a
 * warp that adds to the same place behind it waits for.
 *
 * What a warp did before it told (additions by all of its lanes, relaxed) is ordered before what
 * the next one does after it heard: __syncwarp orders the lanes, the fence makes one lane's word
 * stand for all, the acquire and __syncwarp hand it on.
 *
 * An acquire stops the warp for a trip to the L2 even if the other has long told, so a warp looks
 * early, by a relaxed load that nobody waits for, before it tells how far it is itself: the fence
 * of turn_tell_warp then makes an acquire of that look, too, and costs nothing more. One lane's
 * look counts, for its fence follows it, and __syncwarp hands on what it saw.
 */
#ifndef FB_KERNELS_PTX_TURN_CUH
#define FB_KERNELS_PTX_TURN_CUH

namespace fb {

/* What the word showed when the load was served. It may be acted upon after turn_tell_warp, as the
 * first lane saw it. */
__device__ __forceinline__ unsigned turn_look(const unsigned *word)
{
    unsigned seen;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(word) : "memory");
    return seen;
}

__device__ __forceinline__ unsigned turn_acquire(const unsigned *word)
{
    unsigned seen;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(word) : "memory");
    return seen;
}

/* A look that may be acted upon at once; the same in all lanes. */
__device__ __forceinline__ unsigned turn_look_warp(const unsigned *word)
{
    unsigned seen = 0;
    if (threadIdx.x % 32 == 0)
        seen = turn_acquire(word);
    __syncwarp();
    return __shfl_sync(0xffffffffu, seen, 0);
}

/* Waits until the word is `turn` or more. */
__device__ __forceinline__ void turn_wait_warp(const unsigned *word, unsigned turn)
{
    if (threadIdx.x % 32 == 0)
        while (turn_acquire(word) < turn)
            continue;
    __syncwarp();
}

/* Tells that all before `turn` is done, and returns what the first lane has `looked`. */
__device__ __forceinline__ unsigned turn_tell_warp(unsigned *word, unsigned turn, unsigned looked)
{
    __syncwarp();
    if (threadIdx.x % 32 == 0)
        asm volatile("fence.acq_rel.gpu;\n\tst.relaxed.gpu.global.u32 [%0], %1;" ::"l"(word),
                     "r"(turn)
                     : "memory");
    __syncwarp();
    return __shfl_sync(0xffffffffu, looked, 0);
}

} // namespace fb
#endif
