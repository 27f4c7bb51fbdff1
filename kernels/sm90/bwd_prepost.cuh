/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The small passes around the sm_90a backward.
 *
 * Pre-pass, one CTA a query tile, head and batch: delta = rowsum(dO o O) in fp32, LSE times log2 e,
 * both into the rows of dQ or the workspace (bwd_config.cuh), and a zeroed dQ accumulator tile
 * (but where additions are ordered: the first stores). Rows past nq get LSE = +inf and delta = 0,
 * so P = 0 and dS = 0 for them; so does a real row that sees no key (its LSE is -inf).  Bytes: 2 D
 * * 2 read, 4 D written a row.
 *
 * Post-pass, same grid: reads an accumulator tile in register order (16 bytes a thread, coalesced),
 * scales, converts, turns it through shared memory into rows, and writes whole 16-byte chunks:
 * every row of dQ, over the statistics, which nobody reads any more.
 *
 * Join, one CTA a key tile, key head, batch and gradient: where several CTAs shared a group of
 * query heads, the sum of their fp32 parts of dV and dK, in the order of the splits, written the
 * same way.
 *
 * All are memory bound, fully parallel and deterministic.
 */
#ifndef FB_KERNELS_SM90_BWD_PREPOST_CUH
#define FB_KERNELS_SM90_BWD_PREPOST_CUH

#include "kernels/sm90/bwd_config.cuh"
#include "kernels/ptx/mbarrier.cuh"
#include "kernels/ptx/tma.cuh"
#include "kernels/ptx/warpgroup.cuh"

