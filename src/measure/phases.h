/* SPDX-License-Identifier: BSD-3-Clause
 *
 * phases.h: times of the named parts of a call.
 */
#ifndef FB_MEASURE_PHASES_H
#define FB_MEASURE_PHASES_H

#define FB_PHASES 16
#define FB_PHASE_NAME 24
#define FB_PHASE_RECENT 128
#define FB_PHASE_MARKS 64 /* begins in one call, where they are marked on a device */

/* Moments of a device's stream, where the host's clock would only see the enqueuing. */
struct fb_phase_clock {
    void (*mark)(void *own, int mark); /* enqueues the moment number `mark` of this call */
    /* Seconds between two marks; to = -1: the end of the span. After the timer's stop. */
    double (*seconds)(int from, int to);
};

/* Times of the named parts of a call. A phase lasts until the next begins or the call ends; the
 * same name twice in a call adds up. */
struct fb_phases {
    int count;
    char name[FB_PHASES][FB_PHASE_NAME];
    double seconds[FB_PHASES];                /* over all calls since the reset */
    float recent[FB_PHASES][FB_PHASE_RECENT]; /* of the last calls, a ring */
    int calls;                                /* calls ended since the reset */
    double call[FB_PHASES];                   /* of the call under way */
    int current;                              /* -1: none */
    double since;
    const struct fb_phase_clock *clock; /* NULL: the host's */
    void *clock_own;
    int marks, marked[FB_PHASE_MARKS]; /* the phase that each mark begins */
};

void fb_phases_reset(struct fb_phases *phases);
/* Forgets what was counted and keeps the clock. */
void fb_phases_clear(struct fb_phases *phases);
/* What ctx->phase leads to. Phases beyond FB_PHASES count to the last. */
void fb_phases_begin(struct fb_phases *phases, const char *name);
/* Ends the phase under way at the end of a call. */
void fb_phases_end(struct fb_phases *phases);
/* Median over the last FB_PHASE_RECENT calls, seconds; a call that lacks the phase counts as 0. NaN
 * without calls. */
double fb_phases_median(const struct fb_phases *phases, int phase);

#endif
