/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tiles between global and shared memory for the mma.sync kernels.
 *
 * Rows behind the last and columns behind the last become zeros: 0 times a finite number, so that
 * padding adds nothing to any sum. Rows of 16-byte aligned tensors travel by cp.async; others are
 * read an element at a time (GENERAL kernels alone can).
 */
#ifndef FB_KERNELS_CUDA_SM80_LOAD_CUH
#define FB_KERNELS_CUDA_SM80_LOAD_CUH

#include "sm80_args.h"
#include "smem_tile.cuh"

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

/* ROWS rows of `columns` columns from `from`, of which `rows` exist. The caller commits. */
template <int ROWS, int COLS, int THREADS, bool GENERAL>
__device__ __forceinline__ void sm80_load_tile(uint32_t tile, const char *from, int64_t stride,
                                               int rows, int columns, bool aligned)
{
    constexpr int CHUNKS = COLS / 8, COUNT = ROWS * CHUNKS;
#pragma unroll
    for (int i = 0; i < (COUNT + THREADS - 1) / THREADS; i++) {
        const int index = i * THREADS + threadIdx.x, row = index / CHUNKS, chunk = index % CHUNKS;
        if (COUNT % THREADS != 0 && index >= COUNT)
            break;
        const bool in = row < rows && chunk * 8 < columns;
        const uint32_t to = tile + smem_tile<COLS>::at(row, chunk);
        const char *at = in ? from + 2 * (row * stride + chunk * 8) : from;
        if (!GENERAL || aligned)
            cp_async_16(to, at, in);
        else
            sm80_store_chunk(to, (const uint16_t *)at, in ? columns - chunk * 8 : 0);
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
