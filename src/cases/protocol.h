/* SPDX-License-Identifier: BSD-3-Clause
 *
 * protocol.h: what supervisor and worker say to each other. Commands go down the worker's stdin,
 * records come up its fd 3, and fd 4 is a page both have mapped, the beacon. Text, a line a
 * message, so that a worker can be driven by hand:
 *
 *     group THREADS TIMED PROBLEM RECIPE          record INDEX JSON, one a case
 *     measure KEY VALUE                           unread REASON, where a file of inputs cannot be
 *     case INDEX VARIANT NUMERICS                   read
 *     go                                          begin INDEX PASS, end INDEX PASS: a timed span
 *                                                 done, or
 *                                                 leave (a fresh worker is to take the rest)
 *
 * A worker that is started to tell what plug-ins hold takes no orders and says
 *
 *     variant NAME BACKEND DETERMINISTIC GEMMS SUMMARY, one a variant, and then done; or
 *     refused STATUS REASON
 */
#ifndef FB_CASES_PROTOCOL_H
#define FB_CASES_PROTOCOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

#include "core/host/clock.h"
#include "cases/experiment.h"

enum { FB_WORKER_RECORDS = 3, FB_WORKER_BEACON = 4 }; /* file descriptors of a worker */

/* The first words of the messages. */
enum fb_word {
    FB_WORD_GROUP, /* orders, down */
    FB_WORD_MEASURE,
    FB_WORD_CASE,
    FB_WORD_GO,
    FB_WORD_RECORD, /* answers, up */
    FB_WORD_UNREAD,
    FB_WORD_BEGIN,
    FB_WORD_END,
    FB_WORD_DONE,
    FB_WORD_LEAVE,
    FB_WORD_VARIANT,
    FB_WORD_REFUSED,
    FB_WORD_NONE /* not a message */
};

/* Writes a message; format "" for one that is a word alone. The caller flushes. */
void fb_word_put(FILE *to, enum fb_word word, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The word of a line, which is cut behind it; *rest is what follows. FB_WORD_NONE for a line that
 * begins otherwise, lacks what must follow, or holds more than a word that stands alone. */
enum fb_word fb_word_take(char *line, char **rest);

/* A timed span, as begin and end name it. */
enum fb_span { FB_SPAN_EMPTY, FB_SPAN_FORWARD, FB_SPAN_BACKWARD, FB_SPAN_COUNT };

/* Room for what is said of a file that cannot be read. */
#define FB_UNREAD_ROOM 512

/* What the worker is at. Names in reasons: "killed by signal 11 in backward". */
enum fb_stage {
    FB_STAGE_IDLE,
    FB_STAGE_REFERENCE, /* the harness's own: inputs, reference, judging; no deadline */
    FB_STAGE_PREPARE,
    FB_STAGE_FORWARD,
    FB_STAGE_BACKWARD,
    FB_STAGE_RELEASE,
    FB_STAGE_LOAD /* of plug-ins, before the first group */
};

const char *fb_stage_name(enum fb_stage stage);

/* Written by the worker before and after each call into a variant: two stores, no system call, so
 * that it may stand around a timed span. Tells whose fault a death is, and since when a call
 * lasts. */
struct fb_beacon {
    atomic_int index; /* of the case inside the group, -1: none */
    atomic_int stage;
    atomic_llong since; /* CLOCK_MONOTONIC, ns */
};

void fb_beacon_set(struct fb_beacon *beacon, int index, enum fb_stage stage);

/* Cases with the same inputs: one problem, recipe and thread count. */
struct fb_group {
    int threads;
    bool timed; /* a run; otherwise a check */
    struct fb_measure measure;
    char *problem, *recipe;
    size_t count;
    char **variant, **numerics; /* [count] */
};

/* Writes the cases of which `todo` holds the positions; the worker counts them from 0. */
enum fb_status fb_group_write(FILE *to, const struct fb_case *cases, const size_t *todo,
                              size_t count, const struct fb_measure *measure, bool timed);

/* Reads one group; *end is set at a clean end of input. The group is freed by fb_group_free. */
enum fb_status fb_group_read(FILE *from, struct fb_group *group, bool *end);
void fb_group_free(struct fb_group *group);

#endif
