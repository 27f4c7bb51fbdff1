/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The sampling loop with a clock of its own: what is called when, what ends a series, what is kept.
 * No check depends on how fast this machine is.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/status.h"
#include "measure/context.h"
#include "measure/phases.h"
#include "measure/plausible.h"
#include "measure/timer.h"
#include "tests/tap.h"

/* A timer whose spans last what the callback said last. */
static double next_span;

static enum fb_status start_fake(struct fb_timer *timer)
{
    (void)timer;
    next_span = -1;
    return FB_OK;
}

static enum fb_status stop_fake(struct fb_timer *timer, double *seconds)
{
    (void)timer;
    *seconds = next_span;
    return FB_OK;
}

static struct fb_timer fake = {.kind = "fake", .start = start_fake, .stop = stop_fake};

/* A callback that lasts base, base + step, base + 2 step ... and fails at call number fail_at. */
struct work {
    char name;
    double base, step;
    int calls, fail_at;
    struct fb_phases *phases;
};

static char trail[4096];

static enum fb_status do_work(void *arg)
{
    struct work *work = arg;
    size_t used = strlen(trail);
    if (used + 1 < sizeof trail)
        trail[used] = work->name;
    next_span = work->base + work->step * work->calls;
    if (work->phases) {
        fb_phases_begin(work->phases, "delta");
        fb_phases_begin(work->phases, "main");
    }
    if (++work->calls == work->fail_at)
        return fb_fail(FB_INTERNAL, "the call fell over");
    return FB_OK;
}

static struct fb_sampling quick(void)
{
    struct fb_sampling sampling;
    fb_sampling_default(&sampling);
    sampling.max_seconds = 0;
    return sampling;
}

static void test_defaults(void)
{
    struct fb_sampling s;
    fb_sampling_default(&s);
    tap_ok(s.warmup == 1 && s.min_samples == 5 && s.max_samples == 100 && s.max_seconds == 5 &&
               s.interval == 0.01 && s.rest == 0 && !s.sustained && !s.flush,
           "defaults are as documented");
}

static void test_interval(void)
{
    struct work steady = {.name = 'a', .base = 1, .step = 1e-6};
    struct fb_series series = {.call = do_work, .arg = &steady};
    struct fb_sampling sampling = quick();
    memset(trail, 0, sizeof trail);
    sampling.warmup = 3;
    enum fb_status status = fb_sample(&fake, &sampling, &series, 1);
    tap_ok(status == FB_OK && series.stop == FB_STOP_INTERVAL && series.count == 6 &&
               steady.calls == 9,
           "a steady series stops at the 6 samples an interval needs (%d)", series.count);
    tap_ok(series.samples[0] == 1 + 3e-6 && series.samples[5] == 1 + 8e-6,
           "samples are raw and in order, warm-up left out");
    fb_series_free(&series);
    tap_ok(!series.samples && !series.count, "a freed series is empty");
}

static void test_limits(void)
{
    struct work wild = {.name = 'a', .base = 1, .step = 1};
    struct fb_series series = {.call = do_work, .arg = &wild};
    struct fb_sampling sampling = quick();
    sampling.max_samples = 17;
    fb_sample(&fake, &sampling, &series, 1);
    tap_ok(series.stop == FB_STOP_SAMPLES && series.count == 17,
           "a wild series stops at max_samples");
    fb_series_free(&series);
    sampling.max_samples = 100000;
    sampling.max_seconds = 1e-9;
    fb_sample(&fake, &sampling, &series, 1);
    tap_ok(series.stop == FB_STOP_SECONDS && series.count == 1,
           "a limit of no time takes one sample");
    fb_series_free(&series);
    sampling.max_seconds = 0;
    sampling.max_samples = 1000;
    sampling.interval = 0;
    fb_sample(&fake, &sampling, &series, 1);
    tap_is_int((long long)series.count, 1000, "no time limit, no interval: 1000 samples");
    fb_series_free(&series);
}

