/* SPDX-License-Identifier: BSD-3-Clause
 *
 * shares.h: how the CTAs of the partials form share the key tiles of all units, for the host
 * and the device.
 *
 * The key tiles of a unit (a batch entry and key head) stand in the order 0, tiles - 1, 1,
 * tiles - 2, ..., so that under a causal mask every two neighbours are the same work, and CTAs that
 * begin together meet the same query tiles at the same time and find them in the L2. The tiles of
 * all units, one unit after the other, are cut into as many runs of equal length as there are CTAs:
 * a CTA has parts of one or more units, and a unit is cut into parts of one or more CTAs. Each part
 * adds to a dQ of its own, its copy; the last pass sums a unit's copies in the order of CTAs.
 *
 * With CTAs a multiple of the units every unit is cut alike, as in FlashAttention-2's split; any
 * other number works as well, so a machine can be filled by any number of heads.
 */
#ifndef FB_KERNELS_SM80_SHARES_H
#define FB_KERNELS_SM80_SHARES_H

#include <stdint.h>

#ifdef __CUDACC__
#define FB_SM80_SHARES __host__ __device__ static inline
#else
#define FB_SM80_SHARES static inline
#endif

/* ctas <= units * tiles, which is below 2^31; `joints`, the greatest common divisor of units and
 * ctas, is how often the bounds of a run and a unit are the same before they are rounded. */
struct fb_sm80_shares {
    int units, tiles, ctas, joints;
};

/* Key tiles [first, last) of one unit, as places in the order above. */
struct fb_sm80_part {
    int unit, first, last;
};

/* The key tile at a place of a unit. */
FB_SM80_SHARES int fb_sm80_tile_at(const struct fb_sm80_shares *s, int place)
{
    return place % 2 ? s->tiles - 1 - place / 2 : place / 2;
}

/* Of the key tiles at the `earlier` places of a unit before this one: the last below its own, or
 * -1, and the first above, or `tiles`. Even places have lower tiles than odd ones. */
FB_SM80_SHARES void fb_sm80_neighbours(const struct fb_sm80_shares *s, int place, int earlier,
                                       int *below, int *above)
{
    const int last = earlier > 0 ? fb_sm80_tile_at(s, place - 1) : -1;
    const int other = earlier > 1 ? fb_sm80_tile_at(s, place - 2) : -1;
    const int up = place % 2 ? other : last;
    *below = place % 2 ? last : other;
    *above = up < 0 ? s->tiles : up;
}

/* The first place of a CTA's run, counted through all units; of CTA number `ctas`, the end. */
FB_SM80_SHARES int fb_sm80_run_start(const struct fb_sm80_shares *s, int cta)
{
    return (int)((int64_t)cta * s->units * s->tiles / s->ctas);
}

/* The CTA in whose run a place is. */
FB_SM80_SHARES int fb_sm80_run_of(const struct fb_sm80_shares *s, int place)
{
    return (int)((((int64_t)place + 1) * s->ctas - 1) / ((int64_t)s->units * s->tiles));
}

/* The part of a unit that lies between two places counted through all units. */
FB_SM80_SHARES struct fb_sm80_part fb_sm80_part_of(const struct fb_sm80_shares *s, int unit,
                                                   int start, int end)
{
    const int from = start - unit * s->tiles, to = end - unit * s->tiles;
    struct fb_sm80_part part;
    part.unit = unit;
    part.first = from > 0 ? from : 0;
    part.last = to < s->tiles ? to : s->tiles;
    return part;
}

/* The number of a part's copy of dQ, below fb_sm80_copies. Along all runs parts are counted; where
 * the bounds of a run and a unit are the same, that is one part, not two. (Bounds that are the same
 * only when rounded count as two: a copy that no part has, and nobody reads.) */
FB_SM80_SHARES int fb_sm80_copy_of(const struct fb_sm80_shares *s, int cta, int unit)
{
    return cta + unit - (int)((int64_t)unit * s->joints / s->units);
}

FB_SM80_SHARES int64_t fb_sm80_copies(const struct fb_sm80_shares *s)
{
    return (int64_t)s->ctas + s->units - s->joints;
}

/* Is one of the key tiles first to last in a part? */
FB_SM80_SHARES int fb_sm80_part_visits(const struct fb_sm80_shares *s, const struct fb_sm80_part *p,
                                       int first, int last)
{
    const int low = (p->first + 1) / 2, low_end = (p->last + 1) / 2;
    const int high = s->tiles - p->last / 2, high_end = s->tiles - p->first / 2;
    const int from = first > low ? first : low, from_high = first > high ? first : high;
    return (from <= last && from < low_end) || (from_high <= last && from_high < high_end);
}

#endif
