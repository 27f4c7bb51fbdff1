/* SPDX-License-Identifier: BSD-3-Clause
 *
 * wgmma (sm_90a): a warpgroup multiplies a 64 x 16 tile of A with a 16 x N tile of B, both 16-bit,
 * into fp32 registers.
 *
 * B always comes from shared memory through a 64-bit descriptor, A from shared memory (ss) or from
 * registers (rs).  Shared tiles are 128-byte swizzled panels (warpgroup.cuh).  A tile whose rows
 * run along the 64 columns of a panel's row is read in one of two ways:
 *   K-major   the panel's columns are the reduction index.  Rows are M (or N) indices; the next
 *             16 of K lie 32 bytes further, the next panel holds the next 64 of K.
 *   MN-major  the panel's columns are the M (or N) index, rows are K.  The next 16 of K lie 2048
 *             bytes further; the descriptor's leading offset leads to the panel with the next 64
 *             columns.
 * The same bytes can so serve as Q (K-major, in S = K Q^T) and as Q^T's partner (MN-major, in
 * dK = dS^T Q) without a transposed copy.
 *
 * Accumulator layout, thread t of the warpgroup, w = t/32, l = t%32: acc[4j + 2h + e] is row
 * 16w + l/4 + 8h, column 8j + 2(l%4) + e.  Packing acc[8k .. 8k+7] pairwise into four registers
 * gives the A fragment of k-step k of an rs product.
 *
 * Protocol: wgmma_fence() after ordinary code wrote accumulators or A registers; the products;
 * wgmma_commit() closes a group; wgmma_wait<n>() returns when at most n groups are in flight;
 * registers_pin() after the wait keeps the compiler from reading accumulators too early.
 */
#ifndef FB_KERNELS_PTX_WGMMA_CUH
#define FB_KERNELS_PTX_WGMMA_CUH

#include "kernels/ptx/elem.cuh"

namespace fb {

/* Descriptor of a K-major tile at shared address `addr`: 8-row groups 1024 bytes apart. */
__device__ __forceinline__ uint64_t wgmma_desc_k(uint32_t addr)
{
    uint32_t lo = ((addr & 0x3ffff) >> 4) | (1u << 16);
    uint32_t hi = (1024u >> 4) | (1u << 30);
    return ((uint64_t)hi << 32) | lo;
}

/* Descriptor of an MN-major tile: 8-row groups 1024 bytes apart, panels `panel` bytes apart. */
__device__ __forceinline__ uint64_t wgmma_desc_mn(uint32_t addr, uint32_t panel)
{
    uint32_t lo = ((addr & 0x3ffff) >> 4) | ((panel >> 4) << 16);
    uint32_t hi = (1024u >> 4) | (1u << 30);
    return ((uint64_t)hi << 32) | lo;
}

__device__ __forceinline__ void wgmma_fence()
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

__device__ __forceinline__ void wgmma_commit()
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

template <int PENDING>
__device__ __forceinline__ void wgmma_wait()
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory");
}

template <int COUNT>
__device__ __forceinline__ void registers_pin(float (&r)[COUNT])
{
#pragma unroll
    for (int i = 0; i < COUNT; i++)
        asm volatile("" : "+f"(r[i])::"memory");
}

template <int COUNT>
__device__ __forceinline__ void registers_pin(uint32_t (&r)[COUNT])
{
#pragma unroll
    for (int i = 0; i < COUNT; i++)
        asm volatile("" : "+r"(r[i])::"memory");
}

/* The register lists of one instruction, spelled out because asm strings must be literals. */
#define FB_ACC8(a, i)                                                                              \
    "+f"(a[i]), "+f"(a[i + 1]), "+f"(a[i + 2]), "+f"(a[i + 3]), "+f"(a[i + 4]), "+f"(a[i + 5]),    \
        "+f"(a[i + 6]), "+f"(a[i + 7])
#define FB_ACC32(a) FB_ACC8(a, 0), FB_ACC8(a, 8), FB_ACC8(a, 16), FB_ACC8(a, 24)
#define FB_ACC40(a) FB_ACC32(a), FB_ACC8(a, 32)
#define FB_ACC48(a) FB_ACC40(a), FB_ACC8(a, 40)
#define FB_ACC64(a) FB_ACC48(a), FB_ACC8(a, 48), FB_ACC8(a, 56)
#define FB_ACC88(a) FB_ACC64(a), FB_ACC8(a, 64), FB_ACC8(a, 72), FB_ACC8(a, 80)
#define FB_LIST32                                                                                  \
    "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, "            \
    "%18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}"
#define FB_LIST40                                                                                  \
    "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, "            \
    "%18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, "        \
    "%35, %36, %37, %38, %39}"
#define FB_LIST48                                                                                  \
    "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, "            \
    "%18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, "        \
    "%35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47}"
#define FB_LIST64                                                                                  \
    "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, "            \
    "%18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, "        \
    "%35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, "        \
    "%52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}"

