/* SPDX-License-Identifier: BSD-3-Clause
 *
 * buffers_check.h: what a call did to its buffers: guards, sealed inputs, unwritten elements.
 */
#ifndef FB_DATA_BUFFERS_CHECK_H
#define FB_DATA_BUFFERS_CHECK_H

#include "data/buffers.h"

/* What a check found: text is "" when all is well, else one line ("guard after dk: byte 12"). */
struct fb_finding {
    char text[160];
};

/* Guards and gaps hold their pattern. */
enum fb_status fb_buffers_check_guards(const struct fb_buffers *buffers, struct fb_finding *found);
/* The sealed buffers still have their hash. */
enum fb_status fb_buffers_check_sealed(const struct fb_buffers *buffers, enum fb_pass pass,
                                       struct fb_finding *found);
/* No element of a tensor the pass must write still holds the poison; names the first index. */
enum fb_status fb_buffers_check_written(const struct fb_buffers *buffers, enum fb_pass pass,
                                        struct fb_finding *found);
/* All three; the first fault found. */
enum fb_status fb_buffers_check(const struct fb_buffers *buffers, enum fb_pass pass,
                                struct fb_finding *found);

#endif
