/* SPDX-License-Identifier: BSD-3-Clause
 *
 * options.h: what is asked of `flashback run` on the command line.
 */
#ifndef FB_RUN_OPTIONS_H
#define FB_RUN_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "flashback.h"

struct fb_run_options {
    const char *experiment;      /* path */
    const char *output;          /* NAME.h5; NULL: the experiment's name in the present folder */
    const char *const *variants; /* take only these; none: all of the experiment */
    size_t variant_count;
    const char *const *plugins;
    size_t plugin_count;
    const char *const *settings; /* KEY=VALUE over the file's */
    size_t setting_count;
    int shard, shards; /* this one of so many, counted from 1; shards 1: all */
    bool resume;       /* go on with what the output holds already */
    bool replace;      /* start over, whatever the output holds */
    bool dry_run;      /* print the grid with its refusals; run and write nothing */
    bool quiet;
    int argc; /* the command line, for the record */
    char **argv;
};

#endif
