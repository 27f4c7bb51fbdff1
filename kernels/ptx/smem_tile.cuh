/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tiles of 16-bit elements in shared memory, and the product of two of them by a warp (sm_80).
 *
 * A tile is [rows][COLS], COLS a multiple of 16, without padding. Its 16-byte chunks are permuted
 * within a row so that 8 consecutive rows show any one column of chunks in 8 different banks
 * groups: ldmatrix, transposing or not, and matrix_store_x4 are free of bank conflicts. GROUP is
 * the largest power of two up to 8 that divides the chunks of a row; chunk c of row r lies at
 * c ^ (r / (8 / GROUP) % GROUP). A tile starts at a multiple of 128 bytes.
 *
 * Where the columns of a product are shared by W warps, W a power of two, warp w takes the blocks
 * of 16 columns w, w + W, w + 2W...: the way from one of a warp's blocks to its next then never
 * carries into the bits that the permutation touches, and costs one exclusive-or.
 */
#ifndef FB_KERNELS_PTX_SMEM_TILE_CUH
#define FB_KERNELS_PTX_SMEM_TILE_CUH

#include "kernels/ptx/cp_async.cuh"
#include "kernels/ptx/ldmatrix.cuh"
#include "kernels/ptx/mma.cuh"

namespace fb {

template <int COLS>
struct smem_tile {
    static constexpr int PITCH = COLS * 2, CHUNKS = COLS / 8;
    static constexpr int GROUP = CHUNKS % 8 == 0 ? 8 : CHUNKS % 4 == 0 ? 4 : 2;
    static_assert(COLS % 16 == 0, "rows are whole fragments");

    static __device__ __forceinline__ uint32_t at(uint32_t row, uint32_t chunk)
    {
        return row * PITCH + ((chunk ^ (row / (8 / GROUP) % GROUP)) << 4);
    }
    /* `chunks` further to the right, a multiple of a power of two that exceeds the start's. */
    static __device__ __forceinline__ uint32_t right(uint32_t from, int chunks)
    {
        return (from ^ (chunks % GROUP * 16)) + chunks / GROUP * (GROUP * 16);
    }
    /* `rows` further down, a multiple of a power of two that exceeds the start's row. */
    static __device__ __forceinline__ uint32_t down(uint32_t from, int rows)
    {
        return (from ^ (rows / (8 / GROUP) % GROUP * 16)) + rows * PITCH;
    }
};

/* Where a lane points for a 16x16 block at (row, chunk): in the order of an a operand stored as it
 * is, and of a b operand stored transposed... */
template <int COLS>
__device__ __forceinline__ uint32_t lane_rows_first(uint32_t tile, int row, int chunk)
{
    const int lane = threadIdx.x % 32;
    return tile + smem_tile<COLS>::at(row + lane % 16, chunk + lane / 16);
}

/* ... and the other way round. */
template <int COLS>
__device__ __forceinline__ uint32_t lane_chunks_first(uint32_t tile, int row, int chunk)
{
    const int lane = threadIdx.x % 32;
    return tile + smem_tile<COLS>::at(row + lane / 16 * 8 + lane % 8, chunk + lane / 8 % 2);
}

/* An operand stored [mn][k]; its blocks of 16 rows are STEP rows apart. */
template <int COLS, int STEP>
struct operand_k {
    uint32_t at;
    __device__ __forceinline__ void load(uint32_t (&r)[4], int block, int k) const
    {
        ldmatrix_x4(r, smem_tile<COLS>::right(at, 2 * k) + block * (STEP * smem_tile<COLS>::PITCH));
    }
};

/* An operand stored [k][mn]; its blocks of 16 columns are STEP columns apart. */
template <int COLS, int STEP>
struct operand_mn {
    uint32_t at;
    __device__ __forceinline__ void load(uint32_t (&r)[4], int block, int k) const
    {
        ldmatrix_x4_trans(r, smem_tile<COLS>::right(at, block * (STEP / 8)) +
                                 k * (16 * smem_tile<COLS>::PITCH));
    }
};

/* acc += a b over K16 steps of 16: MT blocks of 16 rows, NP blocks of 16 columns. */
template <class T, int K16, int MT, int NT, class A, class B>
__device__ __forceinline__ void warp_product(float (&acc)[MT][NT][4], const A &a, const B &b)
{
#pragma unroll
    for (int k = 0; k < K16; k++) {
        uint32_t fa[MT][4], fb[4];
#pragma unroll
        for (int i = 0; i < MT; i++)
            a.load(fa[i], i, k);
#pragma unroll
        for (int j = 0; j < NT / 2; j++) {
            b.load(fb, j, k);
#pragma unroll
            for (int i = 0; i < MT; i++) {
                mma_m16n8k16<T>(acc[i][2 * j], fa[i], fb[0], fb[1]);
                mma_m16n8k16<T>(acc[i][2 * j + 1], fa[i], fb[2], fb[3]);
            }
        }
    }
}

template <int MT, int NT>
__device__ __forceinline__ void acc_clear(float (&acc)[MT][NT][4])
{
#pragma unroll
    for (int i = 0; i < MT * NT * 4; i++)
        (&acc[0][0][0])[i] = 0;
}

/* Stores a warp's accumulators as 16-bit elements; `at` is lane_rows_first of its first block,
 * blocks are ROWS rows and STEP columns apart. */
template <class T, int COLS, int ROWS, int STEP, int MT, int NT>
__device__ __forceinline__ void acc_store(uint32_t at, const float (&acc)[MT][NT][4], float scale)
{
#pragma unroll
    for (int i = 0; i < MT; i++)
#pragma unroll
        for (int j = 0; j < NT; j += 2) {
            uint32_t r[4];
#pragma unroll
            for (int x = 0; x < 4; x++)
                r[x] = elem<T>::pack(acc[i][j + x / 2][x % 2 * 2] * scale,
                                     acc[i][j + x / 2][x % 2 * 2 + 1] * scale);
            matrix_store_x4(smem_tile<COLS>::right(at, j / 2 * (STEP / 8)) +
                                i * (ROWS * smem_tile<COLS>::PITCH),
                            r);
        }
}

} // namespace fb
#endif
