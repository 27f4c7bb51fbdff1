/* SPDX-License-Identifier: BSD-3-Clause
 *
 * sm80_schedule.c: how the mma.sync backwards share their work out: CTAs a key head, the order in
 * which key tiles are launched, how many units run side by side, the length of a turn.
 */
#include <stdint.h>

#include "kernels/cuda/device.h"
#include "variants/common/sm80.h"

static int64_t sm_count(void)
{
    const int sms = fb_cuda_device()->sms;
    return sms > 0 ? sms : 1;
}

/* Do key tiles, or units, differ in their work? */
static int is_uneven(const struct fb_problem *p)
{
    return p->mask != FB_MASK_FULL || p->window_left != FB_OPEN || p->window_right != FB_OPEN ||
           p->qlens || p->klens;
}

static int64_t greatest_divisor(int64_t a, int64_t b)
{
    while (b > 0) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static struct fb_sm80_shares shares(int64_t units, int64_t tiles, int64_t ctas)
{
    return (struct fb_sm80_shares){(int)units, (int)tiles, (int)ctas,
                                   (int)greatest_divisor(units, ctas)};
}

/*
 * CTAs of the partials form, one an SM. G a unit take ceil(units G / SMs) waves of ceil(tiles / G)
 * tiles: the smallest G of the least time, up to what fills the machine once, G(max). Where that is
 * more than a tenth above a CTA for each SM with the same number of tiles, these are taken, if
 * their copies are not more than G(max) + 1 of all heads'.
 */
struct fb_sm80_shares fb_sm80_shares_of(const struct fb_problem *p)
{
    const int64_t tiles = fb_sm80_tiles_of(p->nk, fb_sm80_kernels_for(p)->bn);
    const int64_t units = p->b * p->hk, sms = sm_count(), all = units * tiles;
    int64_t best = 1, least = INT64_MAX;
    if (all == 0)
        return shares(units, tiles, 0);
    const int64_t most = fb_sm80_tiles_of(sms, p->b * p->h);
    for (int64_t g = 1; g <= fb_sm80_at_most(tiles, most); g++) {
        const int64_t time = fb_sm80_tiles_of(units * g, sms) * fb_sm80_tiles_of(tiles, g);
        if (time < least)
            best = g, least = time;
    }
    const struct fb_sm80_shares even = shares(units, tiles, sms);
    if (all >= sms && 10 * least > 11 * fb_sm80_tiles_of(all, sms) &&
        fb_sm80_copies(&even) * (p->h / p->hk) <= (most + 1) * p->b * p->h)
        return even;
    return shares(units, tiles, units * best);
}

/*
 * Do key tiles take their turns to add to dQ from the last one on? Upwards is the better order
 * where it can be had: under a causal mask the longest tiles are then launched first. But a CTA
 * then starts behind the one before it, by the query tiles of one key tile. That is little where a
 * key tile has many, once, and too much where all tiles are short (a window) or where it comes
 * again with every query head of a group; downwards, a CTA is the first to add on its diagonal.
 */
int fb_sm80_is_downwards(const struct fb_problem *p)
{
    const int bounded = p->mask != FB_MASK_FULL || p->window_right != FB_OPEN;
    return bounded && (p->window_left != FB_OPEN || p->h > p->hk);
}

/* Units side by side where additions to dQ take turns upwards. The fewer CTAs of a unit run at
 * once, the fewer wait for each other when they start; the closer they run, the more they find in
 * the L2, which counts where dQ is large. */
static int64_t ordered_section(const struct fb_problem *p, int masked)
{
    if (fb_sm80_width(p) > 128 && !masked)
        return sm_count() < 8 ? 1 : sm_count() / 8;
    return fb_sm80_width(p) <= 128 && masked ? sm_count() : fb_sm80_tiles_of(sm_count(), 2);
}

/*
 * Units whose tiles are launched side by side. With a full mask all tiles cost the same and a
 * unit's tiles run together, so that Q and dO are shared in the L2. Under a mask tiles run longest
 * first: a small grid as a whole, or its last long tiles would start too late; a large one in
 * sections that fit the L2.
 */
int fb_sm80_section(const struct fb_problem *p, int ordered)
{
    const int64_t units = p->b * p->hk, few = 1024;
    const double bytes = (double)p->nq * (double)(p->h / p->hk) * (double)(fb_sm80_width(p) * 8);
    const double share = 0.66 * (double)fb_cuda_device()->l2_bytes;
    if (units <= 1 || bytes == 0 || (!is_uneven(p) && !ordered))
        return 1; /* of key tiles that no query needs, too: none is longer than another */
    if (ordered && !fb_sm80_is_downwards(p))
        return (int)fb_sm80_at_most(units, ordered_section(p, is_uneven(p)));
    if (units * fb_sm80_tiles_of(p->nk, fb_sm80_kernels_for(p)->bn) <= few)
        return (int)units;
    return bytes * 2 > share ? 1 : (int)fb_sm80_at_most(units, (int64_t)(share / bytes));
}

/*
 * Query tiles of one turn of ordered additions, as a power of two, up to 3. A long turn costs fewer
 * fences, 4 % at a turn of two, but a CTA follows the one before it a turn behind: a key tile takes
 * four turns at least. Under a mask each key tile is shorter than the one before, and CTAs of a
 * unit that run at once catch up with each other again and again: the more of them, the shorter the
 * turn. With large heads dQ would leave the L2 between one and the next.
 */
int fb_sm80_turn(const struct fb_problem *p)
{
    const int64_t tiles = fb_sm80_tiles_of(p->nq, fb_sm80_kernels_for(p)->bm);
    const int64_t at_once = sm_count() / fb_sm80_section(p, 1);
    const int longest = tiles >= 32 ? 3 : tiles >= 16 ? 2 : 1;
    if (fb_sm80_width(p) > 128 || fb_sm80_is_downwards(p))
        return 1;
    if (!is_uneven(p))
        return longest;
    return (int)fb_sm80_at_most(longest, at_once <= 1 ? 3 : at_once <= 4 ? 2 : 1);
}
