/* SPDX-License-Identifier: BSD-3-Clause
 *
 * term_case.h: one problem with all its terms, its inputs by a recipe and the judge, for tests that
 * run CPU variants on it with poisoned, guarded and gapped buffers.
 */
#ifndef FB_TESTS_TERM_CASE_H
#define FB_TESTS_TERM_CASE_H

#include "data/buffers.h"
#include "measure/context.h"
#include "data/inputs.h"
#include "verify/judge.h"

struct term_case {
    struct fb_problem problem;
    struct fb_numerics numerics;
    struct fb_recipe recipe;
    struct fb_buffers inputs; /* as the judge sees them */
    struct fb_judge *judge;
    const uint8_t *keep; /* a dropout mask from outside, or NULL */
};

/* A variant's own buffers on such a case. */
struct term_run {
    const struct fb_variant *variant;
    struct fb_buffers buffers;
    struct fb_host_context host;
};

/* false where a text is malformed or memory is short. No judge yet: inputs may be changed first. */
bool term_case_init(struct term_case *c, const char *problem, const char *numerics,
                    const char *recipe);
bool term_case_judge(struct term_case *c);
void term_case_free(struct term_case *c);

/* Copies the inputs and runs forward and backward, each on poison. Says what went wrong in a note
 * and gives false, too, where a guard was hit, an input changed or an output element not written.
 */
bool term_run(struct term_run *run, struct term_case *c, const struct fb_variant *variant,
              int threads);
void term_run_free(struct term_run *run);

/* Runs and judges; true when it passes. */
bool term_case_passes(struct term_case *c, const struct fb_variant *variant, int threads);

#endif
