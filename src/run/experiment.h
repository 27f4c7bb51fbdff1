/* SPDX-License-Identifier: BSD-3-Clause
 *
 * experiment.h: an experiment file, a question with the grid of cases that answers it. The format is
 * described in doc/experiments.md. Reading it checks everything, so that a typing error in the last
 * line costs no run.
 */
#ifndef FB_RUN_EXPERIMENT_H
#define FB_RUN_EXPERIMENT_H

#include <stdbool.h>

#include "run/case.h"

/* What to find out about each case. */
#define FB_WHAT_SPEED 1u
#define FB_WHAT_MEMORY 2u
#define FB_WHAT_ERROR 4u
#define FB_WHAT_DETERMINISM 8u

struct fb_measure {
    unsigned what;      /* FB_WHAT_* */
    int warmup;         /* calls before the first sample */
    int min_samples;    /* at least this many samples ... */
    int max_samples;    /* ... and at most this many */
    double max_seconds; /* per case, all samples together */
    double interval;    /* stop once the 95 % interval of the median is this narrow, 0.01 is 1 % */
    double rest;        /* pause before a sample, in units of the sample's own time (burst) */
    double deadline;    /* seconds one case may take before its worker is killed */
    int det_runs;       /* backward calls whose gradients are hashed */
    bool forward;       /* time the forward too */
    bool sustained;     /* back to back for at least 2 s, instead of burst */
    bool flush;         /* flush the caches between samples */
    bool time_failed;   /* time a variant that failed its check, and say so in the record */
};

struct fb_experiment {
    char *name;     /* the file's name without folder and ending */
    char *text;     /* the file as it was read */
    char *question; /* what it asks */
    char *shows;    /* what the answer should look like */
    struct fb_measure measure;
    struct fb_case *cases;
    size_t case_count;
};

/* Reads the file and applies the `KEY=VALUE` settings in order. FB_USAGE carries file:line and the
 * allowed keys or values, FB_IO names the file. */
enum fb_status fb_experiment_read(struct fb_experiment *experiment, const char *path,
                                  const char *const *settings, size_t setting_count);

/* The measure block that a file without one gets. */
void fb_measure_default(struct fb_measure *measure);

void fb_experiment_free(struct fb_experiment *experiment);

#endif
