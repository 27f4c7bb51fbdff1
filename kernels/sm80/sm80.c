/* SPDX-License-Identifier: BSD-3-Clause
 *
 * sm80.c: finds the mma.sync kernels for a head size among those that were compiled.
 */
#include "kernels/sm80/args.h"

#include "config.h"

/* The compiled sizes, one a row. */
#define DECLARE(D)                                                                                 \
    extern const struct fb_sm80_forward_kernels fb_sm80_forward_kernels_##D;                       \
    extern const struct fb_sm80_kernels fb_sm80_kernels_##D, fb_sm80_small_kernels_##D;            \
    extern const struct fb_sm80_split_kernels fb_sm80_split_kernels_##D,                           \
        fb_sm80_small_split_kernels_##D;
FB_FOR_EACH_HEAD_DIM(DECLARE)

struct row {
    const struct fb_sm80_forward_kernels *forward;
    const struct fb_sm80_kernels *kernels[2]; /* large tiles, small tiles */
    const struct fb_sm80_split_kernels *split[2];
};

#define ROW(D)                                                                                     \
    {&fb_sm80_forward_kernels_##D,                                                                 \
     {&fb_sm80_kernels_##D, &fb_sm80_small_kernels_##D},                                           \
     {&fb_sm80_split_kernels_##D, &fb_sm80_small_split_kernels_##D}},
static const struct row rows[] = {FB_FOR_EACH_HEAD_DIM(ROW)};

static const struct row *find_row(int64_t width)
{
    const struct row *best = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].forward->head_dim >= width &&
            (!best || rows[i].forward->head_dim < best->forward->head_dim))
            best = &rows[i];
    return best;
}

/* The set of tiles to take, 0 or 1; -1 where none fits. Both backwards take large tiles, or neither
 * does: they share the pre-pass. */
static int tiles_that_fit(const struct row *row, size_t shared, int small)
{
    for (int set = 0; row && set <= (small ? 1 : 0); set++)
        if (row->kernels[set]->smem[0] <= shared && row->split[set]->smem[0] <= shared)
            return set;
    return -1;
}

const struct fb_sm80_forward_kernels *fb_sm80_find_forward(int64_t width)
{
    const struct row *row = find_row(width);
    return row ? row->forward : 0;
}

const struct fb_sm80_kernels *fb_sm80_find(int64_t width, size_t shared, int small)
{
    const struct row *row = find_row(width);
    const int set = tiles_that_fit(row, shared, small);
    return set < 0 ? 0 : row->kernels[set];
}

const struct fb_sm80_split_kernels *fb_sm80_find_split(int64_t width, size_t shared, int small)
{
    const struct row *row = find_row(width);
    const int set = tiles_that_fit(row, shared, small);
    return set < 0 ? 0 : row->split[set];
}

int fb_sm80_widest(void)
{
    int widest = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].forward->head_dim > widest)
            widest = rows[i].forward->head_dim;
    return widest;
}
