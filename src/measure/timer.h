/* SPDX-License-Identifier: BSD-3-Clause
 *
 * timer.h: time of calls. A timer measures one span; fb_sample repeats spans of several callbacks
 * in turn until each one's median is known well enough.
 */
#ifndef FB_MEASURE_TIMER_H
#define FB_MEASURE_TIMER_H

#include <stdbool.h>
#include <stddef.h>

#include "core/host/clock.h"
#include "flashback.h"
#include "measure/power.h"

/* How a span is measured: by the host's clock here, by events on a GPU. */
struct fb_timer {
    const char *kind; /* recorded: "cpu-monotonic", "cuda-event" */
    enum fb_status (*start)(struct fb_timer *timer);
    /* Ends the span, waits for the work in it and gives its seconds. */
    enum fb_status (*stop)(struct fb_timer *timer, double *seconds);
    double started; /* of the implementation */
    void *own;
};

struct fb_timer fb_timer_cpu(void);

/* ---- Cache flush ------------------------------------------------------------------------------
 */

/* One buffer a process, larger than the caches in reach; touched outside the spans. */
struct fb_flush {
    char *data;
    size_t bytes;
    void (*run)(struct fb_flush *flush);
    bool queued; /* run() returns before it is done: the call is enqueued behind it */
    void *own;   /* of the implementation, a stream say */
};

/* bytes = 0: sized from the machine's caches (fb_flush_bytes). */
enum fb_status fb_flush_make(struct fb_flush *flush, size_t bytes);
void fb_flush_run(struct fb_flush *flush);
/* 1.25 times the largest cache, 32 MiB to 1 GiB. */
size_t fb_flush_bytes(void);

/* ---- Sampling ---------------------------------------------------------------------------------
 */

struct fb_sampling {
    int warmup;         /* calls before the first sample of a series */
    int min_samples;    /* at least this many ... */
    int max_samples;    /* ... and at most this many */
    double max_seconds; /* of one series, spans, rests, flushes and looks; 0: no limit */
    double interval;    /* stop when the 95 % interval of the median is within this, 0.01 = 1 % */
    double rest;        /* burst: rest before a sample in units of the last sample; 0: none */
    double max_rest;    /* seconds that one rest lasts at most */
    bool sustained;     /* no rests, no flushes, at least sustained_seconds of calls first */
    double sustained_seconds; /* 2 */
    struct fb_flush *flush;   /* NULL: caches stay warm */
    struct fb_power *power;   /* NULL: the load is not looked at */
};

/* warmup 1, 5 to 100 samples, 5 s, 1 %, no rest, max_rest 1 s, burst, warm. */
void fb_sampling_default(struct fb_sampling *sampling);

/* What ended a series. */
enum fb_stop {
    FB_STOP_INTERVAL, /* the interval is narrow enough */
    FB_STOP_SAMPLES,  /* max_samples */
    FB_STOP_SECONDS,  /* max_seconds */
    FB_STOP_FAILED,   /* a call failed: status and message say how */
    FB_STOP_LOST      /* a call of another series failed with FB_DEVICE: nothing can go on */
};

struct fb_phases;

/* One callback and all that was measured of it. */
struct fb_series {
    enum fb_status (*call)(void *arg);
    void *arg;
    /* Outside the span, NULL for none: what is made ready before a call, and what is looked at
     * after it. In the sustained mode, where the load may not let up, before the first and after
     * the last. */
    enum fb_status (*arm)(void *arg), (*look)(void *arg);
    /* The same, next to the span. */
    enum fb_status (*begin)(void *arg), (*end)(void *arg);
    void *hook_arg;           /* of all four */
    struct fb_phases *phases; /* NULL, or reset before each sample and summed after it */

    double *samples; /* seconds, in the order they were taken; owned */
    int count;
    enum fb_stop stop;
    enum fb_status status; /* of the call that failed */
    char message[256];     /* its line */
    double warmup_seconds; /* of the first call, which a cold start may dominate */
    double total_seconds;  /* wall time of its samples: spans, rests and flushes */
    struct fb_load load;   /* over its samples */
};

/* Warms every series up, then samples them in turn, one sample each a round, until all have
 * stopped. A failing call ends its own series only, except with FB_DEVICE, which ends all: what
 * failed may be found late, but never after another's span. Failure: FB_NO_MEMORY. */
enum fb_status fb_sample(struct fb_timer *timer, const struct fb_sampling *sampling,
                         struct fb_series *series, int count);
void fb_series_free(struct fb_series *series);

#endif
