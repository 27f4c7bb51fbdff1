/* SPDX-License-Identifier: BSD-3-Clause
 *
 * cp.async: copies from global to shared memory that do not pass through registers (sm_80).
 *
 * A copy moves 16 bytes, both sides 16-byte aligned, or 4; with `valid` false it writes zeros and
 * reads nothing. Its completion is seen in one of two ways: by the thread that issued it, through
 * groups (commit, wait), or by everybody who waits on an mbarrier on which that thread "arrives
 * when its copies have landed".
 */
#ifndef FB_KERNELS_PTX_CP_ASYNC_CUH
#define FB_KERNELS_PTX_CP_ASYNC_CUH

#include <stdint.h>

namespace fb {

__device__ __forceinline__ void cp_async_16(uint32_t to, const void *from, bool valid)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from),
                 "r"(valid ? 16 : 0)
                 : "memory");
}

__device__ __forceinline__ void cp_async_4(uint32_t to, const void *from, bool valid)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(from),
                 "r"(valid ? 4 : 0)
                 : "memory");
}

__device__ __forceinline__ void cp_async_commit()
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

/* Waits until at most `LEFT` of this thread's groups are under way. */
template <int LEFT>
__device__ __forceinline__ void cp_async_wait()
{
    asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory");
}

/* One of the arrivals the barrier was initialised for, made when all copies that this thread has
 * issued so far have landed. */
__device__ __forceinline__ void cp_async_arrive(uint32_t bar)
{
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(bar) : "memory");
}

} // namespace fb
#endif
