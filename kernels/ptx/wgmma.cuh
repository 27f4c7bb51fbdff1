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
#include "kernels/ptx/warpgroup.cuh"

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

/*
 * The descriptor of the tile `bytes` further on in the same layout: one addition.  Made from its
 * address it would take four instructions, each of which waits for the one before, and a product of
 * 80 columns lasts 40 clocks.
 */
__device__ __forceinline__ uint64_t wgmma_desc_next(uint64_t desc, uint32_t bytes)
{
    return desc + (bytes >> 4);
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

/*
 * The accumulators of one instruction, spelled out because asm strings must be literals: by eights
 * as names (FB_R8 is "%8, ... %15") and as operands.
 */
#define FB_R0 "%0, %1, %2, %3, %4, %5, %6, %7"
#define FB_R8 "%8, %9, %10, %11, %12, %13, %14, %15"
#define FB_R16 "%16, %17, %18, %19, %20, %21, %22, %23"
#define FB_R24 "%24, %25, %26, %27, %28, %29, %30, %31"
#define FB_R32 "%32, %33, %34, %35, %36, %37, %38, %39"
#define FB_R40 "%40, %41, %42, %43, %44, %45, %46, %47"
#define FB_R48 "%48, %49, %50, %51, %52, %53, %54, %55"
#define FB_R56 "%56, %57, %58, %59, %60, %61, %62, %63"
#define FB_R64 "%64, %65, %66, %67, %68, %69, %70, %71"
#define FB_R72 "%72, %73, %74, %75, %76, %77, %78, %79"
#define FB_R80 "%80, %81, %82, %83, %84, %85, %86, %87"
#define FB_R88 "%88, %89, %90, %91, %92, %93, %94, %95"
#define FB_R96 "%96, %97, %98, %99, %100, %101, %102, %103"
#define FB_R104 "%104, %105, %106, %107, %108, %109, %110, %111"
#define FB_R112 "%112, %113, %114, %115, %116, %117, %118, %119"
#define FB_R120 "%120, %121, %122, %123, %124, %125, %126, %127"
#define FB_LIST32 FB_R0 ", " FB_R8 ", " FB_R16 ", " FB_R24
#define FB_LIST40 FB_LIST32 ", " FB_R32
#define FB_LIST48 FB_LIST40 ", " FB_R40
#define FB_LIST64 FB_LIST48 ", " FB_R48 ", " FB_R56
#define FB_LIST88 FB_LIST64 ", " FB_R64 ", " FB_R72 ", " FB_R80
#define FB_LIST128 FB_LIST88 ", " FB_R88 ", " FB_R96 ", " FB_R104 ", " FB_R112 ", " FB_R120
#define FB_ACC8(d, i)                                                                              \
    "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]),    \
        "+f"(d[i + 6]), "+f"(d[i + 7])
#define FB_ACC32(d) FB_ACC8(d, 0), FB_ACC8(d, 8), FB_ACC8(d, 16), FB_ACC8(d, 24)
#define FB_ACC40(d) FB_ACC32(d), FB_ACC8(d, 32)
#define FB_ACC48(d) FB_ACC40(d), FB_ACC8(d, 40)
#define FB_ACC64(d) FB_ACC48(d), FB_ACC8(d, 48), FB_ACC8(d, 56)
#define FB_ACC88(d) FB_ACC64(d), FB_ACC8(d, 64), FB_ACC8(d, 72), FB_ACC8(d, 80)
#define FB_ACC128(d)                                                                               \
    FB_ACC88(d), FB_ACC8(d, 88), FB_ACC8(d, 96), FB_ACC8(d, 104), FB_ACC8(d, 112), FB_ACC8(d, 120)

/* Every N that some kernel multiplies with: its accumulators, and the numbers of the operands
 * behind them. */
#define FB_WGMMA_SHAPES(X)                                                                         \
    X(64, FB_LIST32, FB_ACC32, 32, 33, 34, 35, 36, 37, 38)                                         \
    X(80, FB_LIST40, FB_ACC40, 40, 41, 42, 43, 44, 45, 46)                                         \
    X(96, FB_LIST48, FB_ACC48, 48, 49, 50, 51, 52, 53, 54)                                         \
    X(128, FB_LIST64, FB_ACC64, 64, 65, 66, 67, 68, 69, 70)                                        \
    X(176, FB_LIST88, FB_ACC88, 88, 89, 90, 91, 92, 93, 94)                                        \
    X(256, FB_LIST128, FB_ACC128, 128, 129, 130, 131, 132, 133, 134)

#define FB_IS(n, ...) N == n ||
template <int N>
constexpr bool wgmma_has = FB_WGMMA_SHAPES(FB_IS) false;
#undef FB_IS

#define FB_SS(type, n, list, acc, a, b, s, ta, tb)                                                 \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #s ", 0;\n"                                  \
                 "wgmma.mma_async.sync.aligned.m64n" #n "k16.f32." type "." type " {" list         \
                 "}, %" #a ", %" #b ", p, 1, 1, %" #ta ", %" #tb ";\n}\n"                          \
                 : acc(d)                                                                          \
                 : "l"(desc_a), "l"(desc_b), "r"(accumulate), "n"(TA), "n"(TB))
#define FB_CASE(n, list, acc, a, b, s, ta, tb, ...)                                                \
    if constexpr (N == n && elem<T>::is_bf16)                                                      \
        FB_SS("bf16", n, list, acc, a, b, s, ta, tb);                                              \
    if constexpr (N == n && !elem<T>::is_bf16)                                                     \
        FB_SS("f16", n, list, acc, a, b, s, ta, tb);

/* d (+)= A B, both from shared memory; TA, TB = 1 for MN-major operands. */
template <class T, int N, int TA, int TB>
__device__ __forceinline__ void wgmma_ss(float (&d)[N / 2], uint64_t desc_a, uint64_t desc_b,
                                         int accumulate)
{
    static_assert(wgmma_has<N>, "no such product here");
    FB_WGMMA_SHAPES(FB_CASE)
}
#undef FB_CASE
#undef FB_SS

#define FB_RS(type, n, list, acc, a0, a1, a2, a3, b, s, tb)                                        \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #s ", 0;\n"                                  \
                 "wgmma.mma_async.sync.aligned.m64n" #n "k16.f32." type "." type " {" list         \
                 "}, {%" #a0 ", %" #a1 ", %" #a2 ", %" #a3 "}, %" #b ", p, 1, 1, %" #tb ";\n}\n"   \
                 : acc(d)                                                                          \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(desc_b), "r"(accumulate),       \
                   "n"(TB))
#define FB_CASE(n, list, acc, a0, a1, a2, a3, b, s, tb)                                            \
    if constexpr (N == n && elem<T>::is_bf16)                                                      \
        FB_RS("bf16", n, list, acc, a0, a1, a2, a3, b, s, tb);                                     \
    if constexpr (N == n && !elem<T>::is_bf16)                                                     \
        FB_RS("f16", n, list, acc, a0, a1, a2, a3, b, s, tb);

/* d (+)= A B with A in four registers. */
template <class T, int N, int TB>
__device__ __forceinline__ void wgmma_rs(float (&d)[N / 2], const uint32_t *a, uint64_t desc_b,
                                         int accumulate)
{
    static_assert(wgmma_has<N>, "no such product here");
    FB_WGMMA_SHAPES(FB_CASE)
}
#undef FB_CASE
#undef FB_RS

/* ---- What becomes of an accumulator: packed, the A operand of the next product; scaled and
 * packed, a swizzled tile that the copy engine stores. */

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
