/* SPDX-License-Identifier: BSD-3-Clause
 *
 * check.h: `flashback check`: judges cases and prints one row each; nothing is timed or logged.
 */
#ifndef FB_RUN_CHECK_H
#define FB_RUN_CHECK_H

#include <stdbool.h>
#include <stddef.h>

#include "flashback.h"

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

enum fb_status fb_check_cases(const struct fb_check_options *options, int *exit_status);

#endif
