/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How CTAs share key tiles in the partials form of the mma.sync backward, by brute force: each key
 * tile of each unit is taken once, by CTAs with equally long runs and, under a causal mask, equal
 * work; parts have copies of their own; the last pass finds those that hold a query tile.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/sm80/shares.h"
#include "tests/tap.h"

static int greatest_divisor(int a, int b)
{
    return b == 0 ? a : greatest_divisor(b, a % b);
}

/* What is wrong with a part, or NULL. `taken` has the tiles of its unit, `work` its CTA's causal
 * work so far. */
static const char *part_fault(const struct fb_sm80_shares *s, const struct fb_sm80_part *part,
                              bool *taken, long *work)
{
    bool mine[256] = {false};

    for (int place = part->first; place < part->last; place++) {
        const int n = fb_sm80_tile_at(s, place);
        int below, above, before = n - 1, after = n + 1;
        if (n < 0 || n >= s->tiles || taken[n])
            return "a tile is taken twice";
        while (before >= 0 && !mine[before])
            before--;
        while (after < s->tiles && !mine[after])
            after++;
        fb_sm80_neighbours(s, place, place - part->first, &below, &above);
        if (below != before || above != after)
            return "a tile does not know its neighbours";
        taken[n] = mine[n] = true;
        *work += s->tiles - n;
    }
    for (int first = 0; first < s->tiles; first++) {
        bool holds = false;
        for (int last = first; last < s->tiles; last++) {
            holds = holds || mine[last];
            if (holds != (fb_sm80_part_visits(s, part, first, last) != 0))
                return "the last pass is wrong about what a copy holds";
        }
    }
    return NULL;
}

static const char *fault(const struct fb_sm80_shares *s)
{
    const int all = s->units * s->tiles;
    const double mean = 0.5 * s->units * s->tiles * (s->tiles + 1) / s->ctas;
    bool *taken = calloc((size_t)all, sizeof *taken);
    int64_t copy = -1;
    const char *why = NULL;

    if (fb_sm80_run_start(s, 0) != 0 || fb_sm80_run_start(s, s->ctas) != all)
        why = "runs do not begin and end with the tiles";
    for (int cta = 0; !why && cta < s->ctas; cta++) {
        const int start = fb_sm80_run_start(s, cta), end = fb_sm80_run_start(s, cta + 1);
        long work = 0;
        if (end - start < all / s->ctas || end - start > (all + s->ctas - 1) / s->ctas)
            why = "a run is longer than others";
        for (int place = start; !why && place < end; place++)
            if (fb_sm80_run_of(s, place) != cta)
                why = "a place is in another run";
        for (int place = start; !why && place < end;) {
            const struct fb_sm80_part part = fb_sm80_part_of(s, place / s->tiles, start, end);
            if (fb_sm80_copy_of(s, cta, part.unit) <= copy)
                why = "a copy has two parts";
            else
                why = part_fault(s, &part, taken + part.unit * s->tiles, &work);
            copy = fb_sm80_copy_of(s, cta, part.unit);
            place += part.last - part.first;
        }
        if (!why && (double)work > mean + 1.5 * s->tiles)
            why = "causal work is uneven";
    }
    if (!why && copy >= fb_sm80_copies(s))
        why = "a copy lies beyond the last";
    if (!why && s->ctas % s->units == 0 && fb_sm80_copies(s) != s->ctas)
        why = "whole CTAs a unit have more copies than CTAs";
    for (int i = 0; !why && i < all; i++)
        if (!taken[i])
            why = "a tile is not taken";
    free(taken);
    return why;
}

int main(void)
{
    static const int units[] = {1, 2, 3, 5, 8, 22, 33, 34, 60, 68, 131, 132, 136, 200};
    static const int tiles[] = {1, 2, 3, 7, 8, 16, 31, 32, 64};
    static const int ctas[] = {1, 2, 3, 20, 46, 78, 108, 114, 132};

    for (size_t u = 0; u < sizeof units / sizeof *units; u++) {
        int tried = 0;
        const char *why = NULL;
        struct fb_sm80_shares s = {0, 0, 0, 0};
        for (size_t t = 0; !why && t < sizeof tiles / sizeof *tiles; t++)
            for (size_t c = 0; !why && c < 2 * (sizeof ctas / sizeof *ctas); c++) {
                const int n = c % 2 ? ctas[c / 2] : units[u] * ctas[c / 2];
                if (n > units[u] * tiles[t])
                    continue;
                s = (struct fb_sm80_shares){units[u], tiles[t], n, greatest_divisor(units[u], n)};
                why = fault(&s);
                tried++;
            }
        tap_ok(!why, "%d units, %d ways to share them%s%s", units[u], tried, why ? ": " : "",
               why ? why : "");
        if (why)
            tap_note("%d units of %d tiles, %d CTAs", s.units, s.tiles, s.ctas);
    }
    return tap_done();
}
