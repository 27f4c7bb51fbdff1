/* SPDX-License-Identifier: BSD-3-Clause
 *
 * sample.h: which rows of a long problem are judged.
 */
#ifndef FB_VERIFY_SAMPLE_H
#define FB_VERIFY_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

#include "flashback.h"

/* Row lists as the reference takes them: flat over [b, h, n], ascending. Owned. */
struct fb_sample {
    int64_t *q, *k;
    int64_t q_count, k_count;
};

/* Rows of o, lse and dq in as many heads as affordable, rows of dk and dv in as many key heads as
 * affordable (at least one, since each costs a forward pass of its heads). In every sequence: the
 * first and last rows, the rows around tile edges at the beginning, in the middle and at the end,
 * and 16 random ones. FB_NO_MEMORY. */
enum fb_status fb_sample_rows(struct fb_sample *sample, const struct fb_args *inputs,
                              uint64_t seed);
void fb_sample_free(struct fb_sample *sample);

#endif
