/* SPDX-License-Identifier: BSD-3-Clause
 *
 * status.h: how an error travels. A function that can fail returns enum fb_status; the place that
 * finds the fault calls fb_fail() once with one line for the user, and each caller on the way up
 * passes it on through FB_TRY, which adds a file:line breadcrumb. Only main.c prints and exits.
 * The state is per thread.
 */
#ifndef FB_CORE_STATUS_H
#define FB_CORE_STATUS_H

#include "flashback.h"

/* Records the message (the first of a failure wins until fb_status_clear) and returns status. */
enum fb_status fb_fail_at(const char *file, int line, enum fb_status status, const char *format,
                          ...) __attribute__((format(printf, 4, 5)));
#define fb_fail(status, ...) fb_fail_at(__FILE__, __LINE__, status, __VA_ARGS__)

/* Keeps which item of what a user gave the failure under way is about ("hk"; a constant): the first
 * one that is told. Returns status; does nothing for FB_OK. */
enum fb_status fb_status_about(enum fb_status status, const char *item);

/* Adds a breadcrumb to the failure under way and returns status. */
enum fb_status fb_status_pass(const char *file, int line, enum fb_status status);

/* Returns from the calling function when expr is not FB_OK. */
#define FB_TRY(expr)                                                                               \
    do {                                                                                           \
        enum fb_status fb_try_status_ = (expr);                                                    \
        if (fb_try_status_ != FB_OK)                                                               \
            return fb_status_pass(__FILE__, __LINE__, fb_try_status_);                             \
    } while (0)

/* The same for functions that unwind: sets `status` and jumps to `out`. */
#define FB_TRY_OUT(expr)                                                                           \
    do {                                                                                           \
        status = (expr);                                                                           \
        if (status != FB_OK) {                                                                     \
            fb_status_pass(__FILE__, __LINE__, status);                                            \
            goto out;                                                                              \
        }                                                                                          \
    } while (0)

const char *fb_status_message(void); /* the line for the user, "" if none */
const char *fb_status_item(void);    /* what fb_status_about kept, "" if nothing */
const char *fb_status_trail(void);   /* the breadcrumbs, innermost first, "file:line < file:line" */
const char *fb_status_name(enum fb_status status);
void fb_status_clear(void);

#endif
