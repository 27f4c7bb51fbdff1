/* SPDX-License-Identifier: BSD-3-Clause
 *
 * distributions.h: how the distributions that recipes name are drawn.
 */
#ifndef FB_DATA_DISTRIBUTIONS_H
#define FB_DATA_DISTRIBUTIONS_H

#include <stdbool.h>

#include "data/draw.h"

struct fb_distribution {
    double (*value)(struct fb_draw *draw); /* of q, k, v and dout, not yet rounded */
    double (*term)(struct fb_draw *draw);  /* of dlse, bias and sink; NULL: standard normal */
};

/* In the order of core/recipe/distributions.def, which is that of fb_recipe.dist. */
extern const struct fb_distribution fb_distributions[];

/* Is it the one whose gradients can come out bit for bit? */
bool fb_distribution_is_exact(int dist);

#endif