namespace fb {

/* A strided 16-bit tensor on the device; strides in elements, columns contiguous. */
struct rows4 {
    char *data;
    int64_t batch, head, row;
};

struct bwd_prepost_args {
    rows4 o, dout, dq;
    bwd_stats stats;
    const float *lse; /* natural logarithm */
    int64_t lse_batch, lse_head, lse_row;
    float *dq_acc;
    unsigned *turns;
    int heads, nq, tiles_m, acc_rows, offset;
    float scale;
};

/* Where a group is split: the parts of dV and dK (bwd_loop.cuh), and where their sums go. */
struct bwd_join_args {
    rows4 dk, dv;
    const float *parts;
    int kv_heads, nk, tiles_n, splits;
    float scale;
};

template <class C>
__global__ void __launch_bounds__(256) bwd_pre(bwd_prepost_args p)
{
    constexpr int LANES = C::D / 8, ROWS = 256 / LANES, PASSES = (C::M + ROWS - 1) / ROWS;
    const int tile = blockIdx.x, head = blockIdx.y, batch = blockIdx.z;
    const int chunk = threadIdx.x % LANES, sub = threadIdx.x / LANES;
    const int unit = batch * p.heads + head;
    const char *o = p.o.data + 2 * (batch * p.o.batch + head * p.o.head) + chunk * 16;
    const char *g = p.dout.data + 2 * (batch * p.dout.batch + head * p.dout.head) + chunk * 16;
    const float *lse_of = p.lse + batch * p.lse_batch + head * p.lse_head;
    const int64_t stat = batch * p.stats.batch + head * p.stats.head;
    uint4 x[PASSES], y[PASSES];
    float lse[PASSES]; /* of the lanes that write a row's statistics */

    grid_dependency_wait();
#pragma unroll
    for (int i = 0; i < PASSES; i++) {
        int64_t row = tile * C::M + sub + i * ROWS;
        bool in = sub + i * ROWS < C::M && row < p.nq;
        x[i] = in ? *(const uint4 *)(o + 2 * row * p.o.row) : make_uint4(0, 0, 0, 0);
        y[i] = in ? *(const uint4 *)(g + 2 * row * p.dout.row) : make_uint4(0, 0, 0, 0);
        lse[i] = in && chunk == 0 ? lse_of[row * p.lse_row] : INFINITY;
    }
    grid_dependents_launch();
    if (C::ORDERED && threadIdx.x < 2)
        p.turns[2 * (unit * p.tiles_m + tile) + threadIdx.x] = 0;
    float4 *acc = (float4 *)acc_half<C>(p.dq_acc, unit, p.tiles_m, p.acc_rows, tile, 0);
    const int zeros = C::WITH_DQ && !C::ORDERED ? acc_tile_rows<C>(p.acc_rows, tile) * C::D / 4 : 0;
    for (int i = threadIdx.x; i < zeros; i += 256)
        acc[i] = make_float4(0, 0, 0, 0);
#pragma unroll
    for (int i = 0; i < PASSES; i++) {
        int r = sub + i * ROWS, row = tile * C::M + r;
        float sum = dot8<typename C::T>(x[i], y[i]);
#pragma unroll
        for (int m = LANES / 2; m > 0; m /= 2)
            sum += __shfl_xor_sync(0xffffffffu, sum, m);
        if (chunk == 0 && r < C::M) {
            int64_t at = stat + row / stat_piece * p.stats.piece + row % stat_piece;
            p.stats.delta[at] = sum;
            p.stats.lse2[at] = isinf(lse[i]) ? INFINITY : lse[i] * 1.44269504088896f;
        }
    }
}

/* The shared address of chunk `chunk` of row `row` in a padded 16-bit tile. */
template <class C>
__device__ __forceinline__ uint32_t post_at(uint32_t tile, int row, int chunk)
{
    return tile + row * (C::D * 2 + 16) + chunk * 16;
}

/* Two 16-byte pieces of an accumulator in register order, scaled, as an mma fragment. */
template <class C>
__device__ __forceinline__ void post_pack(uint32_t (&r)[4], float4 x, float4 y, float scale)
{
    r[0] = elem<typename C::T>::pack(x.x * scale, x.y * scale);
    r[1] = elem<typename C::T>::pack(x.z * scale, x.w * scale);
    r[2] = elem<typename C::T>::pack(y.x * scale, y.y * scale);
    r[3] = elem<typename C::T>::pack(y.z * scale, y.w * scale);
}

/* Rows [row0, row0 + ROWS) below n from a padded shared tile, in whole 16-byte chunks. */
template <class C, int ROWS>
__device__ __forceinline__ void post_rows(char *out, int64_t stride, const char *tile, int64_t row0,
                                          int64_t n)
{
    for (int i = threadIdx.x; i < ROWS * C::D / 8; i += 256) {
        int r = i / (C::D / 8), chunk = i % (C::D / 8);
        if (row0 + r < n)
            *(uint4 *)(out + 2 * (row0 + r) * stride + chunk * 16) =
                *(const uint4 *)(tile + r * (C::D * 2 + 16) + chunk * 16);
    }
}

template <class C>
__global__ void __launch_bounds__(256) bwd_post(bwd_prepost_args p)
{
    constexpr int COUNT = C::DQ_N / 8; /* 16-byte pieces a thread */
    __shared__ __align__(16) char shared[C::M * (C::D * 2 + 16)];
    const uint32_t smem = shared_address(shared);
    const int tile = blockIdx.x, head = blockIdx.y, batch = blockIdx.z;
    const int w = threadIdx.x / 128, t = threadIdx.x % 128, l = t % 32, mi = l / 8;
    const int warp_row = 16 * (t / 32);
    const int unit = batch * p.heads + head;
    /* Rows that see no key: nobody stored into their tile. */
    const bool unseen = C::ORDERED && C::CAUSAL && tile * C::M + C::M - 1 + p.offset < 0;
    float4 a[COUNT];

    grid_dependency_wait();
    const float4 *acc = (const float4 *)acc_half<C>(p.dq_acc, unit, p.tiles_m, p.acc_rows, tile, w);
    /* 16-byte pieces that are there: of DQ_SWAPPED one for every 8 rows. */
    const int count = C::DQ == DQ_SWAPPED ? acc_tile_rows<C>(p.acc_rows, tile) / 8 : COUNT;
#pragma unroll
    for (int c = 0; c < COUNT; c++)
        a[c] = unseen || c >= count ? make_float4(0, 0, 0, 0) : acc[128 * c + t];
    grid_dependents_launch();
#pragma unroll
    for (int c = 0; c < COUNT; c += 2) {
        uint32_t r[4];
        post_pack<C>(r, a[c], a[c + 1], p.scale);
        if (C::DQ == DQ_SWAPPED) {
            uint32_t at =
                post_at<C>(smem, 8 * (c + mi / 2) + l % 8, (64 * w + warp_row) / 8 + mi % 2);
            stmatrix_x4_trans(at, r[0], r[1], r[2], r[3]);
        } else {
            int row = warp_row + 8 * (mi % 2) + l % 8 + (C::DQ == DQ_ROWS ? 64 * w : 0);
            int chunk = c + mi / 2 + (C::DQ == DQ_ROWS ? 0 : 8 * w);
            stmatrix_x4(post_at<C>(smem, row, chunk), r[0], r[1], r[2], r[3]);
        }
    }
    __syncthreads();
    post_rows<C, C::M>(p.dq.data + 2 * (batch * p.dq.batch + head * p.dq.head), p.dq.row, shared,
                       (int64_t)tile * C::M, p.nq);
}

/* Sums a tile's parts in the order of the splits: dV, then (which = 1) dK. */
template <class C>
__global__ void __launch_bounds__(256) bwd_join(bwd_join_args p)
{
    __shared__ __align__(16) char shared[C::N * (C::D * 2 + 16)];
    const uint32_t smem = shared_address(shared);
    const int tile = blockIdx.x, head = blockIdx.y, batch = blockIdx.z / 2, which = blockIdx.z % 2;
    const int w = threadIdx.x / 128, t = threadIdx.x % 128, l = t % 32, mi = l / 8;
    const int row = 64 * w + 16 * (t / 32) + 8 * (mi % 2) + l % 8;
    const rows4 out = which ? p.dk : p.dv;
    const int64_t block = ((int64_t)batch * p.kv_heads + head) * p.tiles_n + tile;

    grid_dependency_wait();
    const float4 *part =
        (const float4 *)(p.parts + (block * p.splits * 4 + 2 * which + w) * (64 * C::D));
#pragma unroll
    for (int c = 0; c < C::D / 8; c += 2) {
        float4 x = part[128 * c + t], y = part[128 * (c + 1) + t];
        uint32_t r[4];
        for (int i = 1; i < p.splits; i++) {
            float4 u = part[i * 64 * C::D + 128 * c + t];
            float4 v = part[i * 64 * C::D + 128 * (c + 1) + t];
            x.x += u.x, x.y += u.y, x.z += u.z, x.w += u.w;
            y.x += v.x, y.y += v.y, y.z += v.z, y.w += v.w;
        }
        post_pack<C>(r, x, y, which ? p.scale : 1.0f);
        stmatrix_x4(post_at<C>(smem, row, c + mi / 2), r[0], r[1], r[2], r[3]);
    }
    __syncthreads();
    post_rows<C, C::N>(out.data + 2 * (batch * out.batch + head * out.head), out.row, shared,
                       (int64_t)tile * C::N, p.nk);
}

} // namespace fb
#endif
