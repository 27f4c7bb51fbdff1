/* SPDX-License-Identifier: BSD-3-Clause
 *
 * sm80.c: finds the mma.sync kernels for a head size among those that were compiled.
 */
#include "config.h"

#include "kernels/cuda/sm80_args.h"

#define DECLARE(D)                                                                                 \
    extern const struct fb_sm80_kernels fb_sm80_kernels_##D;                                       \
    extern const struct fb_sm80_split_kernels fb_sm80_split_kernels_##D;
FB_FOR_EACH_HEAD_DIM(DECLARE)

#define ADDRESS(D) &fb_sm80_kernels_##D,
static const struct fb_sm80_kernels *const kernels[] = {FB_FOR_EACH_HEAD_DIM(ADDRESS) 0};

#define SPLIT_ADDRESS(D) &fb_sm80_split_kernels_##D,
static const struct fb_sm80_split_kernels *const split_kernels[] = {
    FB_FOR_EACH_HEAD_DIM(SPLIT_ADDRESS) 0};

const struct fb_sm80_kernels *fb_sm80_find(int64_t width)
{
    const struct fb_sm80_kernels *best = 0;
    for (int i = 0; kernels[i]; i++)
        if (kernels[i]->head_dim >= width && (!best || kernels[i]->head_dim < best->head_dim))
            best = kernels[i];
    return best;
}

const struct fb_sm80_split_kernels *fb_sm80_find_split(int64_t width)
{
    const struct fb_sm80_split_kernels *best = 0;
    for (int i = 0; split_kernels[i]; i++)
        if (split_kernels[i]->head_dim >= width &&
            (!best || split_kernels[i]->head_dim < best->head_dim))
            best = split_kernels[i];
    return best;
}

int fb_sm80_widest(void)
{
    int widest = 0;
    for (int i = 0; kernels[i]; i++)
        if (kernels[i]->head_dim > widest)
            widest = kernels[i]->head_dim;
    return widest;
}
