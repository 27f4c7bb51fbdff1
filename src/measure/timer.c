/* SPDX-License-Identifier: BSD-3-Clause */
#include "measure/timer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/host/processors.h"
#include "core/status.h"
#include "measure/phases.h"
#include "measure/stats.h"

static enum fb_status start_cpu(struct fb_timer *timer)
{
    timer->started = fb_clock_now();
    return FB_OK;
}

static enum fb_status stop_cpu(struct fb_timer *timer, double *seconds)
{
    *seconds = fb_clock_now() - timer->started;
    return FB_OK;
}

struct fb_timer fb_timer_cpu(void)
{
    return (struct fb_timer){.kind = "cpu-monotonic", .start = start_cpu, .stop = stop_cpu};
}

/* ---- Cache flush --------------------------------------------------------------------------------
 */

size_t fb_flush_bytes(void)
{
    const size_t least = (size_t)32 << 20, most = (size_t)1 << 30;
    size_t largest = 0;
    for (int level = 1; level <= 4; level++)
        if (fb_cache_bytes(level) > largest)
            largest = (size_t)fb_cache_bytes(level);
    size_t bytes = largest + largest / 4;
    return bytes < least ? least : bytes > most ? most : bytes;
}

/* By all OpenMP threads, so that each one's cache goes. */
static void run_host_flush(struct fb_flush *flush)
{
    const int64_t lines = (int64_t)(flush->bytes / 64);
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < lines; i++)
        flush->data[i * 64]++;
}

enum fb_status fb_flush_make(struct fb_flush *flush, size_t bytes)
{
    flush->bytes = bytes ? bytes : fb_flush_bytes();
    flush->run = run_host_flush;
    flush->data = calloc(flush->bytes, 1);
    return flush->data ? FB_OK
                       : fb_fail(FB_NO_MEMORY, "no memory for a flush buffer of %zu MiB",
                                 flush->bytes >> 20);
}

void fb_flush_run(struct fb_flush *flush)
{
    flush->run(flush);
}

/* ---- Sampling -----------------------------------------------------------------------------------
 */

void fb_sampling_default(struct fb_sampling *sampling)
{
    *sampling = (struct fb_sampling){.warmup = 1,
                                     .min_samples = 5,
                                     .max_samples = 100,
                                     .max_seconds = 5,
                                     .interval = 0.01,
                                     .max_rest = 1,
                                     .sustained_seconds = 2};
}

static bool fail_series(struct fb_series *series, enum fb_status status)
{
    if (status == FB_OK)
        return false;
    series->stop = FB_STOP_FAILED;
    series->status = status;
    snprintf(series->message, sizeof series->message, "%s", fb_status_message());
    fb_status_clear();
    return true;
}

/* One call as a span. */
static enum fb_status time_call(struct fb_timer *timer, struct fb_series *series, double *seconds)
{
    FB_TRY(timer->start(timer));
    FB_TRY(series->call(series->arg));
    return timer->stop(timer, seconds);
}

/* The same between its hooks. A device flushes while the call behind it is enqueued, so that no
 * launch is waited for inside the span. */
static enum fb_status time_sample(struct fb_timer *timer, const struct fb_sampling *sampling,
                                  struct fb_series *series, double *seconds)
{
    if (series->begin)
        FB_TRY(series->begin(series->hook_arg));
    if (sampling->flush && sampling->flush->queued)
        fb_flush_run(sampling->flush);
    FB_TRY(time_call(timer, series, seconds));
    return series->end ? series->end(series->hook_arg) : FB_OK;
}

static enum fb_status arm(struct fb_series *series)
{
    return series->arm ? series->arm(series->hook_arg) : FB_OK;
}

static enum fb_status look(struct fb_series *series)
{
    return series->look ? series->look(series->hook_arg) : FB_OK;
}

/* Warm-up calls, in the sustained mode as many as fill sustained_seconds. */
static bool warm_up(struct fb_timer *timer, const struct fb_sampling *sampling,
                    struct fb_series *series)
{
    double ignored;
    double begin = fb_clock_now();
    for (int i = 0;; i++) {
        double elapsed = fb_clock_now() - begin;
        if (i == 1)
            series->warmup_seconds = elapsed;
        if (i >= sampling->warmup &&
            (!sampling->sustained || elapsed >= sampling->sustained_seconds))
            break;
        if ((!sampling->sustained || i == 0) && fail_series(series, arm(series)))
            return false;
        if (i == 0)
            begin = fb_clock_now(); /* what is made ready before the first call warms nothing up */
        if (fail_series(series, time_call(timer, series, &ignored)) ||
            (!sampling->sustained && fail_series(series, look(series))))
            return false;
    }
    if (series->phases)
        fb_phases_clear(series->phases);
    if (sampling->sustained) /* the energy of the samples alone */
        fb_load_look(&series->load, sampling->power, 1);
    return true;
}

static void rest_before(const struct fb_sampling *sampling, const struct fb_series *series)
{
    if (sampling->sustained)
        return;
    double last = series->count ? series->samples[series->count - 1] : series->warmup_seconds;
    double rest = sampling->rest * last;
    fb_clock_sleep(rest > sampling->max_rest ? sampling->max_rest : rest);
    if (sampling->flush && !sampling->flush->queued)
        fb_flush_run(sampling->flush);
}

