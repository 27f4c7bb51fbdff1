/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tiles between global and shared memory for the mma.sync kernels.
 *
 * Rows behind the last and columns behind the last become zeros: 0 times a finite number, so that
 * padding adds nothing to any sum. Rows of 16-byte aligned tensors travel by cp.async; others are
 * read an element at a time (GENERAL kernels alone can).
 */
#ifndef FB_KERNELS_SM80_LOAD_CUH
#define FB_KERNELS_SM80_LOAD_CUH

#include "kernels/sm80/args.h"
#include "kernels/ptx/smem_tile.cuh"

namespace fb {

/* 8 elements from `from`, of which `columns` exist, as one chunk. */
__device__ __forceinline__ void sm80_store_chunk(uint32_t to, const uint16_t *from, int columns)
{
    uint32_t r[4] = {0, 0, 0, 0};
#pragma unroll
    for (int i = 0; i < 8; i++)
        if (i < columns)
            r[i / 2] |= (uint32_t)from[i] << (16 * (i % 2));
    asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(r[0]), "r"(r[1]),
                 "r"(r[2]), "r"(r[3])
                 : "memory");
}

/* What sm80_load_tile does, an element at a time, from rows that are not aligned. */
template <int ROWS, int COLS, int THREADS>
__device__ __forceinline__ void sm80_load_tile_slowly(uint32_t tile, const char *from,
                                                      int64_t stride, int rows, int columns)
{
    constexpr int CHUNKS = COLS / 8;
#pragma unroll 1
    for (int index = threadIdx.x; index < ROWS * CHUNKS; index += THREADS) {
        const int row = index / CHUNKS, chunk = index % CHUNKS;
        sm80_store_chunk(tile + smem_tile<COLS>::at(row, chunk),
                         (const uint16_t *)(from + 2 * (row * stride + chunk * 8)),
                         row < rows ? columns - chunk * 8 : 0);
    }
}

/* ROWS rows of `columns` columns from `from`, of which `rows` exist. The caller commits. Where a
 * round of all threads is whole rows, a thread stays in its column, so that its addresses go on by
 * constants; written out anew for each chunk they were kept from tile to tile, and spilled. */
template <int ROWS, int COLS, int THREADS, bool GENERAL>
__device__ __forceinline__ void sm80_load_tile(uint32_t tile, const char *from, int64_t stride,
                                               int rows, int columns, bool aligned)
{
    using shape = smem_tile<COLS>;
    constexpr int CHUNKS = COLS / 8, COUNT = ROWS * CHUNKS, STEP = THREADS / CHUNKS;
    if (GENERAL && !aligned) {
        sm80_load_tile_slowly<ROWS, COLS, THREADS>(tile, from, stride, rows, columns);
    } else if constexpr (THREADS % CHUNKS == 0 && (STEP & (STEP - 1)) == 0 && ROWS % STEP == 0) {
        const int row = threadIdx.x / CHUNKS, chunk = threadIdx.x % CHUNKS;
        const uint32_t to = tile + shape::at(row, chunk);
        const char *at = from + 2 * (row * stride + chunk * 8);
#pragma unroll
        for (int i = 0; i < ROWS / STEP; i++, at += 2 * STEP * stride)
            cp_async_16(shape::down(to, i * STEP), at,
                        row + i * STEP < rows && chunk * 8 < columns);
    } else {
#pragma unroll
        for (int i = 0; i < (COUNT + THREADS - 1) / THREADS; i++) {
            const int index = i * THREADS + threadIdx.x;
            const int row = index / CHUNKS, chunk = index % CHUNKS;
            if (COUNT % THREADS == 0 || index < COUNT)
                cp_async_16(tile + shape::at(row, chunk), from + 2 * (row * stride + chunk * 8),
                            row < rows && chunk * 8 < columns);
        }
    }
}

/* A tile in shared memory to global rows, of which `rows` exist, 16 bytes at a time. */
template <int ROWS, int COLS, int THREADS, bool GENERAL>
__device__ __forceinline__ void sm80_store_tile(const char *shared, char *to, int64_t stride,
                                                int rows, int columns, bool aligned)
{
    constexpr int CHUNKS = COLS / 8;
    for (int index = threadIdx.x; index < ROWS * CHUNKS; index += THREADS) {
        const int row = index / CHUNKS, chunk = index % CHUNKS;
        if (row >= rows || chunk * 8 >= columns)
            continue;
        const char *at = shared + smem_tile<COLS>::at(row, chunk);
        char *out = to + 2 * (row * stride + chunk * 8);
        if (!GENERAL || aligned)
            *(uint4 *)out = *(const uint4 *)at;
        else
            for (int i = 0; i < min(8, columns - chunk * 8); i++)
                ((uint16_t *)out)[i] = ((const uint16_t *)at)[i];
    }
}

} // namespace fb
#endif
