/* SPDX-License-Identifier: BSD-3-Clause
 *
 * progress.h: how far a run is, on stderr: a bar on a terminal, one line a case elsewhere.
 */
#ifndef FB_RUN_PROGRESS_H
#define FB_RUN_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>

#include "store/record.h"

struct fb_progress {
    size_t total, done;
    bool quiet, terminal;
    long long started;
};

void fb_progress_start(struct fb_progress *progress, size_t total, bool quiet);
void fb_progress_step(struct fb_progress *progress, const struct fb_record *record);
void fb_progress_end(struct fb_progress *progress);

#endif
