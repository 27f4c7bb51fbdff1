/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The attention backward for sm_90a: one kernel, dQ by fp32 reductions in the L2.
 *
 * Idea.  A CTA owns 128 keys of one key head and walks over the query tiles of the heads that share
 * it.  Scores are computed transposed, S^T = K Q^T and dP^T = V dO^T, so a warpgroup holds whole
 * key rows and its P^T and dS^T registers are, once packed to 16 bits, the A operands of
 * dV += P^T dO and dK += dS^T Q: neither passes through shared memory.  Only dS does, once, since
 * dQ = dS K sums over the keys of both warpgroups.
 *
 * Differs from the mma.sync backward in: wgmma, the copy engine, a producer warpgroup, registers
 * moved from it to the MMA warpgroups (24 / 240 / 240), and dQ leaving in register order, by
 * 16-byte reductions or, in a fixed order, through shared memory as a linear bulk reduction,
 * instead of scalar atomics.  The query heads of a group are looped over inside the CTA, so dK and
 * dV are written once, without atomics, for any number of key heads; where that leaves too few
 * CTAs, some share a group, leave fp32 parts, and bwd_join() adds them in order.
 *
 * Roles.  Warpgroup 0: warp 0 loads (one lane); under DQ_ORDERED warps 1 and 2 each send one
 * warpgroup's dQ halves.  Warpgroups 1 and 2: the five products, softmax and dS (bwd_loop.cuh), and
 * dQ under DQ_ANY_ORDER.
 *
 * Barriers, all mbarriers, each ring a full/empty pair: Q+LSE (and K with the first), dO+delta (V
 * with the first), dS (between the MMA warpgroups), dQ staging (MMA warpgroup to its writer warp).
 * Consumers arrive once a warp, so empties count 8 (dQ full: 4).  Named barriers: 4 and 5 where the
 * warpgroups take turns (TURNS), 1 to 3 in the epilogue.
 *
 * Determinism.  dK and dV are bitwise repeatable.  dQ is too under DQ_ORDERED, where the writer
 * warp takes turns through a counter a query tile and half; under DQ_ANY_ORDER it is not. Source of
 * the structure: FlashAttention-3 (Shah et al. 2024) and its public kernels.
 */
#ifndef FB_KERNELS_SM90_BWD_CUH
#define FB_KERNELS_SM90_BWD_CUH

#include "kernels/sm90/bwd_loop.cuh"

