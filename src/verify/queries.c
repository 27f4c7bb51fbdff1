/* SPDX-License-Identifier: BSD-3-Clause */
#include "verify/queries.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "verify/hash.h"

/* Do all queries of a sequence see the same, with the same weights for the same scores? */
static bool see_alike(const struct fb_problem *p)
{
    return p->mask == FB_MASK_FULL && p->window_left == FB_OPEN && p->window_right == FB_OPEN &&
           p->alibi == FB_ALIBI_NONE && p->bias == FB_BIAS_NONE && p->dropout == 0;
}

/* Hashes of rows, 0 where a place is free; room is a power of two and twice what is kept. */
struct set {
    uint64_t *places;
    uint64_t room;
    int64_t count;
};

static void set_add(struct set *set, uint64_t hash)
{
    hash += !hash;
    uint64_t at = hash & (set->room - 1);
    while (set->places[at] && set->places[at] != hash)
        at = (at + 1) & (set->room - 1);
    set->count += !set->places[at];
    set->places[at] = hash;
}

/* Different rows of a key head's query heads in one batch entry, at most so many. */
static void add_group(struct set *set, const struct fb_args *a, int64_t batch, int64_t key_head,
                      int64_t most)
{
    const int64_t h = a->q.shape[1], n = a->q.shape[2], group = a->problem->h / a->problem->hk;
    const int64_t first = (batch * h + key_head * group) * n;
    memset(set->places, 0, set->room * sizeof *set->places);
    set->count = 0;
    for (int64_t row = first; row < first + group * n && set->count < most; row++)
        set_add(set, fb_hash_row(&a->dout, row, fb_hash_row(&a->q, row, 0)));
}

enum fb_status fb_queries_count(const struct fb_args *inputs, int64_t most, int64_t *count)
{
    const struct fb_problem *p = inputs->problem;
    const int64_t batches = inputs->q.shape[0];
    *count = batches * inputs->q.shape[1] * inputs->q.shape[2];
    if (!see_alike(p) || !inputs->dout.data)
        return FB_OK;
    struct set set = {.room = 2};
    while (set.room < 2 * (uint64_t)most)
        set.room *= 2;
    set.places = malloc(set.room * sizeof *set.places);
    if (!set.places)
        return fb_fail(FB_NO_MEMORY, "no memory to count queries");
    *count = 0;
    for (int64_t g = 0; g < batches * p->hk; g++) {
        add_group(&set, inputs, g / p->hk, g % p->hk, most);
        *count += set.count;
    }
    free(set.places);
    return FB_OK;
}
