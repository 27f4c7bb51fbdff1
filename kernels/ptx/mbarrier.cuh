/* SPDX-License-Identifier: BSD-3-Clause
 *
 * mbarrier: the shared-memory barrier that threads, asynchronous copies (sm_80) and the copy engine
 * (sm_90) can arrive at.
 *
 * A barrier is 8 bytes of shared memory, named by its 32-bit shared address.  It counts arrivals
 * and, for copies, bytes; when both are complete its phase bit flips.  A waiter names the parity of
 * the phase that it waits for: the first completion ends phase 0.  Waiting for parity 1 on a fresh
 * barrier returns at once, which is how the producer of a ring finds all slots empty at the start.
 *
 * Arrivals release and waits acquire at CTA scope.  They do not order the generic proxy (ordinary
 * loads and stores) against the async proxy (copy engine, wgmma operands in shared memory): a
 * thread whose ordinary stores are read by those executes fence_proxy_async() before it arrives.
 */
#ifndef FB_KERNELS_PTX_MBARRIER_CUH
#define FB_KERNELS_PTX_MBARRIER_CUH

#include <stdint.h>

namespace fb {

__device__ __forceinline__ uint32_t shared_address(const void *p)
{
    return (uint32_t)__cvta_generic_to_shared(p);
}

__device__ __forceinline__ void mbarrier_init(uint32_t bar, uint32_t arrivals)
{
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(bar), "r"(arrivals) : "memory");
}

/* Makes initialised barriers visible to the copy engine; the CTA still needs __syncthreads(). */
__device__ __forceinline__ void mbarrier_init_fence()
{
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

__device__ __forceinline__ void mbarrier_arrive(uint32_t bar)
{
    asm volatile("{\n.reg .b64 state;\nmbarrier.arrive.shared.b64 state, [%0];\n}\n" ::"r"(bar)
                 : "memory");
}

/* One arrival that also announces `bytes` of copies still to land in this phase. */
__device__ __forceinline__ void mbarrier_arrive_expect(uint32_t bar, uint32_t bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(bytes)
                 : "memory");
}

__device__ __forceinline__ bool mbarrier_try_wait(uint32_t bar, uint32_t parity)
{
    uint32_t done;
#if __CUDA_ARCH__ < 900
    asm volatile("{\n"
                 ".reg .pred p;\n"
                 "mbarrier.test_wait.parity.shared.b64 p, [%1], %2;\n"
                 "selp.u32 %0, 1, 0, p;\n"
                 "}\n"
                 : "=r"(done)
                 : "r"(bar), "r"(parity)
                 : "memory");
#else
    asm volatile("{\n"
                 ".reg .pred p;\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
                 "selp.u32 %0, 1, 0, p;\n"
                 "}\n"
                 : "=r"(done)
                 : "r"(bar), "r"(parity)
                 : "memory");
#endif
    return done != 0;
}

__device__ __forceinline__ void mbarrier_wait(uint32_t bar, uint32_t parity)
{
    while (!mbarrier_try_wait(bar, parity)) {
    }
}

/* One arrival for the whole warp, after everything its lanes did before. */
__device__ __forceinline__ void mbarrier_arrive_warp(uint32_t bar)
{
    __syncwarp();
    if ((threadIdx.x & 31) == 0)
        mbarrier_arrive(bar);
}

/*
 * A place in a ring of STAGES stages: the stage, and the parity of the phase that fills it. Every
 * stage has a barrier "full" and one "empty", each the first of STAGES in a row. Who reads the
 * stage waits for full with `parity`; who fills it waits for empty with `parity ^ 1`, the phase
 * before.
 */
template <int STAGES>
struct ring {
    int stage = 0, parity = 0;
    __device__ __forceinline__ void advance()
    {
        if (++stage == STAGES)
            stage = 0, parity ^= 1;
    }
    /* This stage's barrier, and its bytes, of those that begin at `first`. */
    __device__ __forceinline__ uint32_t barrier(uint32_t first) const
    {
        return first + 8 * stage;
    }
    __device__ __forceinline__ uint32_t slot(uint32_t first, uint32_t bytes) const
    {
        return first + stage * bytes;
    }
};

/* The place of step i, of steps counted from 0, in a ring of two. */
__device__ __forceinline__ ring<2> ring_of(int i)
{
    return {i & 1, i >> 1 & 1};
}

/* Waits until step i's stage is full, of a ring of two whose barriers begin at `full`: as ring_of()
 * has it, but the parity is made behind the address, which ptxas makes other code of. */
__device__ __forceinline__ void ring_wait(uint32_t full, int i)
{
    mbarrier_wait(full + 8 * (i & 1), i >> 1 & 1);
}

/* Orders this thread's ordinary shared-memory accesses before later async-proxy ones. */
__device__ __forceinline__ void fence_proxy_async()
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

} // namespace fb
#endif
