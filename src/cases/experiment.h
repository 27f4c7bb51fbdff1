/* SPDX-License-Identifier: BSD-3-Clause
 *
 * experiment.h: an experiment file, a question with the grid of cases that answers it. The format
 * is described in doc/experiments.md. Reading it checks everything, so that a typing error in the
 * last line costs no run.
 */
#ifndef FB_CASES_EXPERIMENT_H
#define FB_CASES_EXPERIMENT_H

#include "cases/case.h"
#include "cases/settings.h"

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

void fb_experiment_free(struct fb_experiment *experiment);

#endif