static bool take_sample(struct fb_timer *timer, const struct fb_sampling *sampling,
                        struct fb_series *series)
{
    double begin = fb_clock_now(), seconds = 0;
    if (!sampling->sustained && fail_series(series, arm(series)))
        return false;
    rest_before(sampling, series);
    if (fail_series(series, sampling->sustained ? time_call(timer, series, &seconds)
                                                : time_sample(timer, sampling, series, &seconds)) ||
        (!sampling->sustained && fail_series(series, look(series))))
        return false;
    fb_load_look(&series->load, sampling->power, 0);
    if (series->phases)
        fb_phases_end(series->phases);
    series->samples[series->count++] = seconds;
    series->total_seconds += fb_clock_now() - begin;
    return true;
}

/* Sorting anew after each of very many samples would cost more than they do: beyond 200 only every
 * twentieth part of the count is looked at. */
static bool is_time_to_look(const struct fb_sampling *sampling, const struct fb_series *series)
{
    int step = series->count < 200 ? 1 : series->count / 20;
    return series->count >= sampling->min_samples && series->count % step == 0;
}

/* Does the series need no more samples? Says why in series->stop. */
static bool is_settled(const struct fb_sampling *sampling, struct fb_series *series)
{
    if (is_time_to_look(sampling, series)) {
        struct fb_stats stats = fb_stats_of(series->samples, (size_t)series->count);
        series->stop = FB_STOP_INTERVAL;
        if (fb_stats_half_width(&stats) <= sampling->interval)
            return true;
    }
    series->stop = FB_STOP_SECONDS;
    if (sampling->max_seconds > 0 && series->total_seconds >= sampling->max_seconds &&
        series->count)
        return true;
    series->stop = FB_STOP_SAMPLES;
    return series->count >= sampling->max_samples;
}

static enum fb_status start_series(const struct fb_sampling *sampling, struct fb_series *series)
{
    series->count = 0;
    series->status = FB_OK;
    fb_load_reset(&series->load);
    series->total_seconds = series->warmup_seconds = 0;
    series->samples = calloc((size_t)sampling->max_samples + 1, sizeof *series->samples);
    return series->samples
               ? FB_OK
               : fb_fail(FB_NO_MEMORY, "no memory for %d samples", sampling->max_samples);
}

static bool has_lost_device(const struct fb_series *series)
{
    return series->stop == FB_STOP_FAILED && series->status == FB_DEVICE;
}

/* Every series that has not failed itself has lost its device with the one that did. */
static void lose_all(struct fb_series *series, int count)
{
    for (int i = 0; i < count; i++)
        if (series[i].status == FB_OK) {
            series[i].stop = FB_STOP_LOST;
            series[i].status = FB_DEVICE;
            snprintf(series[i].message, sizeof series[i].message,
                     "the device failed under another call");
        }
}

/* More calls after the samples, until the meter has had its time: energy is counted over all. */
static void meter_on(struct fb_timer *timer, const struct fb_sampling *sampling,
                     struct fb_series *one)
{
    double since = fb_clock_now() - one->total_seconds, ignored;
    one->load.calls = one->count;
    while (sampling->power && fb_clock_now() - since < sampling->sustained_seconds) {
        if (fail_series(one, time_call(timer, one, &ignored)))
            return;
        one->load.calls++;
        fb_load_look(&one->load, sampling->power, 0);
    }
    fb_load_look(&one->load, sampling->power, 1);
}

/* One series after the other, back to back: the load must not let up. */
static void sample_sustained(struct fb_timer *timer, const struct fb_sampling *sampling,
                             struct fb_series *series, int count)
{
    for (int i = 0; i < count; i++) {
        struct fb_series *one = &series[i];
        bool going = warm_up(timer, sampling, one);
        while (going)
            going = take_sample(timer, sampling, one) && !is_settled(sampling, one);
        if (one->status == FB_OK)
            meter_on(timer, sampling, one);
        if (one->status == FB_OK)
            fail_series(one, look(one));
        if (has_lost_device(one)) {
            lose_all(series, count);
            return;
        }
    }
}

/* In turn, a sample each a round, so that a slow drift of the machine meets all alike. */
static void sample_in_turn(struct fb_timer *timer, const struct fb_sampling *sampling,
                           struct fb_series *series, int count, bool *active)
{
    bool any = true, lost = false;
    for (int i = 0; i < count && !lost; i++) {
        active[i] = warm_up(timer, sampling, &series[i]);
        lost = has_lost_device(&series[i]);
    }
    while (any && !lost) {
        any = false;
        for (int i = 0; i < count && !lost; i++) {
            if (!active[i])
                continue;
            active[i] =
                take_sample(timer, sampling, &series[i]) && !is_settled(sampling, &series[i]);
            any |= active[i];
            lost = has_lost_device(&series[i]);
        }
    }
    if (lost)
        lose_all(series, count);
}

enum fb_status fb_sample(struct fb_timer *timer, const struct fb_sampling *sampling,
                         struct fb_series *series, int count)
{
    for (int i = 0; i < count; i++)
        FB_TRY(start_series(sampling, &series[i]));
    if (sampling->sustained) {
        sample_sustained(timer, sampling, series, count);
        return FB_OK;
    }
    bool *active = calloc((size_t)count + 1, sizeof *active);
    if (!active)
        return fb_fail(FB_NO_MEMORY, "no memory for %d series", count);
    sample_in_turn(timer, sampling, series, count, active);
    free(active);
    return FB_OK;
}

void fb_series_free(struct fb_series *series)
{
    free(series->samples);
    series->samples = NULL;
    series->count = 0;
}
