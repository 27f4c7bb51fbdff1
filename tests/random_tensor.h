/* SPDX-License-Identifier: BSD-3-Clause
 *
 * random_tensor.h: contiguous tensors of zeros, and numbers to fill them with, the same in every
 * run.
 */
#ifndef FB_TESTS_RANDOM_TENSOR_H
#define FB_TESTS_RANDOM_TENSOR_H

#include <stdlib.h>

#include "core/half.h"
#include "flashback.h"

/* In [-1, 1). */
static inline double draw(void)
{
    static uint64_t state = 5;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(int64_t)(state >> 11) / 0x1p52 - 1;
}

/* The caller frees data. */
static inline struct fb_tensor tensor(enum fb_dtype dtype, int64_t b, int64_t h, int64_t n,
                                      int64_t d)
{
    struct fb_tensor t = {
        .dtype = dtype, .shape = {b, h, n, d}, .stride = {h * n * d, n * d, d, 1}};
    t.data = calloc((size_t)(b * h * n * d + 1), 4);
    return t;
}

static inline void randomize(struct fb_tensor *t)
{
    for (int64_t n = 0; n < t->shape[0] * t->shape[1] * t->shape[2] * t->shape[3]; n++)
        fb_element_write(t->data, t->dtype, n, draw());
}

#endif
