/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What is made of a meter's readings, with a meter of the test's own.
 */
#include <math.h>
#include <string.h>

#include "core/status.h"
#include "measure/phases.h"
#include "measure/power.h"
#include "measure/timer.h"
#include "tests/tap.h"

/* A meter whose n-th reading is n-fold. */
static int readings;

static void read_fake(struct fb_power *power, struct fb_power_reading *reading)
{
    uint64_t *throttle = power->own;
    readings++;
    *reading = (struct fb_power_reading){.joules = 10 * readings,
                                         .watts = 100 * readings,
                                         .sm_mhz = readings == 2 ? (double)NAN : 1000 * readings,
                                         .celsius = readings == 2 ? 70 : 50,
                                         .throttle = throttle[readings % 2]};
}

static void test_load(void)
{
    uint64_t throttle[] = {FB_THROTTLE_POWER_CAP, 1 /* idle: no reason */};
    struct fb_power power = {.read = read_fake, .own = throttle};
    struct fb_load load;
    char text[FB_THROTTLE_TEXT];
    readings = 0;
    fb_load_reset(&load);
    fb_throttle_print(&load, text);
    tap_ok(isnan(load.watts) && !*text, "without a reading nothing is known");
    fb_load_look(&load, NULL, 1);
    tap_ok(load.readings == 0, "without a meter nothing is read");
    fb_load_look(&load, &power, 1);
    fb_throttle_print(&load, text);
    tap_is(text, "none", "being idle is no reason for a lower clock");
    fb_load_look(&load, &power, 1);
    tap_ok(load.watts == 150 && load.sm_mhz == 1000 && load.celsius == 70,
           "means leave out what is unknown; of temperatures the highest counts");
    tap_ok(load.joules_last - load.joules_first == 10, "energy is a difference");
    fb_throttle_print(&load, text);
    tap_is(text, "power-cap", "a reason is kept: %s", text);
    throttle[1] = FB_THROTTLE_THERMAL | FB_THROTTLE_HARDWARE;
    fb_load_look(&load, &power, 1);
    fb_throttle_print(&load, text);
    tap_is(text, "power-cap+hardware+thermal", "all reasons seen add up: %s", text);
    fb_load_look(&load, &power, 0);
    tap_ok(load.readings == 3, "not more often than the meter has news");
}

static double span = 1e-3;

static enum fb_status start_fake(struct fb_timer *timer)
{
    (void)timer;
    return FB_OK;
}

static enum fb_status stop_fake(struct fb_timer *timer, double *seconds)
{
    (void)timer;
    *seconds = span;
    return FB_OK;
}

static enum fb_status do_nothing(void *calls)
{
    ++*(int *)calls;
    fb_clock_sleep(1e-4);
    return FB_OK;
}

static void test_sustained(void)
{
    static uint64_t none[2];
    struct fb_power power = {.read = read_fake, .own = none};
    struct fb_timer timer = {.kind = "fake", .start = start_fake, .stop = stop_fake};
    struct fb_sampling sampling;
    int calls = 0;
    struct fb_series series = {.call = do_nothing, .arg = &calls};
    double begin = fb_clock_now();
    readings = 0;
    fb_sampling_default(&sampling);
    sampling.sustained = true;
    sampling.sustained_seconds = 0.02;
    sampling.power = &power;
    tap_ok(fb_sample(&timer, &sampling, &series, 1) == FB_OK, "a sustained series with a meter");
    tap_ok(series.load.calls >= series.count && fb_clock_now() - begin >= 0.04,
           "goes on for as long as the meter needs (%d samples, %d calls)", series.count,
           series.load.calls);
    fb_series_free(&series);
}

/* A call that the device fails under ends all series. */
static enum fb_status fail_later(void *calls)
{
    return ++*(int *)calls == 4 ? fb_fail(FB_DEVICE, "the device fell over") : FB_OK;
}

static void test_lost(void)
{
    struct fb_timer timer = {.kind = "fake", .start = start_fake, .stop = stop_fake};
    struct fb_sampling sampling;
    int sound = 0, faulty = 0;
    struct fb_series series[] = {{.call = do_nothing, .arg = &sound},
                                 {.call = fail_later, .arg = &faulty},
                                 {.call = do_nothing, .arg = &sound}};
    fb_sampling_default(&sampling);
    sampling.interval = 0;
    fb_sample(&timer, &sampling, series, 3);
    tap_ok(series[1].stop == FB_STOP_FAILED && series[1].status == FB_DEVICE &&
               !strcmp(series[1].message, "the device fell over"),
           "a lost device is the fault of the call that found it");
    tap_ok(series[0].stop == FB_STOP_LOST && series[2].stop == FB_STOP_LOST && faulty == 4 &&
               sound == 2 + 3 + 2,
           "and nobody is called after it (%d calls)", sound);
    for (int i = 0; i < 3; i++)
        fb_series_free(&series[i]);
}

/* Phases by marks: a clock that gives each mark its number of seconds. */
static int marked;

static void mark_fake(void *own, int mark)
{
    (void)own;
    marked = mark + 1;
}

static double seconds_fake(int from, int to)
{
    return (to < 0 ? 10 : to) - from;
}

static void test_marks(void)
{
    static const struct fb_phase_clock clock = {.mark = mark_fake, .seconds = seconds_fake};
    struct fb_phases phases;
    fb_phases_reset(&phases);
    phases.clock = &clock;
    for (int call = 0; call < 3; call++) {
        fb_phases_begin(&phases, "delta");
        fb_phases_begin(&phases, "main");
        fb_phases_begin(&phases, "delta");
        fb_phases_end(&phases);
    }
    tap_ok(marked == 3 && phases.calls == 3 && fb_phases_median(&phases, 0) == 9 &&
               fb_phases_median(&phases, 1) == 1,
           "marked phases add up to the span's end");
    fb_phases_clear(&phases);
    tap_ok(phases.calls == 0 && phases.clock == &clock, "clearing keeps the clock");
}

int main(void)
{
    test_load();
    test_sustained();
    test_lost();
    test_marks();
    return tap_done();
}