static void test_turns(void)
{
    struct work a = {.name = 'a', .base = 1, .step = 1}, b = {.name = 'b', .base = 9};
    struct work c = {.name = 'c', .base = 1, .step = 1, .fail_at = 4};
    struct fb_series series[3] = {
        {.call = do_work, .arg = &a}, {.call = do_work, .arg = &b}, {.call = do_work, .arg = &c}};
    struct fb_sampling sampling = quick();
    memset(trail, 0, sizeof trail);
    sampling.max_samples = 8;
    enum fb_status status = fb_sample(&fake, &sampling, series, 3);
    tap_ok(status == FB_OK && !strcmp(trail, "abc"
                                             "abcabcabcababab"
                                             "aa"),
           "series take turns until each is done: %s", trail);
    tap_ok(series[1].stop == FB_STOP_INTERVAL && series[1].count == 6, "equal samples settle");
    tap_ok(series[2].stop == FB_STOP_FAILED && series[2].status == FB_INTERNAL &&
               series[2].count == 2 && !strcmp(series[2].message, "the call fell over"),
           "a failure ends its own series and is told");
    tap_ok(!*fb_status_message(), "a told failure leaves no message behind");
    for (int i = 0; i < 3; i++)
        fb_series_free(&series[i]);
}

static void test_failing_warmup(void)
{
    struct work bad = {.name = 'a', .base = 1, .fail_at = 1}, good = {.name = 'b', .base = 1};
    struct fb_series series[2] = {{.call = do_work, .arg = &bad}, {.call = do_work, .arg = &good}};
    struct fb_sampling sampling = quick();
    fb_sample(&fake, &sampling, series, 2);
    tap_ok(series[0].stop == FB_STOP_FAILED && series[0].count == 0 && bad.calls == 1 &&
               series[1].count == 6,
           "a failing warm-up ends the series at once");
    fb_series_free(&series[0]);
    fb_series_free(&series[1]);
}

static void test_sustained(void)
{
    struct work a = {.name = 'a', .base = 1}, b = {.name = 'b', .base = 1};
    struct fb_series series[2] = {{.call = do_work, .arg = &a}, {.call = do_work, .arg = &b}};
    struct fb_sampling sampling = quick();
    memset(trail, 0, sizeof trail);
    sampling.sustained = true;
    sampling.sustained_seconds = 0.02;
    double begin = fb_clock_now();
    fb_sample(&fake, &sampling, series, 2);
    tap_ok(fb_clock_now() - begin >= 0.04 && a.calls > 7 && b.calls > 7,
           "sustained: each series is called for its time first");
    tap_ok(!strstr(trail, "ba"), "sustained: one series after the other");
    fb_series_free(&series[0]);
    fb_series_free(&series[1]);
}

static enum fb_status nap(void *arg)
{
    fb_clock_sleep(*(double *)arg);
    return FB_OK;
}

/* Lower bounds only: a busy machine makes everything longer, nothing shorter. */
static void test_clock(void)
{
    double seconds = 0.003;
    struct fb_series series = {.call = nap, .arg = &seconds};
    struct fb_timer timer = fb_timer_cpu();
    struct fb_sampling sampling = quick();
    sampling.max_samples = 5;
    sampling.rest = 2;
    double begin = fb_clock_now();
    fb_sample(&timer, &sampling, &series, 1);
    double took = fb_clock_now() - begin;
    int good = 0;
    for (int i = 0; i < series.count; i++)
        good += series.samples[i] >= seconds;
    tap_ok(!strcmp(timer.kind, "cpu-monotonic") && series.count == 5 && good == 5,
           "the clock sees at least the nap");
    tap_ok(took >= 6 * seconds + 5 * 2 * seconds && series.total_seconds >= 5 * 3 * seconds,
           "rests of twice the sample: %.3f s", took);
    tap_ok(series.warmup_seconds >= seconds, "the first call's time is kept");
    fb_series_free(&series);
    sampling.rest = 1000;
    sampling.max_rest = 0.001;
    begin = fb_clock_now();
    fb_sample(&timer, &sampling, &series, 1);
    tap_ok(fb_clock_now() - begin < 6 * seconds * 100, "a rest is at most max_rest");
    fb_series_free(&series);
}

static void test_flush(void)
{
    struct fb_flush flush;
    tap_ok(fb_flush_bytes() >= (size_t)32 << 20, "the flush buffer is larger than most caches");
    if (fb_flush_make(&flush, 1 << 20) != FB_OK)
        return;
    fb_flush_run(&flush);
    int touched = 0;
    for (size_t i = 0; i < flush.bytes; i += 64)
        touched += flush.data[i] == 1;
    tap_ok(touched == (1 << 20) / 64, "a flush touches every line");
    free(flush.data);
}

