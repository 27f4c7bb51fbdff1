/* SPDX-License-Identifier: BSD-3-Clause
 *
 * fill.h: the inputs of a case, from whichever source (cases/source.h).
 */
#ifndef FB_WORK_FILL_H
#define FB_WORK_FILL_H

#include <stdbool.h>

#include "cases/source.h"

/* What comes with the inputs beside the tensors. */
struct fb_filled {
    uint8_t *keep; /* the dropout mask that the source gives, or NULL; owned */
    bool exact;    /* the inputs leave nothing to round */
};

/* Writes the tensors of args. FB_REFUSED, FB_USAGE, FB_IO and FB_CORRUPT: why they cannot be had.
 */
enum fb_status fb_fill(const struct fb_source *source, const struct fb_args *args,
                       struct fb_filled *filled);

#endif
