/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The work of the key-major sm_90a backward: what the host hands over, which keys, heads and query
 * tiles a CTA has, in which order, and whose turn it is to add into dQ.
 */
#ifndef FB_KERNELS_SM90_BWD_WORK_CUH
#define FB_KERNELS_SM90_BWD_WORK_CUH

#include "kernels/sm90/bwd_config.cuh"
#include "kernels/ptx/tma.cuh"

namespace fb {

/* What the host hands over; lengths in elements. */
struct bwd_sm90_args {
    CUtensorMap q, k, v, dout, dk, dv;
    bwd_stats stats;
    float *dq_acc, *parts; /* parts: fp32 dV and dK of each CTA, where a group is split */
    unsigned *turns;       /* DQ_ORDERED: additions done, [batch][head][query tile][half] */
    int batch, heads, kv_heads, nq, nk, tiles_m, tiles_n;
    int acc_rows; /* rows of fp32 dQ a head */
    int offset;   /* causal: query i sees keys up to i + offset */
    int splits;   /* CTAs that share the query heads of a group */
    int section;  /* batch x key head x split units launched together, key tile by key tile */
    float scale, scale_log2;
};

/* One CTA's work: 128 keys from `key`, query tiles [first, first + span) of the heads from `head`,
 * upwards or `down`. */
struct bwd_block {
    int batch, kv_head, split, head, key, tile_n, first, span, steps;
    bool down;
};

/* The first query tile of each head, and the next one; after the last the next head starts over. */
__device__ __forceinline__ int bwd_tile_start(const bwd_sm90_args &p, const bwd_block &b)
{
    return b.down ? p.tiles_m - 1 : b.first;
}

__device__ __forceinline__ int bwd_tile_next(const bwd_sm90_args &p, const bwd_block &b, int tile)
{
    if (b.down)
        return tile == b.first ? p.tiles_m - 1 : tile - 1;
    return tile + 1 == p.tiles_m ? b.first : tile + 1;
}

/*
 * Which work a CTA does.  Units of batch x key head x split of its group are launched in sections
 * (see the launcher).
 *
 * Ordered causal sections alternate.  Up: shortest key tiles first, each from its diagonal upwards.
 * Down: longest first, from the last query tile downwards.  The CTAs of an up section end in the
 * order of their lengths, those of the down section after it start as they do, and all end
 * together.  In both, a CTA waits for its turn only on CTAs launched before it.
 */
template <class C>
__device__ __forceinline__ bwd_block bwd_block_find(const bwd_sm90_args &p, int cta)
{
    bwd_block b;
    int units = p.batch * p.kv_heads * p.splits, group = p.heads / p.kv_heads;
    int section = cta / (p.section * p.tiles_n);
    int inside = cta - section * p.section * p.tiles_n;
    int width = min(p.section, units - section * p.section);
    int tile = inside / width;
    int unit = section * p.section + inside % width;

    b.down = C::ORDERED && C::CAUSAL && ((units - 1) / p.section - section) % 2 == 0;
    if (C::ORDERED && C::CAUSAL && !b.down)
        tile = p.tiles_n - 1 - tile;
    b.tile_n = tile;
    b.split = unit % p.splits;
    b.kv_head = unit / p.splits % p.kv_heads;
    b.batch = unit / p.splits / p.kv_heads;
    b.head = b.kv_head * group + b.split * group / p.splits;
    b.key = tile * C::N;
    b.first = C::CAUSAL ? max(0, b.key - p.offset) / C::M : 0;
    b.span = max(0, p.tiles_m - b.first);
    b.steps = ((b.split + 1) * group / p.splits - b.split * group / p.splits) * b.span;
    return b;
}

/*
 * How many key tiles add into query tile `tile` before this one (DQ_ORDERED).  Full or down: the
 * tiles before it.  Up: the visible tiles after it, so a CTA's first query tile, on its diagonal,
 * has rank 0 and nobody waits at the start.
 */
template <class C>
__device__ __forceinline__ unsigned bwd_rank(const bwd_sm90_args &p, const bwd_block &b, int tile)
{
    if (!C::CAUSAL || b.down)
        return b.tile_n;
    return min(p.tiles_n - 1, (tile * C::M + C::M - 1 + p.offset) / C::N) - b.tile_n;
}

} // namespace fb
#endif
