/* SPDX-License-Identifier: BSD-3-Clause
 *
 * worker.h: the process in which variants run. It reads groups of cases from stdin, works them and
 * writes a record for each to its fd 3.
 */
#ifndef FB_WORK_WORKER_H
#define FB_WORK_WORKER_H

#include "cases/protocol.h"
#include "store/record.h"

struct fb_worker {
    FILE *records;
    struct fb_beacon *beacon;
};

/* Loads the plug-ins, then reads and works groups until the end of input; with `tell` it tells the
 * plug-ins' variants instead. */
enum fb_status fb_worker_serve(const char *const *plugins, size_t plugin_count, bool tell);

/* Sends the finished record of the case at `index` of its group. */
enum fb_status fb_worker_send(struct fb_worker *worker, size_t index,
                              const struct fb_record *record);

/* Tells the supervisor that a file of inputs could not be read, and why. */
enum fb_status fb_worker_unread(struct fb_worker *worker, const char *why);

/* Tells the supervisor that this process ends here and the rest of its cases are to go to a fresh
 * one, and ends it. Returns only when the message cannot be sent. */
enum fb_status fb_worker_leave(struct fb_worker *worker);

/* Works one group and sends a record for each of its cases; an error is one of the harness. */
enum fb_status fb_group_work(struct fb_worker *worker, const struct fb_group *group);

#endif
