/* SPDX-License-Identifier: BSD-3-Clause
 *
 * load.h: a second load on the machine, for as long as it is wanted: threads that compute and move
 * memory, so that others are delayed, interrupted and moved about. What is deterministic must not
 * notice.
 */
#ifndef FB_MEASURE_LOAD_H
#define FB_MEASURE_LOAD_H

#include "flashback.h"

struct fb_load;

/* FB_NO_MEMORY; FB_DEVICE when no thread can be started. */
enum fb_status fb_load_start(struct fb_load **load, int threads);
void fb_load_stop(struct fb_load *load); /* waits for the threads; NULL is fine */

#endif
