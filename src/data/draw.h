/* SPDX-License-Identifier: BSD-3-Clause
 *
 * draw.h: the random numbers of an element of the inputs.
 */
#ifndef FB_DATA_DRAW_H
#define FB_DATA_DRAW_H

#include <stdint.h>

#include "core/recipe/recipe.h"
#include "flashback.h"

/* The input tensors a recipe fills. */
enum fb_input {
    FB_INPUT_Q,
    FB_INPUT_K,
    FB_INPUT_V,
    FB_INPUT_DOUT,
    FB_INPUT_DLSE,
    FB_INPUT_BIAS,
    FB_INPUT_SINK
};

/* Where in the inputs a value is asked for. One thread's own: it keeps the last random block. */
struct fb_draw {
    const struct fb_recipe *recipe;
    const struct fb_problem *problem;
    enum fb_input input;
    int64_t batch, head, row, column;
    uint32_t counter[4], block[4]; /* four columns share a block; counter[3] = 0xffffffff: none */
};

/* An independent set of random numbers for the same element. */
enum fb_stream { FB_STREAM_MAIN, FB_STREAM_SECOND, FB_STREAM_CHOICE };

/* In (0, 1). */
double fb_draw_uniform(struct fb_draw *draw, enum fb_stream stream);
double fb_draw_normal(struct fb_draw *draw, enum fb_stream stream);

/* The quantile function of the standard normal distribution, p in (0, 1), by plain arithmetic: the
 * same bits on every machine. Relative error below 1.2e-9. */
double fb_normal_quantile(double p);

#endif
