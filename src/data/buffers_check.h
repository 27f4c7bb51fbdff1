/* SPDX-License-Identifier: BSD-3-Clause
 *
 * buffers_check.h: what a call did to its buffers: guards, sealed inputs, unwritten elements.
 */
#ifndef FB_DATA_BUFFERS_CHECK_H
#define FB_DATA_BUFFERS_CHECK_H

#include "data/buffers.h"

/* What a check can find. After the last two the buffers cannot be trusted any more. */
enum fb_found {
    FB_FOUND_NOTHING,
    FB_FOUND_CHANGED,   /* an input, or what a forward leaves to its backward */
    FB_FOUND_UNWRITTEN, /* an element of an output */
    FB_FOUND_GUARD,     /* written outside of a buffer */
    FB_FOUND_PROBLEM    /* the problem itself is another */
};

struct fb_finding {
    enum fb_found kind;
    char text[160]; /* one line ("guard after dk: byte 12"), "" for nothing */
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
