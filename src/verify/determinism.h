/* SPDX-License-Identifier: BSD-3-Clause
 *
 * determinism.h: do R runs give the same bits? Keep one fb_determinism per gradient: the first
 * tensor added is kept as the yardstick, each further one is compared with it.
 */
#ifndef FB_VERIFY_DETERMINISM_H
#define FB_VERIFY_DETERMINISM_H

#include <stdbool.h>
#include <stdint.h>

#include "flashback.h"

struct fb_determinism {
    int runs;         /* tensors added */
    int differing;    /* runs whose bits differ from the first one's */
    uint64_t hash;    /* of the first run (hash.h) */
    int64_t elements; /* of the tensor */
    int64_t changed;  /* the largest number of elements that differed in one run */
    int64_t max_ulp;  /* the largest distance in units in the last place; INT64_MAX with a NaN */
    double rel_l2;    /* the largest ||x_r - x_1|| / ||x_1||; INFINITY with a NaN */
    void *first;      /* packed copy of the first run, owned */
    enum fb_dtype dtype;
};

void fb_determinism_init(struct fb_determinism *d);
/* Adds one run. FB_NO_MEMORY; FB_USAGE if shape or type differ from the first run's. */
enum fb_status fb_determinism_add(struct fb_determinism *d, const struct fb_tensor *tensor);
/* Adds a run of which it is known that its bits are those of the first. */
void fb_determinism_add_same(struct fb_determinism *d);
void fb_determinism_free(struct fb_determinism *d);

/* The fewest elements and key tiles for which "deterministic" means something: with fewer, an
 * atomic kernel often repeats its bits by chance (doc/measuring.md). */
bool fb_determinism_meaningful(enum fb_dtype dtype, int64_t elements, int64_t key_tiles);

#endif
