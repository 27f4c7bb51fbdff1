/* SPDX-License-Identifier: BSD-3-Clause
 *
 * journal_read.h: a journal's text as results, up to its first damaged line.
 */
#ifndef FB_STORE_JOURNAL_READ_H
#define FB_STORE_JOURNAL_READ_H

#include <stdbool.h>

#include "store/results.h"

struct fb_journal_scan {
    struct fb_results results; /* what the intact lines hold */
    size_t good;               /* bytes of intact lines from the start */
    bool torn_tail;            /* nothing intact follows the damage: it may be cut off */
};

/* *scan starts as zeros. FB_CORRUPT when the text is no journal; the caller frees scan->results in
 * any case. */
enum fb_status fb_journal_scan(struct fb_journal_scan *scan, const char *text, size_t length,
                               const char *path);

/* Reads without a lock, also while a run is writing. results->damage tells of a torn or damaged
 * line; the records before it are there. */
enum fb_status fb_journal_read(struct fb_results *results, const char *path);

#endif
