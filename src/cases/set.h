/* SPDX-License-Identifier: BSD-3-Clause
 *
 * set.h: which cases a check takes.
 */
#ifndef FB_CASES_SET_H
#define FB_CASES_SET_H

#include <stdbool.h>
#include <stddef.h>

#include "cases/experiment.h"

/* What is asked on the command line. */
struct fb_check_options {
    const char *experiment; /* path of an experiment whose grid to check, or NULL */
    const char *golden;     /* path of a golden file, or NULL */
    const char *const *problems;
    size_t problem_count; /* none of the three: the default set */
    const char *const *variants;
    size_t variant_count;        /* none: all but the traps and null; with plug-ins only theirs */
    const char *const *settings; /* KEY=VALUE over the experiment's values */
    size_t setting_count;
    const char *numerics; /* declared numerics of the problems, "" is standard */
    const char *recipe;   /* of the problems; NULL: randn@1 */
    const char *json;     /* report file, or NULL */
    const char *const *plugins;
    size_t plugin_count;
    int runs;     /* of the determinism test; 0: 10, of long problems in the default set 2 */
    bool is_long; /* the default set and a covering array of the whole grid */
    bool quiet;
    int argc;
    char **argv;
};

struct fb_check_set {
    struct fb_case *cases;
    size_t count;
    const char **variants; /* names in use */
    size_t variant_count;
    bool is_default;
    struct fb_measure measure; /* of the experiment, where one was named */
};

/* Experiment, problems and golden groups, whichever are named; else the default set:
 * experiments/check.ini (with --long check-long.ini too) and the golden data where it is installed.
 */
enum fb_status fb_check_set_make(struct fb_check_set *set, const struct fb_check_options *options);
void fb_check_set_free(struct fb_check_set *set);

#endif
