/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The sm_90a backward of short sequences: one kernel, nothing before it and nothing after.
 *
 * Idea.  A CTA stays and owns whole units, a head of a batch entry each: it walks over all key
 * tiles, the last one first, and for each over the query tiles, with the main loop of
 * bwd_loop.cuh.  What one CTA alone adds to needs no turns, no zeros before and no conversion
 * after: of a query tile's parts of dQ the first is stored, the next are added, and to the last,
 * that of key tile 0, the sum of the others is loaded; it leaves scaled and in 16 bits. delta and
 * LSE of a unit are made by the way, when a query tile is first met, and stay in shared memory.
 * Causal units are all of one length.
 *
 * Differs from the key-major form (bwd.cuh) in: the loader runs on into the next key tile and
 * the next unit while the sums of this one leave; gradients leave through the dQ staging and the
 * writer warps, not through K and V; the fp32 dQ of one unit a CTA instead of all.  It wants enough
 * units, of few query rows each, and a key head for every query head: bwd_short.h.
 *
 * Roles.  Warp 0 loads (one lane); warps 1 and 2 (one lane) send what a warpgroup staged; warp 3
 * makes LSE and delta; warpgroups 1 and 2 multiply.
 *
 * Barriers, beyond those of the key-major form: STAT_FULL[2] (1: warp 3) says that LSE and delta of
 * the query tile in that stage are there; O_FULL, O_EMPTY (1) a tile of O; KV_EMPTY (8 warps) that
 * the last products of a key tile have read K and V.  DQ_EMPTY, one arrival or the bytes of a sum,
 * says that the staging is empty or holds the sum to be added to.
 *
 * Shared memory and registers: bwd_config.cuh, bwd_loop.cuh.
 *
 * Determinism: every sum has one order; all gradients are bitwise repeatable.
 */
#ifndef FB_KERNELS_SM90_BWD_UNIT_CUH
#define FB_KERNELS_SM90_BWD_UNIT_CUH

#include "kernels/sm90/bwd_loop.cuh"