namespace fb {

/* LSE or delta of a query tile: M of a dense array from `stat` on, or (GAPPED) 16 at a time. */
template <class C, bool GAPPED>
__device__ __forceinline__ void bwd_load_stat(uint32_t at, const float *from, int64_t stat,
                                              uint32_t full, const bwd_stats &p, int row, int head,
                                              int batch)
{
    if (!GAPPED) {
        bulk_load(at, from + stat, C::STAT_BYTES, full);
        return;
    }
    from += batch * p.batch + head * p.head + row / stat_piece * p.piece;
#pragma unroll 1
    for (uint32_t i = 0; i < C::STAT_BYTES; i += 4 * stat_piece, from += p.piece)
        bulk_load(at + i, from, 4 * stat_piece, full);
}

/* One thread: everything that arrives in shared memory.  K rides on the first Q, V on the first dO,
 * so that the first S starts before V has landed. */
template <class C, bool GAPPED>
__device__ void bwd_load(const bwd_sm90_args &p, const bwd_block &b, uint32_t smem)
{
    uint64_t keep = l2_evict_last();
    const int start = bwd_tile_start(p, b);
    int tile = start, head = b.head;

    for (int i = 0; i < b.steps; i++) {
        const ring<2> at = ring_of(i);
        const int empty = at.parity ^ 1, row = tile * C::M;
        uint32_t full = at.barrier(smem + C::Q_FULL);
        int64_t stat = ((int64_t)(b.batch * p.heads + head) * p.tiles_m + tile) * C::M;

        mbarrier_wait(at.barrier(smem + C::Q_EMPTY), empty);
        mbarrier_arrive_expect(full, C::Q_BYTES + C::STAT_BYTES + (i ? 0 : C::KV_BYTES));
        if (i == 0)
            tma_load_tile<C::PANELS>(smem + C::K_AT, C::KV_PANEL, &p.k, full, b.key, b.kv_head,
                                     b.batch, keep);
        tma_load_tile<C::PANELS>(at.slot(smem + C::Q_AT, C::Q_BYTES), C::Q_PANEL, &p.q, full, row,
                                 head, b.batch, keep);
        bwd_load_stat<C, GAPPED>(at.slot(smem + C::LSE_AT, C::STAT_BYTES), p.stats.lse2, stat, full,
                                 p.stats, row, head, b.batch);

        full = at.barrier(smem + C::DO_FULL);
        mbarrier_wait(at.barrier(smem + C::DO_EMPTY), empty);
        mbarrier_arrive_expect(full, C::Q_BYTES + C::STAT_BYTES + (i ? 0 : C::KV_BYTES));
        if (i == 0)
            tma_load_tile<C::PANELS>(smem + C::V_AT, C::KV_PANEL, &p.v, full, b.key, b.kv_head,
                                     b.batch, keep);
        tma_load_tile<C::PANELS>(at.slot(smem + C::DO_AT, C::Q_BYTES), C::Q_PANEL, &p.dout, full,
                                 row, head, b.batch, keep);
        bwd_load_stat<C, GAPPED>(at.slot(smem + C::DELTA_AT, C::STAT_BYTES), p.stats.delta, stat,
                                 full, p.stats, row, head, b.batch);
        tile = bwd_tile_next(p, b, tile);
        head += tile == start;
    }
}

/* One thread a warpgroup: adds its half of each dQ tile into the global accumulator. */
template <class C>
__device__ void bwd_write_dq(const bwd_sm90_args &p, const bwd_block &b, uint32_t smem, int w)
{
    uint64_t keep = l2_evict_last();
    uint32_t half = smem + C::DQ_AT + w * C::DQ_HALF;
    const int start = bwd_tile_start(p, b);
    int tile = start, head = b.head;

    for (int i = 0; i < b.steps; i++) {
        int block = (b.batch * p.heads + head) * p.tiles_m + tile;
        float *to = acc_half<C>(p.dq_acc, b.batch * p.heads + head, p.tiles_m, p.acc_rows, tile, w);
        uint32_t bytes = acc_tile_rows<C>(p.acc_rows, tile) * (C::D * 2);
        unsigned *turn = p.turns + (int64_t)block * 2 + w;
        bool first = false;

        mbarrier_wait(smem + C::DQ_FULL + 8 * w, message_parity(i));
        if (C::ORDERED) {
            unsigned rank = bwd_rank<C>(p, b, tile);
            turn_wait(turn, rank);
            first = rank == 0;
        }
        if (first)
            bulk_store(to, half, bytes, keep);
        else
            bulk_reduce_add(to, half, bytes, keep);
        bulk_commit();
        bulk_wait_read<0>();
        mbarrier_arrive(smem + C::DQ_EMPTY + 8 * w);
        if (C::ORDERED) {
            bulk_wait<0>(); /* the sums are in the L2, not merely read from here */
            turn_pass(turn);
        }
        tile = bwd_tile_next(p, b, tile);
        head += tile == start;
    }
}

/*
 * GAPPED: LSE and delta stand in the rows of a dQ that has gaps. A form of its own, not a branch of
 * the loader: with one, the products' loop comes out in another order, and full masks lose 3 %.
 */
template <class C, bool GAPPED>
__global__ void __launch_bounds__(384, 1) bwd_sm90_main(const __grid_constant__ bwd_sm90_args p)
{
    extern __shared__ __align__(1024) char shared[];
    const uint32_t smem = shared_address(shared);
    const bwd_block b = bwd_block_find<C>(p, blockIdx.x);
    const int warp = cta_begin(smem, bwd_barriers_init<C>, &p.q, &p.k, &p.v, &p.dout);

    grid_dependency_wait(); /* the pre-pass wrote LSE, delta and a zero dQ */
    if (!C::WITH_DQ)
        grid_dependents_launch(); /* the dQ kernel needs nothing of this one */
    if (warp < 4) {
        registers_shrink<24>();
        if ((threadIdx.x & 31) == 0) {
            if (warp == 0)
                bwd_load<C, GAPPED>(p, b, smem);
            else if (C::DQ_HALF && warp < 3)
                bwd_write_dq<C>(p, b, smem, warp - 1);
        }
    } else {
        registers_grow<240>();
        bwd_mma<C>(p, b, smem, warp / 4 - 1);
    }
}

} // namespace fb
#endif
