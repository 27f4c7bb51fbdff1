/* SPDX-License-Identifier: BSD-3-Clause
 *
 * set.h: which cases a check takes. Private to src/run.
 */
#ifndef FB_CASES_SET_H
#define FB_CASES_SET_H

#include "run/check.h"
#include "cases/experiment.h"

struct fb_check_set {
    struct fb_case *cases;
    size_t count;
    const char **variants; /* names in use */
    size_t variant_count;
    bool is_default;
    struct fb_experiment experiment; /* where one was named */
};

/* Experiment, problems and golden groups, whichever are named; else the default set: the lecture's
 * shapes in bf16, fp16 and fp32, odd ones, and the golden data where it is installed. */
enum fb_status fb_check_set_make(struct fb_check_set *set, const struct fb_check_options *options);
void fb_check_set_free(struct fb_check_set *set);

#endif