namespace fb {

struct bwd_short_args {
    CUtensorMap q, k, v, o, dout, dq, dk, dv;
    const float *lse; /* natural logarithm */
    int64_t lse_batch, lse_head, lse_row;
    float *dq_acc; /* fp32 dQ of one unit for each CTA, in the blocks of bwd_config.cuh */
    int units, heads, nq, nk, tiles_m, tiles_n;
    int offset; /* causal: query i sees keys up to i + offset */
    float scale, scale_log2;
};

/*
 * The first query tile of key tile n; the others follow.  Key tile 0 takes all, those that see no
 * key as well: their dQ is zero.  Key tiles run downwards, so those before the first of key tile
 * n + 1 are met by n first.
 */
template <class C>
__device__ __forceinline__ int short_tile_first(const bwd_short_args &p, int n)
{
    if (n == p.tiles_n)
        return p.tiles_m;
    return C::CAUSAL && n > 0 ? max(0, n * C::N - p.offset) / C::M : 0;
}

template <class C>
__device__ __forceinline__ void short_barriers_init(uint32_t smem)
{
    bwd_barriers_init<C>(smem);
    mbarrier_init(smem + C::STAT_FULL, 1);
    mbarrier_init(smem + C::STAT_FULL + 8, 1);
    mbarrier_init(smem + C::O_FULL, 1);
    mbarrier_init(smem + C::O_EMPTY, 1);
    mbarrier_init(smem + C::KV_EMPTY, 8);
}

/*
 * One thread: everything that arrives in shared memory.  Q and dO of a key tile's first step are on
 * their way before K and V have room; the bytes of these ride on the same Q_FULL.
 */
template <class C>
__device__ void short_load(const bwd_short_args &p, uint32_t smem)
{
    const uint64_t keep = l2_evict_last();
    int step = 0, passes = 0, met = 0;

    for (int unit = blockIdx.x; unit < p.units; unit += gridDim.x)
        for (int n = p.tiles_n - 1; n >= 0; n--) {
            const int first = short_tile_first<C>(p, n), met_before = short_tile_first<C>(p, n + 1);
            for (int tile = first; tile < p.tiles_m; tile++, step++) {
                const int head = unit % p.heads, batch = unit / p.heads;
                const ring<2> place = ring_of(step);
                const int empty = place.parity ^ 1;
                const uint32_t full = place.barrier(smem + C::Q_FULL);
                const uint32_t at = place.slot(smem + C::Q_AT, C::Q_BYTES);

                mbarrier_wait(full + (C::Q_EMPTY - C::Q_FULL), empty);
                mbarrier_arrive_expect(full, C::Q_BYTES + (tile == first ? 2 * C::KV_BYTES : 0));
                tma_load_tile<C::PANELS>(at, C::Q_PANEL, &p.q, full, tile * C::M, head, batch,
                                         keep);
                mbarrier_wait(full + (C::DO_EMPTY - C::Q_FULL), empty);
                mbarrier_arrive_expect(full + (C::DO_FULL - C::Q_FULL), C::Q_BYTES);
                tma_load_tile<C::PANELS>(at + (C::DO_AT - C::Q_AT), C::Q_PANEL, &p.dout,
                                         full + (C::DO_FULL - C::Q_FULL), tile * C::M, head, batch,
                                         keep);
                if (tile < met_before) {
                    mbarrier_wait(smem + C::O_EMPTY, message_parity(met++) ^ 1);
                    mbarrier_arrive_expect(smem + C::O_FULL, C::Q_BYTES);
                    tma_load_tile<C::PANELS>(smem + C::O_AT, C::Q_PANEL, &p.o, smem + C::O_FULL,
                                             tile * C::M, head, batch, keep);
                }
                if (tile > first)
                    continue;
                mbarrier_wait(smem + C::KV_EMPTY, message_parity(passes++) ^ 1);
                tma_load_tile<C::PANELS>(smem + C::K_AT, C::KV_PANEL, &p.k, full, n * C::N, head,
                                         batch, keep);
                tma_load_tile<C::PANELS>(smem + C::V_AT, C::KV_PANEL, &p.v, full, n * C::N, head,
                                         batch, keep);
            }
        }
}

/* LSE of a query tile in base 2; +infinity, so that P = 0, for rows past the end and those that see
 * no key. */
template <class C>
__device__ __forceinline__ void short_lse(const bwd_short_args &p, uint32_t to, int unit, int tile)
{
    const float *from = p.lse + unit / p.heads * p.lse_batch + unit % p.heads * p.lse_head;

    for (int i = threadIdx.x % 32; i < C::M; i += 32) {
        int row = tile * C::M + i;
        float lse = row < p.nq ? from[row * p.lse_row] : INFINITY;
        shared_store(to + i * 4, isinf(lse) ? INFINITY : lse * 1.44269504088896f);
    }
}

/* delta of a query tile: a lane takes a row at a time.  The sum need not know where the swizzle put
 * which columns, so lanes begin at different banks. */
template <class C>
__device__ __forceinline__ void short_delta(uint32_t o, uint32_t dout, uint32_t to)
{
    const int lane = threadIdx.x % 32;
    const uint32_t row = o + lane * 128 + lane % 8 * 16, to_dout = dout - o;
#pragma unroll
    for (int i = 0; i < C::M; i += 32) {
        float sum = 0;
#pragma unroll 4
        for (int j = 0; j < C::D / 8; j++) {
            const uint32_t at = (row ^ j % 8 * 16) + i * 128 + j / 8 * C::Q_PANEL;
            sum += dot8<typename C::T>(shared_load_chunk(at), shared_load_chunk(at + to_dout));
        }
        shared_store(to + (i + lane) * 4, sum);
    }
}

/*
 * Warp 3: LSE and delta, of each query tile once a unit. Units, two steps or more, alternate
 * between two sets of rows, so what the last unit's last steps read is not overwritten.  `turn`
 * holds that in the bit of value short_rows and the parity of O_FULL in the lowest: a register more
 * is a spill.
 */
template <class C>
__device__ void short_statistics(const bwd_short_args &p, uint32_t smem)
{
    int step = 0, turn = 0;

    for (int unit = blockIdx.x; unit < p.units; unit += gridDim.x, turn ^= short_rows)
        for (int n = p.tiles_n - 1; n >= 0; n--)
            for (int tile = short_tile_first<C>(p, n); tile < p.tiles_m; tile++, step++) {
                const ring<2> at = ring_of(step);
                const bool fresh = tile < short_tile_first<C>(p, n + 1);
                const uint32_t to = smem + C::LSE_AT + ((turn & short_rows) + tile * C::M) * 4;

                if (fresh)
                    short_lse<C>(p, to, unit, tile);
                mbarrier_wait(at.barrier(smem + C::DO_FULL), at.parity);
                if (fresh) {
                    mbarrier_wait(smem + C::O_FULL, message_parity(turn));
                    turn ^= 1;
                    short_delta<C>(smem + C::O_AT, at.slot(smem + C::DO_AT, C::Q_BYTES),
                                   to + (C::DELTA_AT - C::LSE_AT));
                    mbarrier_arrive_warp(smem + C::O_EMPTY);
                }
                mbarrier_arrive_warp(at.barrier(smem + C::STAT_FULL));
            }
}

/* A writer waits for the message of that parity, staged in an empty half or (sum > 0 bytes) on the
 * sum at `from`. */
__device__ __forceinline__ void short_receive(uint32_t half, uint32_t full, uint32_t empty,
                                              int parity, const float *from, uint32_t sum)
{
    bulk_wait_read<0>();
    if (sum) {
        bulk_wait<0>(); /* the additions before are in the L2 */
        fence_proxy_async_global();
        mbarrier_arrive_expect(empty, sum);
        bulk_load(half, from, sum, empty);
    } else {
        mbarrier_arrive(empty);
    }
    mbarrier_wait(full, parity);
    bulk_wait<0>();
}

/* 64 rows of dV or dK. */
template <class C>
__device__ __forceinline__ void short_write_keys(const CUtensorMap *map, int unit, int heads,
                                                 uint32_t at, int key)
{
    tma_store_tile<C::PANELS>(map, at, 8192, key, unit % heads, unit / heads);
    bulk_commit();
}

/* One thread a warpgroup: sends what it staged, in the order of its messages: dQ of each step of a
 * key tile, then dV and dK. */
template <class C>
__device__ void short_write(const bwd_short_args &p, uint32_t smem, int w)
{
    const uint32_t half = smem + C::DQ_AT + w * C::DQ_HALF;
    const uint32_t full = smem + C::DQ_FULL + 8 * w, empty = smem + C::DQ_EMPTY + 8 * w;
    float *acc = p.dq_acc + (int64_t)blockIdx.x * p.tiles_m * (C::M * C::D) + w * (C::DQ_HALF / 4);
    int step = 0;

    for (int unit = blockIdx.x; unit < p.units; unit += gridDim.x)
        for (int n = p.tiles_n - 1; n >= 0; n--) {
            for (int tile = short_tile_first<C>(p, n); tile < p.tiles_m; tile++, step++) {
                float *block = acc + tile * (C::M * C::D);
                const bool fresh = tile < short_tile_first<C>(p, n + 1);
                const uint32_t sum = n == 0 && !fresh ? C::DQ_HALF : 0;

                short_receive(half, full, empty, message_parity(step), block, sum);
                if (n == 0)
                    tma_store(&p.dq, half, C::DQ == DQ_COLUMNS ? 64 * w : 0,
                              tile * C::M + (C::DQ == DQ_ROWS ? 64 * w : 0), unit % p.heads,
                              unit / p.heads);
                else if (fresh)
                    bulk_store(block, half, C::DQ_HALF, l2_evict_last());
                else
                    bulk_reduce_add(block, half, C::DQ_HALF, l2_evict_last());
                bulk_commit();
            }
            short_receive(half, full, empty, message_parity(step), nullptr, 0);
            short_write_keys<C>(&p.dv, unit, p.heads, half, n * C::N + 64 * w);
            short_receive(half, full, empty, message_parity(step + 1), nullptr, 0);
            short_write_keys<C>(&p.dk, unit, p.heads, half, n * C::N + 64 * w);
        }
    bulk_wait_read<0>();
}

/* Adds the sum of a half of dQ, in register order, to the registers. */
template <class C>
__device__ __forceinline__ void dq_add(float (&dq)[C::DQ_N / 2], uint32_t at)
{
#pragma unroll
    for (int c = 0; c < C::DQ_N / 8; c++) {
        float4 x = shared_load4(at + 2048 * c);
        dq[4 * c] += x.x, dq[4 * c + 1] += x.y, dq[4 * c + 2] += x.z, dq[4 * c + 3] += x.w;
    }
}

/* A key tile makes a message a step, then one each for dV and dK: the parity of a message is that
 * of the step, for dV of the next step, for dK of the one after. */
template <class C>
__device__ __forceinline__ void short_message_begin(bwd_state<C> &a, int step)
{
    mbarrier_wait(a.smem + C::DQ_EMPTY + 8 * a.w, message_parity(step));
}

template <class C>
__device__ __forceinline__ void short_message_end(bwd_state<C> &a)
{
    fence_proxy_async();
    mbarrier_arrive_warp(a.smem + C::DQ_FULL + 8 * a.w);
}

/* Hands a finished half of dQ of step j, the one before a.tile's, to the writer. */
template <class C>
__device__ __forceinline__ void dq_send(bwd_state<C> &a, const bwd_short_args &p,
                                        float (&dq)[C::DQ_N / 2], int j)
{
    mbarrier_arrive_warp(ring_of(j).barrier(a.smem + C::DS_EMPTY));
    short_message_begin<C>(a, j);
    if (a.tile_n > 0) {
        dq_dump<C>(a.dq_lane, dq);
    } else {
        if (a.tile > short_tile_first<C>(p, 1))
            dq_add<C>(dq, a.dq_lane);
        named_barrier_sync(2 + a.w, 128); /* the sum is read, its place is free */
        fragment_store<typename C::T, 64>(a.smem + C::DQ_AT + a.w * C::DQ_HALF, 0, dq, p.scale);
    }
    short_message_end<C>(a);
}

/* All steps of a key tile, from step i of the CTA on, at least one; returns the next step. */
template <class C>
__device__ __forceinline__ int short_steps(bwd_state<C> &a, const bwd_short_args &p, int i)
{
    float dq[C::DQ_N / 2];

    bwd_step<C, true>(a, p, i++);
    for (a.tile++; a.tile < p.tiles_m; a.tile++) {
        /* Descriptors are made anew: kept from step to step they would not fit. */
        a.smem = register_copy(a.smem), a.k_rows = register_copy(a.k_rows);
        bwd_step<C, false>(a, p, i++);
    }
    issue_dq<C>(a, dq, i - 1);
    wgmma_wait<0>();
    registers_pin(dq);
    mbarrier_arrive_warp(a.smem + C::KV_EMPTY);
    dq_send<C>(a, p, dq, i - 1);
    return i;
}

/* Stages this warpgroup's rows of dV or dK for the writer. */
template <class C>
__device__ __forceinline__ void short_send_keys(bwd_state<C> &a, const float (&acc)[C::D / 2],
                                                float scale, int step)
{
    short_message_begin<C>(a, step);
    fragment_store<typename C::T, C::D>(a.smem + C::DQ_AT + a.w * C::DQ_HALF, 8192, acc, scale);
    short_message_end<C>(a);
}

template <class C>
__device__ __forceinline__ void short_mma(const bwd_short_args &p, uint32_t smem, int w)
{
    int i = 0;
    bwd_state<C> a;

    bwd_state_init<C>(a, smem, w);
    a.rows = 0;
    for (int unit = blockIdx.x; unit < p.units; unit += gridDim.x, a.rows ^= short_rows)
        for (a.tile_n = p.tiles_n - 1; a.tile_n >= 0; a.tile_n--) {
            bwd_state_keys<C>(a, a.tile_n * C::N, p.nk, p.offset);
            a.tile = short_tile_first<C>(p, a.tile_n);
            if (a.tile < p.tiles_m)
                i = short_steps<C>(a, p, i);
            registers_pin(a.dv);
            registers_pin(a.dk);
            short_send_keys<C>(a, a.dv, 1.0f, i);
            short_send_keys<C>(a, a.dk, p.scale, i + 1);
        }
}

template <class C>
__global__ void __launch_bounds__(384, 1) bwd_sm90_short(const __grid_constant__ bwd_short_args p)
{
    extern __shared__ __align__(1024) char shared[];
    const uint32_t smem = shared_address(shared);
    const int warp = cta_begin(smem, short_barriers_init<C>, &p.q, &p.k, &p.v, &p.o, &p.dout);

    if (warp < 4) {
        registers_shrink<24>();
        if (warp == 3)
            short_statistics<C>(p, smem);
        else if ((threadIdx.x & 31) == 0) {
            if (warp == 0)
                short_load<C>(p, smem);
            else
                short_write<C>(p, smem, warp - 1);
        }
    } else {
        registers_grow<240>();
        short_mma<C>(p, smem, warp / 4 - 1);
    }
}

} // namespace fb
#endif
