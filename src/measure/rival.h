/* SPDX-License-Identifier: BSD-3-Clause
 *
 * rival.h: a second load beside the calls of a variant, for as long as it is wanted: on the host
 * threads that compute and move memory, on a device short kernels of every width, so that others
 * are delayed, interrupted and moved about. What is deterministic must not notice.
 */
#ifndef FB_MEASURE_RIVAL_H
#define FB_MEASURE_RIVAL_H

#include "flashback.h"

struct fb_rival {
    void (*end)(struct fb_rival *rival); /* waits for its end and frees it */
};

/* On the host. FB_NO_MEMORY; FB_DEVICE when no thread can be started. */
enum fb_status fb_rival_start(struct fb_rival **rival, int threads);

static inline void fb_rival_stop(struct fb_rival *rival) /* NULL is fine */
{
    if (rival)
        rival->end(rival);
}

#endif