static void test_phases(void)
{
    struct fb_phases phases;
    struct work work = {.name = 'a', .base = 1, .phases = &phases};
    struct fb_series series = {.call = do_work, .arg = &work, .phases = &phases};
    struct fb_sampling sampling = quick();
    fb_phases_reset(&phases);
    fb_sample(&fake, &sampling, &series, 1);
    tap_ok(phases.count == 2 && phases.calls == 6 && !strcmp(phases.name[0], "delta") &&
               !strcmp(phases.name[1], "main") && phases.seconds[0] >= 0,
           "phases add up over the samples alone");
    fb_series_free(&series);
    fb_phases_reset(&phases);
    fb_phases_begin(&phases, "slow");
    fb_clock_sleep(0.002);
    fb_phases_end(&phases);
    fb_phases_end(&phases);
    tap_ok(phases.seconds[0] >= 0.002 && phases.calls == 2 && phases.current == -1,
           "a phase lasts until the end of the call");
    tap_ok(fb_phases_median(&phases, 0) >= 0.001 &&
               fb_phases_median(&phases, 0) < phases.seconds[0],
           "the median of a phase, with a call that lacks it");
    for (int i = 0; i < 40; i++) {
        char name[16];
        snprintf(name, sizeof name, "p%d", i);
        fb_phases_begin(&phases, name);
    }
    fb_phases_end(&phases);
    tap_ok(phases.count == FB_PHASES, "too many phases share the last");
}

static void test_context(void)
{
    struct fb_host_context host;
    struct fb_phases phases;
    fb_host_context_init(&host, 3);
    struct fb_context *ctx = &host.ctx;
    tap_ok(ctx->abi_version == FB_ABI_VERSION && ctx->struct_size == sizeof *ctx &&
               ctx->threads == 3 && ctx->device == -1 && !ctx->stream,
           "a host context says what it is");
    ctx->phase(ctx, "unheard");
    fb_phases_reset(&phases);
    host.phases = &phases;
    ctx->phase(ctx, "heard");
    tap_ok(phases.count == 1 && !strcmp(phases.name[0], "heard"), "phases arrive once asked for");
    char *first = ctx->alloc(ctx, 1000), *second = ctx->alloc(ctx, 24);
    memset(first, 1, 1000);
    memset(second, 2, 24);
    ctx->free(ctx, first);
    tap_ok((uintptr_t)first % 256 == 0 && host.own_bytes == 24 && host.own_peak == 1024,
           "what a variant holds is counted");
    ctx->free(ctx, second);
    ctx->free(ctx, NULL);
    tap_ok(host.own_bytes == 0 && !ctx->alloc(ctx, SIZE_MAX), "and so is what it gives back");
    ctx->explain(ctx, "tile %d does not fit", 7);
    tap_ok(fb_host_context_fail(&host, FB_DEVICE, "backward") == FB_DEVICE &&
               !strcmp(fb_status_message(), "backward: tile 7 does not fit"),
           "a variant's explanation reaches the user");
    fb_status_clear();
    fb_host_context_fail(&host, FB_INTERNAL, "forward");
    tap_is(fb_status_message(), "forward: the variant returned 'internal'",
           "an explanation serves once");
    fb_status_clear();
}

static void test_plausible(void)
{
    struct fb_plausibility limit = {.flops = 2e9, .gemm_gflops = 1, .bytes = 1e9, .copy_gbytes = 4};
    char text[FB_PLAUSIBLE_TEXT];
    tap_ok(fb_least_seconds(&limit) == 2, "the slower of the two ceilings counts");
    fb_plausible(text, 1.91, &limit);
    tap_ok(!*text, "5 %% below the least time passes");
    fb_plausible(text, 1.5, &limit);
    tap_ok(strstr(text, "not plausible") && strstr(text, "2e+03 ms"), "less does not: %s", text);
    limit.gemm_gflops = (double)NAN;
    tap_ok(fb_least_seconds(&limit) == 0.25, "an unknown ceiling does not count");
    limit.bytes = 0;
    fb_plausible(text, 0, &limit);
    tap_ok(!*text, "nothing known, nothing flagged");
}

int main(void)
{
    test_defaults();
    test_interval();
    test_limits();
    test_turns();
    test_failing_warmup();
    test_sustained();
    test_clock();
    test_flush();
    test_phases();
    test_context();
    test_plausible();
    return tap_done();
}
