/* SPDX-License-Identifier: BSD-3-Clause */
#include "run/stopwatch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/host/clock.h"
#include "core/numbers.h"
#include "core/status.h"

void fb_stopwatch_begin(struct fb_stopwatch *watch, double now)
{
    watch->begun = now;
}

enum fb_status fb_stopwatch_end(struct fb_stopwatch *watch, double now)
{
    if (watch->count == watch->room) {
        const size_t room = watch->room ? 2 * watch->room : 64;
        double *grown = realloc(watch->seconds, room * sizeof *grown);
        if (!grown)
            return fb_fail(FB_NO_MEMORY, "no memory for %zu spans", room);
        watch->seconds = grown;
        watch->room = room;
    }
    const double seconds = now - watch->begun;
    size_t at = watch->count++;
    for (; at > 0 && watch->seconds[at - 1] > seconds; at--)
        watch->seconds[at] = watch->seconds[at - 1];
    watch->seconds[at] = seconds;
    watch->begun = 0;
    return FB_OK;
}

double fb_stopwatch_median(const struct fb_stopwatch *watch)
{
    const size_t middle = watch->count / 2;
    if (!watch->count)
        return NAN;
    return watch->count % 2 ? watch->seconds[middle]
                            : (watch->seconds[middle - 1] + watch->seconds[middle]) / 2;
}

void fb_stopwatch_free(struct fb_stopwatch *watch)
{
    free(watch->seconds);
    memset(watch, 0, sizeof *watch);
}

static double fastest(const struct fb_stopwatch *watch)
{
    return watch->count ? watch->seconds[0] : NAN;
}

enum fb_clock fb_stopwatch_compare(const struct fb_readings *r)
{
    if (!isfinite(r->inside) || !isfinite(r->outside) || !isfinite(r->empty) ||
        r->outside < 0.5e-3 || r->outside < 5 * r->empty_median)
        return FB_CLOCK_COARSE;
    return r->inside < 0.8 * (r->outside - r->empty) ? FB_CLOCK_DIFFERS : FB_CLOCK_AGREES;
}

/* ---- Those of a group ---------------------------------------------------------------------------
 */

bool fb_stopwatches_make(struct fb_stopwatches *watches, size_t room)
{
    *watches = (struct fb_stopwatches){.room = room};
    watches->spans = calloc(room, sizeof *watches->spans);
    return watches->spans != NULL;
}

void fb_stopwatches_reset(struct fb_stopwatches *watches, size_t cases)
{
    fb_stopwatch_free(&watches->empty);
    for (size_t i = 0; watches->spans && i < watches->room; i++)
        for (int span = 0; span < FB_SPAN_COUNT; span++)
            fb_stopwatch_free(&watches->spans[i][span]);
    watches->cases = cases;
    watches->running = NULL;
}

void fb_stopwatches_free(struct fb_stopwatches *watches)
{
    fb_stopwatches_reset(watches, 0);
    free(watches->spans);
    *watches = (struct fb_stopwatches){0};
}

enum fb_status fb_stopwatches_take(struct fb_stopwatches *watches, char *text, bool begins,
                                   bool *garbled)
{
    const double now = fb_clock_now();
    int64_t index, span;
    char *rest = text;
    const char *number = strsep(&rest, " ");
    *garbled = !rest || !fb_number_int(number, &index) || !fb_number_int(rest, &span) ||
               index < 0 || (size_t)index >= watches->cases || span < 0 || span >= FB_SPAN_COUNT;
    if (*garbled)
        return FB_OK;
    struct fb_stopwatch *watch =
        span == FB_SPAN_EMPTY ? &watches->empty : &watches->spans[index][span];
    *garbled = watches->running != (begins ? NULL : watch);
    if (*garbled)
        return FB_OK;
    watches->running = begins ? watch : NULL;
    if (!begins)
        return fb_stopwatch_end(watch, now);
    fb_stopwatch_begin(watch, now);
    return FB_OK;
}

static void compare(const struct fb_stopwatches *watches, const struct fb_stopwatch *watch,
                    struct fb_pass_result *pass)
{
    const double empty = fb_stopwatch_median(&watches->empty);
    const struct fb_readings readings = {.inside = 1e-3 * pass->ms_min,
                                         .outside = fastest(watch),
                                         .empty = fastest(&watches->empty),
                                         .empty_median = empty};
    if (!watch->count || !isfinite(pass->ms))
        return;
    pass->outside_ms = 1e3 * (fb_stopwatch_median(watch) - empty);
    pass->clock = (int64_t)watch->count == pass->n_samples ? fb_stopwatch_compare(&readings)
                                                           : FB_CLOCK_DIFFERS;
}

void fb_stopwatches_compare(const struct fb_stopwatches *watches, size_t index,
                            struct fb_record *record)
{
    compare(watches, &watches->spans[index][FB_SPAN_FORWARD], &record->fwd);
    compare(watches, &watches->spans[index][FB_SPAN_BACKWARD], &record->bwd);
}
