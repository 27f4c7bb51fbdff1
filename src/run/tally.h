/* SPDX-License-Identifier: BSD-3-Clause
 *
 * tally.h: counts verdicts and decides the exit status of `run` and `check`.
 */
#ifndef FB_RUN_TALLY_H
#define FB_RUN_TALLY_H

#include <stdbool.h>
#include <stddef.h>

#include "run/supervisor.h"

struct fb_tally {
    size_t count[FB_OUTCOME_HUNG + 1]; /* by outcome */
    const char *const *named;          /* variants asked for by name; borrowed */
    size_t named_count;
    bool *named_ran;             /* [named_count]: took at least one case */
    char unread[FB_UNREAD_ROOM]; /* what was said of a file of inputs that cannot be read, or "" */
    char ended[FB_UNREAD_ROOM];  /* how a worker failed to leave, or "" */
};

enum fb_status fb_tally_init(struct fb_tally *tally, const char *const *named, size_t count);
void fb_tally_add(struct fb_tally *tally, const struct fb_record *record);

/* "12 passed, 0 failed, 4 refused", only what occurs beyond the first two. */
void fb_tally_print(const struct fb_tally *tally, char *text, size_t size);

/* 4 when a file of inputs could not be read (said in one line); 1 after a failure, a crash or a
 * hang, be it in a plug-in's exit handler (said, too); 3 when every case was refused, or every one
 * of a variant named by -v (said in a warning line each); else 0, as for a shard without cases. */
int fb_tally_exit(const struct fb_tally *tally);
void fb_tally_free(struct fb_tally *tally);

#endif
