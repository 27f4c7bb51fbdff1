/* SPDX-License-Identifier: BSD-3-Clause
 *
 * worker.h: the process in which variants run. It reads groups of cases from stdin, works them and
 * writes a record for each to its fd 3.
 */
#ifndef FB_WORK_WORKER_H
#define FB_WORK_WORKER_H

#include <stdbool.h>
#include <stddef.h>

#include "flashback.h"

/* Loads the plug-ins, then reads and works groups until the end of input; with `tell` it tells the
 * plug-ins' variants instead. */
enum fb_status fb_worker_serve(const char *const *plugins, size_t plugin_count, bool tell);

#endif
