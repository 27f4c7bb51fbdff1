/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The work of a CTA of the mma.sync backward on one key tile, and its place in the order in which
 * dQ is added up.
 *
 * Atomic: no order. Ordered: key tiles add to a query tile one after the other, upwards or, where
 * the host says so, downwards. The first to add assigns, so nothing is cleared.
 *
 * Turns: a warp tells how many it has done, in a word of its own, and waits for the same turn of
 * the CTA before it. The key tiles that visit one query tile are neighbours, so this is enough. A
 * turn is 2 to 8 query tiles, a power of two: telling stops a warp for a trip to the L2, and half
 * as many trips cost half as much, but CTAs of a unit follow each other further apart.
 *
 * Partials: a CTA takes a run of the key tiles of all units (shares.h), in turn from the low
 * and the high end of those of a unit. Low ones go through their query tiles backwards and high
 * ones forwards, so that under a causal mask CTAs that began together stay at the same query tile
 * and find it in the L2. A copy's first key tile that visits a query tile assigns.
 */
#ifndef FB_KERNELS_SM80_KEY_TILE_CUH
#define FB_KERNELS_SM80_KEY_TILE_CUH

#include "kernels/sm80/dq_sum.cuh"
#include "kernels/sm80/work.cuh"
#include "kernels/ptx/turn.cuh"