#define FB_LIST88                                                                                  \
    "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, "                 \
    "%17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "                  \
    "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, "                  \
    "%47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, "                  \
    "%62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, "                  \
    "%77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87}"

/* d (+)= A B, both from shared memory; TA, TB = 1 for MN-major operands. */
#define FB_WGMMA_SS(type, n, list, acc, a, b, s, ta, tb)                                           \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " s ", 0;\n"                                    \
                 "wgmma.mma_async.sync.aligned.m64n" n "k16.f32." type "." type " " list ", " a    \
                 ", " b ", p, 1, 1, " ta ", " tb ";\n}\n"                                          \
                 : acc                                                                             \
                 : "l"(desc_a), "l"(desc_b), "r"(accumulate), "n"(TA), "n"(TB))

/* d (+)= A B with A in four registers. */
#define FB_WGMMA_RS(type, n, list, acc, a0, a1, a2, a3, b, s, tb)                                  \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " s ", 0;\n"                                    \
                 "wgmma.mma_async.sync.aligned.m64n" n "k16.f32." type "." type " " list ", {" a0  \
                 ", " a1 ", " a2 ", " a3 "}, " b ", p, 1, 1, " tb ";\n}\n"                         \
                 : acc                                                                             \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(desc_b), "r"(accumulate),       \
                   "n"(TB))

template <class T, int N, int TA, int TB>
__device__ __forceinline__ void wgmma_ss(float (&d)[N / 2], uint64_t desc_a, uint64_t desc_b,
                                         int accumulate)
{
    static_assert(N == 64 || N == 80 || N == 96 || N == 128 || N == 176, "no such product here");
    if constexpr (N == 64 && elem<T>::is_bf16)
        FB_WGMMA_SS("bf16", "64", FB_LIST32, FB_ACC32(d), "%32", "%33", "%34", "%35", "%36");
    if constexpr (N == 64 && !elem<T>::is_bf16)
        FB_WGMMA_SS("f16", "64", FB_LIST32, FB_ACC32(d), "%32", "%33", "%34", "%35", "%36");
    if constexpr (N == 80 && elem<T>::is_bf16)
        FB_WGMMA_SS("bf16", "80", FB_LIST40, FB_ACC40(d), "%40", "%41", "%42", "%43", "%44");
    if constexpr (N == 80 && !elem<T>::is_bf16)
        FB_WGMMA_SS("f16", "80", FB_LIST40, FB_ACC40(d), "%40", "%41", "%42", "%43", "%44");
    if constexpr (N == 96 && elem<T>::is_bf16)
        FB_WGMMA_SS("bf16", "96", FB_LIST48, FB_ACC48(d), "%48", "%49", "%50", "%51", "%52");
    if constexpr (N == 96 && !elem<T>::is_bf16)
        FB_WGMMA_SS("f16", "96", FB_LIST48, FB_ACC48(d), "%48", "%49", "%50", "%51", "%52");
    if constexpr (N == 128 && elem<T>::is_bf16)
        FB_WGMMA_SS("bf16", "128", FB_LIST64, FB_ACC64(d), "%64", "%65", "%66", "%67", "%68");
    if constexpr (N == 128 && !elem<T>::is_bf16)
        FB_WGMMA_SS("f16", "128", FB_LIST64, FB_ACC64(d), "%64", "%65", "%66", "%67", "%68");
    if constexpr (N == 176 && elem<T>::is_bf16)
        FB_WGMMA_SS("bf16", "176", FB_LIST88, FB_ACC88(d), "%88", "%89", "%90", "%91", "%92");
    if constexpr (N == 176 && !elem<T>::is_bf16)
        FB_WGMMA_SS("f16", "176", FB_LIST88, FB_ACC88(d), "%88", "%89", "%90", "%91", "%92");
}

template <class T, int N, int TB>
__device__ __forceinline__ void wgmma_rs(float (&d)[N / 2], const uint32_t *a, uint64_t desc_b,
                                         int accumulate)
{
    static_assert(N == 64 || N == 128, "no such product here");
    if constexpr (N == 64 && elem<T>::is_bf16)
        FB_WGMMA_RS("bf16", "64", FB_LIST32, FB_ACC32(d), "%32", "%33", "%34", "%35", "%36", "%37",
                    "%38");
    if constexpr (N == 64 && !elem<T>::is_bf16)
        FB_WGMMA_RS("f16", "64", FB_LIST32, FB_ACC32(d), "%32", "%33", "%34", "%35", "%36", "%37",
                    "%38");
    if constexpr (N == 128 && elem<T>::is_bf16)
        FB_WGMMA_RS("bf16", "128", FB_LIST64, FB_ACC64(d), "%64", "%65", "%66", "%67", "%68", "%69",
                    "%70");
    if constexpr (N == 128 && !elem<T>::is_bf16)
        FB_WGMMA_RS("f16", "128", FB_LIST64, FB_ACC64(d), "%64", "%65", "%66", "%67", "%68", "%69",
                    "%70");
}

#undef FB_WGMMA_SS
#undef FB_WGMMA_RS

} // namespace fb
#endif
