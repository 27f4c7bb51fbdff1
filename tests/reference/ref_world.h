/* SPDX-License-Identifier: BSD-3-Clause
 *
 * ref_world.h: a problem with random inputs in fp64 and what the reference makes of them.
 */
#ifndef FB_TESTS_REFERENCE_REF_WORLD_H
#define FB_TESTS_REFERENCE_REF_WORLD_H

#include <stdbool.h>

#include "reference/internal.h"

struct ref_world {
    struct fb_problem p;
    struct fb_ref_inputs in;
    struct fb_ref_tensors out;
    double *store[7];
    int64_t cu_q[8], cu_k[8];
};

/* The problem that the text says; ends the test where it is none. spread: of the entries of q and
 * k. extra: rows after the last packed sequence. */
void ref_world_make(struct ref_world *w, const char *text, double spread, int64_t extra);
bool ref_world_compute(struct ref_world *w); /* fills out */
void ref_world_drop(struct ref_world *w);

#endif
