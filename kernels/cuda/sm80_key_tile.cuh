/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The work of a CTA of the mma.sync backward on one key tile, and its place in the order in which
 * dQ is added up.
 *
 * Atomic: no order. Ordered: key tiles add to a query tile one after the other, upwards or, where
 * the host says so, downwards. Turns are taken by pairs of query tiles: passing one stops a warp
 * for a trip to the L2, and half as many trips cost half as much. The first to add assigns, so
 * nothing is cleared.
 *
 * Partials: CTA c of `copies` takes one key tile of each lap, of which odd ones go backwards:
 * c, 2 G - 1 - c, 2 G + c... so that under a causal mask all have the same work. In odd laps query
 * tiles go backwards, too: what a lap ends with, the next one begins with, and finds in the L2. A
 * copy's first key tile that visits a query tile assigns.
 */
#ifndef FB_KERNELS_CUDA_SM80_KEY_TILE_CUH
#define FB_KERNELS_CUDA_SM80_KEY_TILE_CUH

#include "sm80_dq_sum.cuh"
#include "sm80_work.cuh"
#include "turn.cuh"

namespace fb {

constexpr int sm80_long_way = 16; /* query tiles */

struct sm80_key_tile {
    sm80_sequence s;
    int kv_head, group;
    int n, first, span, steps; /* key tile; first query tile, how many a head, in all heads */
    int before;                /* this CTA's key tile before, -1: none */
    bool back;                 /* query tiles from the last to the first */
};

/* A step of one key tile: query head and tile. */
struct sm80_step {
    int head, m;
};

__device__ __forceinline__ sm80_step sm80_step_first(const sm80_key_tile &w)
{
    return {w.kv_head * w.group, w.back ? w.first + w.span - 1 : w.first};
}

/* The next step, or with `back` the last one. */
__device__ __forceinline__ sm80_step sm80_step_next(const sm80_key_tile &w, sm80_step at,
                                                    bool back = false)
{
    const int up = w.back == back ? 1 : -1, last = w.first + w.span - 1;
    if (at.m == (up > 0 ? last : w.first))
        return {at.head + (back ? -1 : 1), up > 0 ? w.first : last};
    return {at.head, at.m + up};
}

template <class C>
__device__ __forceinline__ sm80_key_tile sm80_key_tile_find(const fb_sm80_args &p, int unit, int n)
{
    sm80_key_tile w;
    w.s = sm80_sequence_find(p, unit / p.kv_heads);
    w.kv_head = unit % p.kv_heads;
    w.group = p.heads / p.kv_heads;
    w.n = n;
    w.first = sm80_first_query_tile(w.s, n, C::M, C::N);
    w.span = n * C::N < w.s.nk ? max(0, sm80_last_query_tile(w.s, n, C::M, C::N) - w.first + 1) : 0;
    w.steps = w.span * w.group;
    w.before = -1;
    w.back = false;
    return w;
}

template <class C>
__device__ __forceinline__ int64_t sm80_query_block(const fb_sm80_args &p, int batch,
                                                    const sm80_step &at)
{
    return ((int64_t)batch * p.heads + at.head) * ((p.nq + C::M - 1) / C::M) + at.m;
}

/* The warp's counter of the pair that query tile at.m belongs to. */
template <class C>
__device__ __forceinline__ unsigned *sm80_turn(const fb_sm80_args &p, const sm80_key_tile &w,
                                               const sm80_step &at)
{
    const int pairs = sm80_turn_pairs(p.nq, C::M);
    const int64_t pair = ((int64_t)w.s.batch * p.heads + at.head) * pairs + at.m / 2;
    return p.turns + pair * C::WARPS + threadIdx.x / 32;
}

/* How many key tiles have their turn at the pair before this one: those of either tile are
 * neighbours. */
template <class C>
__device__ __forceinline__ unsigned sm80_rank(const fb_sm80_args &p, const sm80_key_tile &w, int m)
{
    if (p.descend)
        return sm80_last_key_tile(w.s, min(m | 1, (w.s.nq - 1) / C::M), C::M, C::N) - w.n;
    return w.n - sm80_first_key_tile(w.s, m & ~1, C::M, C::N);
}

/* Is this key tile the first that adds to query tile m of its sum? */
template <class C>
__device__ __forceinline__ bool sm80_assigns(const fb_sm80_args &p, const sm80_key_tile &w, int m)
{
    if (p.dq_policy == FB_SM80_DQ_PARTIALS)
        return w.before < sm80_first_key_tile(w.s, m, C::M, C::N);
    if (p.dq_policy == FB_SM80_DQ_ORDERED)
        return w.n == (p.descend ? sm80_last_key_tile(w.s, m, C::M, C::N)
                                 : sm80_first_key_tile(w.s, m, C::M, C::N));
    return false;
}

/* An early look at whose turn it is, before the products that make dQ. */
template <class C>
__device__ __forceinline__ unsigned sm80_look_turn(const fb_sm80_args &p, const sm80_key_tile &w,
                                                   const sm80_step &at)
{
    return C::WITH_DQ && p.dq_policy == FB_SM80_DQ_ORDERED ? turn_look(sm80_turn<C>(p, w, at)) : 0;
}

/* Waits for the turn at a pair of query tiles. At the start of a long way upwards, for the turn at
 * the next pair, too: CTAs that began together would else follow each other without any room. Not
 * at D = 256, where dQ would leave the L2 meanwhile: a fifth slower. */
template <class C>
__device__ __forceinline__ void sm80_wait_turn(const fb_sm80_args &p, const sm80_key_tile &w,
                                               const sm80_step &at, unsigned seen)
{
    const bool starts = at.m == w.first && at.head == w.kv_head * w.group;
    if (C::D <= 128 && starts && !p.descend && w.span >= sm80_long_way) {
        const sm80_step beyond = {at.head, at.m + 2};
        turn_wait_warp(sm80_turn<C>(p, w, beyond), sm80_rank<C>(p, w, beyond.m));
    }
    if (seen != sm80_rank<C>(p, w, at.m))
        turn_wait_warp(sm80_turn<C>(p, w, at), sm80_rank<C>(p, w, at.m));
}

/* Adds part `part` of the columns of one step's dQ, behind those whose turn is before. */
template <class C>
__device__ __forceinline__ void sm80_give_dq(const fb_sm80_args &p, const sm80_key_tile &w,
                                             const sm80_step &at, int copy, int part, unsigned seen,
                                             const float (&dq)[C::Q_MT][C::Q_NT][4])
{
    const int64_t blocks = (int64_t)p.batch * p.heads * ((p.nq + C::M - 1) / C::M);
    const bool begins = at.m % 2 == 0 || at.m == w.first;
    if (p.dq_policy == FB_SM80_DQ_ORDERED && part == 0 && begins)
        sm80_wait_turn<C>(p, w, at, seen);
    sm80_dq_add<C::GENERAL, C::Q_PARTS>(p, copy * blocks + sm80_query_block<C>(p, w.s.batch, at),
                                        part, C::M * C::D, dq, sm80_assigns<C>(p, w, at.m));
}

/* Lets the next CTA add behind the last tile of a pair. Called when the additions have had a
 * score's time to land and before new copies are issued: the release waits for all that is under
 * way. */
template <class C>
__device__ __forceinline__ void sm80_pass_turn(const fb_sm80_args &p, const sm80_key_tile &w,
                                               const sm80_step &at)
{
    const bool ends = at.m % 2 == 1 || at.m == w.first + w.span - 1;
    if (C::WITH_DQ && p.dq_policy == FB_SM80_DQ_ORDERED && ends)
        turn_pass_warp(sm80_turn<C>(p, w, at));
}

/* The key tile of CTA `place` in lap `lap` of the partials form, `copies` CTAs a key head. */
__device__ __forceinline__ int sm80_lap_tile(int copies, int place, int lap)
{
    return lap * copies + (lap % 2 ? copies - 1 - place : place);
}

/* Has any key tile of that CTA added to a query tile visited by key tiles first to last? */
__device__ __forceinline__ bool sm80_copy_holds(int copies, int place, int first, int last)
{
    const int lap = first / copies, n = sm80_lap_tile(copies, place, lap);
    return (n >= first ? n : sm80_lap_tile(copies, place, lap + 1)) <= last;
}

} // namespace fb
#endif
