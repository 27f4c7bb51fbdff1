/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The bulk copy engine (sm_90): tiles by tensor map, plain byte ranges, and reductions.
 *
 * Loads complete on an mbarrier; stores and reductions complete in bulk groups of the issuing
 * thread (commit, then wait).  `.read` waits free the shared source only; the global result is
 * certain after the full wait.  One thread issues; coordinates are in elements, innermost first:
 * (column, row, head, batch).  Out-of-range rows load as zeros and are not stored.
 */
#ifndef FB_KERNELS_PTX_TMA_CUH
#define FB_KERNELS_PTX_TMA_CUH

#include <cuda.h>
#include <stdint.h>

#include "kernels/ptx/mbarrier.cuh"

namespace fb {

__device__ __forceinline__ uint64_t l2_evict_last()
{
    uint64_t policy;
    asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
    return policy;
}

__device__ __forceinline__ uint64_t l2_evict_first()
{
    uint64_t policy;
    asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    return policy;
}

__device__ __forceinline__ void tensor_map_prefetch(const CUtensorMap *map)
{
    asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

__device__ __forceinline__ void tma_load(uint32_t dst, const CUtensorMap *map, uint32_t bar,
                                         int col, int row, int head, int batch, uint64_t policy)
{
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes"
                 ".L2::cache_hint [%0], [%1, {%3, %4, %5, %6}], [%2], %7;" ::"r"(dst),
                 "l"(map), "r"(bar), "r"(col), "r"(row), "r"(head), "r"(batch), "l"(policy)
                 : "memory");
}

__device__ __forceinline__ void tma_store(const CUtensorMap *map, uint32_t src, int col, int row,
                                          int head, int batch)
{
    asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.bulk_group"
                 " [%0, {%2, %3, %4, %5}], [%1];" ::"l"(map),
                 "r"(src), "r"(col), "r"(row), "r"(head), "r"(batch)
                 : "memory");
}

/* A tile of 64-column panels that lie `panel` bytes apart in shared memory. */
template <int PANELS>
__device__ __forceinline__ void tma_load_tile(uint32_t dst, uint32_t panel, const CUtensorMap *map,
                                              uint32_t bar, int row, int head, int batch,
                                              uint64_t policy)
{
    for (int c = 0; c < PANELS; c++)
        tma_load(dst + c * panel, map, bar, 64 * c, row, head, batch, policy);
}

template <int PANELS>
__device__ __forceinline__ void tma_store_tile(const CUtensorMap *map, uint32_t src, uint32_t panel,
                                               int row, int head, int batch)
{
    for (int c = 0; c < PANELS; c++)
        tma_store(map, src + c * panel, 64 * c, row, head, batch);
}

/* `bytes` consecutive bytes, a multiple of 16, both addresses 16-byte aligned. */
__device__ __forceinline__ void bulk_load(uint32_t dst, const void *src, uint32_t bytes,
                                          uint32_t bar)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
                 " [%0], [%1], %2, [%3];" ::"r"(dst),
                 "l"(src), "r"(bytes), "r"(bar)
                 : "memory");
}

/* dst[i] = src[i]. */
__device__ __forceinline__ void bulk_store(float *dst, uint32_t src, uint32_t bytes,
                                           uint64_t policy)
{
    asm volatile(
        "cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint [%0], [%1], %2, %3;" ::"l"(dst),
        "r"(src), "r"(bytes), "l"(policy)
        : "memory");
}

/* dst[i] += src[i] in fp32, in the L2; the order among CTAs is not defined. */
__device__ __forceinline__ void bulk_reduce_add(float *dst, uint32_t src, uint32_t bytes,
                                                uint64_t policy)
{
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.L2::cache_hint.add.f32"
                 " [%0], [%1], %2, %3;" ::"l"(dst),
                 "r"(src), "r"(bytes), "l"(policy)
                 : "memory");
}

__device__ __forceinline__ void bulk_commit()
{
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

template <int PENDING>
__device__ __forceinline__ void bulk_wait_read()
{
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(PENDING) : "memory");
}

template <int PENDING>
__device__ __forceinline__ void bulk_wait()
{
    asm volatile("cp.async.bulk.wait_group %0;" ::"n"(PENDING) : "memory");
}

/* Orders what the copy engine did to global memory, completed, before what it is told next. */
__device__ __forceinline__ void fence_proxy_async_global()
{
    asm volatile("fence.proxy.async.global;" ::: "memory");
}

/* Ordered additions: spin until `turn` others are done, and tell the next one. */
__device__ __forceinline__ void turn_wait(const unsigned *counter, unsigned turn)
{
    unsigned seen;
    do
        asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(counter) : "memory");
    while (seen != turn);
    fence_proxy_async_global(); /* acquired, then the bulk reduction */
}

__device__ __forceinline__ void turn_pass(unsigned *counter)
{
    fence_proxy_async_global();
    asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(counter) : "memory");
}

/* Programmatic dependent launch: wait for the kernel before us, let the kernel after us start. */
__device__ __forceinline__ void grid_dependency_wait()
{
    asm volatile("griddepcontrol.wait;" ::: "memory");
}

__device__ __forceinline__ void grid_dependents_launch()
{
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

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
