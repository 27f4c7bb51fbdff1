/* SPDX-License-Identifier: BSD-3-Clause
 *
 * mutants.h: ways a judge can be blind. A judge opened with one sees every tensor as a judge with
 * that fault would see it; self_test.h shows that each is found out. Not for judging.
 */
#ifndef FB_VERIFY_SELF_TEST_MUTANTS_H
#define FB_VERIFY_SELF_TEST_MUTANTS_H

#include "flashback.h"

enum fb_judge_mutant {
    FB_MUTANT_NONE,
    FB_MUTANT_NAN_PASSES, /* !(error > bound): a NaN is never above */
    FB_MUTANT_LOOSE,      /* everything may be off by ten times as much */
    FB_MUTANT_SELF,       /* the tensor is compared with itself */
    FB_MUTANT_SHORT,      /* the last 64 rows of each head are not looked at */
    FB_MUTANT_COUNT
};

const char *fb_mutant_name(enum fb_judge_mutant mutant);

/* A contiguous copy of tensor as the mutant sees it, beside reference ([b, h, n, d] in order); the
 * caller frees seen->data. FB_NO_MEMORY. */
enum fb_status fb_mutant_see(enum fb_judge_mutant mutant, const struct fb_tensor *tensor,
                             const double *reference, struct fb_tensor *seen);

#endif
