/* SPDX-License-Identifier: BSD-3-Clause
 *
 * grid.h: a grid as text lists, before it is multiplied out into cases.
 */
#ifndef FB_CASES_GRID_H
#define FB_CASES_GRID_H

#include <stddef.h>

#include "cases/case.h"

/* One item of a list and the line of the file that it stands in; 0: the command line's. */
struct fb_word {
    char *text;
    int line;
};

struct fb_words {
    struct fb_word *word;
    size_t count;
};

/* One problem key with the values it takes: `n=512 1024`. */
struct fb_axis {
    char *key;
    struct fb_words values;
};

struct fb_grid {
    char *name; /* the section's name, "grid" or "grid NAME" */
    int line;   /* of its heading */
    struct fb_words variants, problems, numerics, recipes, threads;
    struct fb_axis *axes; /* in the order of the file; the first varies slowest */
    size_t axis_count;
};

/* Adds the words of value (parted by spaces) to the list the key names; problem keys become axes.
 * line: where they stand; 0 for a --set, which replaces the list. FB_USAGE for an unknown key,
 * naming the known ones. */
enum fb_status fb_grid_add(struct fb_grid *grid, const char *key, const char *value, int line);

#define FB_GRID_LIMIT 100000 /* cases of one grid */

/* Multiplies the grid out and adds its cases; a case that is there already is not added again.
 * Problem axes vary slowest, then recipe and threads; numerics and variants fastest, so that what
 * is to be compared stands together. *line: of what is refused; 0: the command line's. */
enum fb_status fb_grid_expand(const struct fb_grid *grid, struct fb_case_set *set, int *line);

void fb_grid_free(struct fb_grid *grid);

#endif
