/* SPDX-License-Identifier: BSD-3-Clause
 *
 * settings.h: what to measure and how: the [measure] section of an experiment.
 */
#ifndef FB_CASES_SETTINGS_H
#define FB_CASES_SETTINGS_H

#include <stdbool.h>

#include "flashback.h"

/* What to find out about each case. */
#define FB_WHAT_SPEED 1u
#define FB_WHAT_MEMORY 2u
#define FB_WHAT_ERROR 4u
#define FB_WHAT_DETERMINISM 8u

struct fb_measure {
    unsigned what;      /* FB_WHAT_* */
    int warmup;         /* calls before the first sample */
    int min_samples;    /* at least this many samples, time allowing ... */
    int max_samples;    /* ... and at most this many */
    double max_seconds; /* per case, all samples together */
    double interval;    /* stop once the 95 % interval of the median is this narrow, 0.01 is 1 % */
    double rest;        /* pause before a sample, in units of the sample before it (burst); -1: 0 on
                           the CPU, 20 on a GPU */
    double deadline;    /* seconds one case may take before its worker is killed */
    int det_runs;       /* backward calls whose gradients are hashed */
    bool forward;       /* time the forward too */
    bool sustained;     /* back to back for at least 2 s, instead of burst */
    bool flush;         /* flush the caches between samples */
    bool time_failed;   /* time a variant that failed its check, and say so in the record */
};

/* What a file without the section gets. */
void fb_measure_default(struct fb_measure *measure);

/* Takes the value of a key; FB_USAGE names the allowed keys or values. */
enum fb_status fb_measure_set(struct fb_measure *measure, const char *key, const char *value);
bool fb_measure_has(const char *key);

/* The keys by number, and a key's value as fb_measure_set takes it, every bit kept. */
#define FB_MEASURE_KEYS 13
#define FB_MEASURE_TEXT 64
const char *fb_measure_key(int index);
void fb_measure_print(const struct fb_measure *measure, int index, char text[FB_MEASURE_TEXT]);

#endif
