/* SPDX-License-Identifier: BSD-3-Clause
 *
 * scaling.h: inputs that no call has seen, whose right answer is known without a new reference.
 *
 * The gradients are linear in dout and dlse, o is linear in v, and no key head of a batch entry has
 * a part in another's results. So each of them gets a factor of its own, a power of two with a
 * sign, drawn anew for each call: its results are those of the unscaled inputs times the factor. A
 * power of two changes no digit, so that this holds bit for bit where a kernel adds in one order
 * and nothing leaves the range of its type.
 *
 * Where one number sums over batch entries or heads (the gradient of a shared bias or of a sink,
 * one expanded row of dout), what it sums over shares a factor.
 */
#ifndef FB_DATA_SCALING_H
#define FB_DATA_SCALING_H

#include <stdbool.h>

#include "core/memory.h"

struct fb_scaling {
    const struct fb_memory *memory;
    int64_t b, hk;
    bool one_b, one_h; /* a factor is shared by batch entries, by heads */
    int steps;         /* exponents are -steps to steps */
    uint64_t seed;
    float *host, *value; /* [b, hk], here and in `memory` */
};

/* `largest` is the largest magnitude of what the factors go to, inputs and results. On failure
 * *scaling holds nothing. */
enum fb_status fb_scaling_make(struct fb_scaling *scaling, const struct fb_memory *memory,
                               const struct fb_problem *problem, const struct fb_numerics *numerics,
                               double largest, uint64_t seed);
void fb_scaling_free(struct fb_scaling *scaling);

/* The factors of call `number`: the same for the same seed and number. */
enum fb_status fb_scaling_draw(struct fb_scaling *scaling, uint64_t number);

struct fb_factors fb_scaling_factors(const struct fb_scaling *scaling);

#endif
