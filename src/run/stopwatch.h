/* SPDX-License-Identifier: BSD-3-Clause
 *
 * stopwatch.h: timed calls by a clock outside the process that they run in. A worker says when a
 * span begins and when it has ended (cases/protocol.h); the supervisor looks at its own clock both
 * times. A kernel that turns the clock of its process cannot reach this one.
 *
 * What both readings have in common that no span has, the way of the words, is learned from empty
 * spans and taken off.
 */
#ifndef FB_RUN_STOPWATCH_H
#define FB_RUN_STOPWATCH_H

#include <stdbool.h>
#include <stddef.h>

#include "cases/protocol.h"
#include "store/record.h"

/* Spans of one kind: the empty ones, or those of one pass of one case. */
struct fb_stopwatch {
    double begun;    /* 0: none is under way */
    double *seconds; /* in ascending order */
    size_t count, room;
};

/* Those of a group. */
struct fb_stopwatches {
    struct fb_stopwatch empty;
    struct fb_stopwatch (*spans)[FB_SPAN_COUNT]; /* of each case, in the order of the group */
    struct fb_stopwatch *running;                /* the one span under way, or NULL */
    size_t room, cases;
};

void fb_stopwatch_begin(struct fb_stopwatch *watch, double now);
enum fb_status fb_stopwatch_end(struct fb_stopwatch *watch, double now);
/* NaN without a span. */
double fb_stopwatch_median(const struct fb_stopwatch *watch);
void fb_stopwatch_free(struct fb_stopwatch *watch);

/* What a clock outside says of times that a worker reports. All are in seconds: the fastest sample
 * and the fastest spans, since whatever holds the words up makes a span longer and never shorter;
 * and the median of empty spans. A call is too short to be told (COARSE) below half a millisecond
 * or five empty spans. The clocks differ where the worker's time is less than four fifths of what
 * is left of the outside's. */
struct fb_readings {
    double inside, outside, empty, empty_median;
};
enum fb_clock fb_stopwatch_compare(const struct fb_readings *readings);

/* Room for groups of so many cases; false without memory. */
bool fb_stopwatches_make(struct fb_stopwatches *watches, size_t room);
void fb_stopwatches_free(struct fb_stopwatches *watches);
/* For a new group of `cases` cases. */
void fb_stopwatches_reset(struct fb_stopwatches *watches, size_t cases);

/* What follows the word begin or end: "INDEX SPAN", now. Other text is *garbled, and so are words
 * out of order: spans do not overlap, and each begins once and ends once. */
enum fb_status fb_stopwatches_take(struct fb_stopwatches *watches, char *text, bool begins,
                                   bool *garbled);

/* Into the record of the case at `index`: outside_ms and clock of the passes it timed. Where there
 * were not as many spans as samples, the clocks differ. */
void fb_stopwatches_compare(const struct fb_stopwatches *watches, size_t index,
                            struct fb_record *record);

#endif
