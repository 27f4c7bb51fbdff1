/* SPDX-License-Identifier: BSD-3-Clause
 *
 * exact.h: the certificate without a tolerance. On dyadic data (data/inputs.h) every p, ds and
 * sum of the gradients is a small integer times a power of two, so that they come out bit for bit,
 * in any order and from any tiles: whatever is lost, doubled or rounded on the way shows.
 */
#ifndef FB_VERIFY_EXACT_H
#define FB_VERIFY_EXACT_H

#include <stdint.h>

#include "flashback.h"

struct fb_mismatch {
    int64_t count; /* elements that are not the reference rounded once (zeros of both signs are) */
    int64_t elements; /* compared */
    int64_t first[4]; /* index of the first of them */
    double got, want; /* and its values, both in the tensor's type */
};

/* reference: [b, h, n, d] in order. */
void fb_exact_compare(const struct fb_tensor *tensor, const double *reference,
                      struct fb_mismatch *mismatch);

#endif