namespace fb {

constexpr int sm80_long_way = 16; /* query tiles: at least two turns */

/* Is this the way in which dQ is added up? */
template <class C>
__device__ __forceinline__ bool sm80_adds_by(const fb_sm80_args &p, fb_sm80_dq policy)
{
    switch (C::FORM) {
    case SM80_NO_DQ:
        return false;
    case SM80_ATOMIC:
        return policy == FB_SM80_DQ_ATOMIC;
    case SM80_ORDERED:
        return policy == FB_SM80_DQ_ORDERED;
    case SM80_PARTIALS:
        return policy == FB_SM80_DQ_PARTIALS;
    default:
        return policy == p.dq_policy;
    }
}

struct sm80_key_tile {
    sm80_sequence s;
    int kv_head, group;
    int n, first, span, steps; /* key tile; first query tile, how many a head, in all heads */
    int before;                /* ordered: the key tile before it, or none's number */
    int fresh, fresh_end;      /* partials: query tiles that no key tile of this copy visited yet */
    int row;                   /* of the words of turns */
    int sums;                  /* the first sum of dQ, less the first head, in heads */
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
    w.fresh = w.fresh_end = 0;
    w.row = 0;
    w.sums = w.s.batch * p.heads;
    w.back = false;
    return w;
}

template <class C>
__device__ __forceinline__ int64_t sm80_query_block(const fb_sm80_args &p, int batch,
                                                    const sm80_step &at)
{
    return ((int64_t)batch * p.heads + at.head) * ((p.nq + C::M - 1) / C::M) + at.m;
}

/* The block of dQ that a step adds to. */
template <class C>
__device__ __forceinline__ int64_t sm80_dq_block(const fb_sm80_args &p, const sm80_key_tile &w,
                                                 const sm80_step &at)
{
    return ((int64_t)w.sums + at.head) * ((p.nq + C::M - 1) / C::M) + at.m;
}

/* ---- Turns --------------------------------------------------------------------------------------
 */

template <class C>
__device__ __forceinline__ bool sm80_takes_turns(const fb_sm80_args &p)
{
    return sm80_adds_by<C>(p, FB_SM80_DQ_ORDERED);
}

template <class C>
__device__ __forceinline__ int64_t sm80_turn_rows(const fb_sm80_args &p)
{
    return (int64_t)p.batch * p.kv_heads * ((p.nk + C::N - 1) / C::N);
}

/* A warp's word of a CTA. */
template <class C>
__device__ __forceinline__ unsigned *sm80_turn_word(const fb_sm80_args &p, int64_t row)
{
    return p.turns + row * C::WARPS + threadIdx.x / 32;
}

/* The number of a step's turn. */
template <class C>
__device__ __forceinline__ unsigned sm80_turn(const fb_sm80_args &p, const sm80_key_tile &w,
                                              const sm80_step &at)
{
    return (at.head - w.kv_head * w.group) * sm80_turns(p, C::M) + (at.m >> p.turn);
}

/* Has the key tile before this one a turn at the turn of query tile m, too? */
template <class C>
__device__ __forceinline__ bool sm80_follows(const fb_sm80_args &p, const sm80_key_tile &w, int m)
{
    const int last = sm80_turn_mask(p);
    if (p.descend)
        return w.before <= sm80_last_key_tile(w.s, min(m | last, (w.s.nq - 1) / C::M), C::M, C::N);
    return w.before >= sm80_first_key_tile(w.s, m & ~last, C::M, C::N);
}

/* Is this key tile the first that adds to query tile m of its sum? */
template <class C>
__device__ __forceinline__ bool sm80_assigns(const fb_sm80_args &p, const sm80_key_tile &w, int m)
{
    if (sm80_adds_by<C>(p, FB_SM80_DQ_ATOMIC))
        return false;
    if (sm80_adds_by<C>(p, FB_SM80_DQ_PARTIALS))
        return m >= w.fresh && m < w.fresh_end;
    return p.descend ? w.before > sm80_last_key_tile(w.s, m, C::M, C::N)
                     : w.before < sm80_first_key_tile(w.s, m, C::M, C::N);
}

/* How far the CTA before is, before this one's first step; the trip runs under the copies. */
template <class C>
__device__ __forceinline__ unsigned sm80_first_look(const fb_sm80_args &p, const sm80_key_tile &w,
                                                    const sm80_step &at)
{
    return sm80_takes_turns<C>(p) && sm80_follows<C>(p, w, at.m)
               ? turn_look_warp(sm80_turn_word<C>(p, w.row - 1))
               : 0;
}

/* Is a step the last one of a turn? */
__device__ __forceinline__ bool sm80_ends_turn(const fb_sm80_args &p, const sm80_key_tile &w,
                                               const sm80_step &at)
{
    return ((at.m + 1) & sm80_turn_mask(p)) == 0 || at.m == w.first + w.span - 1;
}

/* How far it is before a later step, behind the last one of a turn: for use after telling of it. */
template <class C>
__device__ __forceinline__ unsigned sm80_look(const fb_sm80_args &p, const sm80_key_tile &w,
                                              const sm80_step &old, const sm80_step &at)
{
    return sm80_takes_turns<C>(p) && sm80_ends_turn(p, w, old) && sm80_follows<C>(p, w, at.m)
               ? turn_look(sm80_turn_word<C>(p, w.row - 1))
               : 0;
}

/* Waits for the turn of a step that begins one; ahead of the product, so that additions run under
 * it. At the start of a long way upwards, for the next turn, too: CTAs that began together would
 * else follow each other without any room. Not at D = 256, where dQ would leave the L2 meanwhile: a
 * fifth slower. */
template <class C>
__device__ __forceinline__ void sm80_begin_turn(const fb_sm80_args &p, const sm80_key_tile &w,
                                                const sm80_step &at, unsigned seen)
{
    const bool begins = (at.m & sm80_turn_mask(p)) == 0 || at.m == w.first;
    const bool starts = at.m == w.first && at.head == w.kv_head * w.group;
    unsigned turn = sm80_turn<C>(p, w, at) + 1;
    if (!sm80_takes_turns<C>(p) || !begins || !sm80_follows<C>(p, w, at.m))
        return;
    if (C::D <= 128 && starts && !p.descend && w.span >= sm80_long_way)
        turn++;
    if (seen < turn)
        turn_wait_warp(sm80_turn_word<C>(p, w.row - 1), turn);
}

/* Asks for the block of dQ that a step will add to, behind its scores. Partial sums of large heads
 * do not fit the L2; additions that miss it hold up the warps that make them. */
template <class C>
__device__ __forceinline__ void sm80_fetch_dq(const fb_sm80_args &p, const sm80_key_tile &w,
                                              const sm80_step &at)
{
    if (C::D > 128 && sm80_adds_by<C>(p, FB_SM80_DQ_PARTIALS) && !sm80_assigns<C>(p, w, at.m))
        sm80_dq_fetch<C::M * C::D, C::THREADS>(p, sm80_dq_block<C>(p, w, at));
}

/* Adds part `part` of the columns of one step's dQ. */
template <class C>
__device__ __forceinline__ void sm80_give_dq(const fb_sm80_args &p, const sm80_key_tile &w,
                                             const sm80_step &at, int part,
                                             const float (&dq)[C::Q_MT][C::Q_NT][4])
{
    sm80_dq_add<C::GENERAL, C::Q_PARTS>(p, sm80_dq_block<C>(p, w, at), part, C::M * C::D, dq,
                                        sm80_assigns<C>(p, w, at.m));
}

/* Lets the next CTA add behind the last tile of a turn; `looked` may then be used. Called when the
 * additions have had a score's time to land and before new copies are issued: the fence waits for
 * all that is under way. With the last step all turns are done, those of tiles not visited, too. */
template <class C>
__device__ __forceinline__ unsigned sm80_tell_turn(const fb_sm80_args &p, const sm80_key_tile &w,
                                                   const sm80_step &at, unsigned looked)
{
    const int heads = (w.kv_head + 1) * w.group;
    const bool last = at.m == w.first + w.span - 1 && at.head == heads - 1;
    const sm80_step end = {heads, 0};
    if (!sm80_takes_turns<C>(p) || !sm80_ends_turn(p, w, at))
        return 0;
    return turn_tell_warp(sm80_turn_word<C>(p, w.row),
                          last ? sm80_turn<C>(p, w, end) : sm80_turn<C>(p, w, at) + 1, looked);
}

/* The key tile at a place of a CTA's run, which begins at `start`; places go through all units. */
template <class C>
__device__ __forceinline__ sm80_key_tile sm80_shared_key_tile(const fb_sm80_args &p, int cta,
                                                              int start, int place)
{
    const fb_sm80_shares &s = p.shares;
    const int unit = place / s.tiles, at = place % s.tiles;
    sm80_key_tile w = sm80_key_tile_find<C>(p, unit, fb_sm80_tile_at(&s, at));
    int below, above;
    fb_sm80_neighbours(&s, at, min(at, place - start), &below, &above);
    w.fresh = below < 0 ? 0 : sm80_last_query_tile(w.s, below, C::M, C::N) + 1;
    if (C::GENERAL && above * C::N >= w.s.nk)
        above = s.tiles; /* only a longer sequence has it: it visits nobody */
    w.fresh_end =
        above == s.tiles ? w.first + w.span : sm80_first_query_tile(w.s, above, C::M, C::N);
    w.back = at % 2 == 0;
    w.sums = (fb_sm80_copy_of(&s, cta, unit) - w.kv_head) * w.group;
    return w;
}

/* The key tile of CTA `place` of a unit, which is its place in the order of additions. */
template <class C>
__device__ __forceinline__ sm80_key_tile sm80_own_key_tile(const fb_sm80_args &p, int64_t index)
{
    const int tiles_n = (p.nk + C::N - 1) / C::N;
    int unit, place;
    sm80_place(p.batch * p.kv_heads, p.section, index, tiles_n, &unit, &place);
    sm80_key_tile w = sm80_key_tile_find<C>(p, unit, p.descend ? tiles_n - 1 - place : place);
    w.row = unit * tiles_n + place;
    w.before = p.descend ? w.n + 1 : w.n - 1;
    return w;
}

} // namespace fb
#endif
