/* SPDX-License-Identifier: BSD-3-Clause
 *
 * supervisor.h: takes a list of cases through workers and gives one record for each, whatever the
 * variants do. A variant that crashes, exits or hangs costs its own record; the next case gets a
 * fresh worker. The supervisor itself calls no variant and touches no device.
 */
#ifndef FB_RUN_SUPERVISOR_H
#define FB_RUN_SUPERVISOR_H

#include "cases/experiment.h"
#include "cases/protocol.h"
#include "store/record.h"

struct fb_supervision {
    const struct fb_case *cases;
    const size_t *todo; /* positions of the cases to take, in order */
    size_t todo_count;
    const struct fb_measure *measure;
    bool timed;
    const char *const *plugins; /* handed to the workers */
    size_t plugin_count;
    /* Gets each finished record, which stays the supervisor's. An error stops the run. */
    enum fb_status (*take)(void *user, size_t position, const struct fb_record *record);
    /* Called about once a second while waiting. May be NULL. */
    enum fb_status (*tick)(void *user);
    void *user;
    char *unread; /* [FB_UNREAD_ROOM] what was said of the first file of inputs that could not be
                     read, whose cases are refused; "" so far. May be NULL. */
    char *ended;  /* [FB_UNREAD_ROOM] how a worker with plug-ins ended that had nothing left to do,
                     if not by itself: then "" is overwritten. May be NULL. */
};

/* Returns FB_OK when every case has its record, or when a signal stopped it: *signal is then SIGINT
 * or SIGTERM, or SIGHUP where that is not ignored, else 0. On a signal the worker is killed at
 * once, in the midst of a call, and all of them stay blocked, so that the caller's last save is not
 * cut short by an impatient second one. */
enum fb_status fb_supervise(const struct fb_supervision *supervision, int *signal);

#endif
