/* SPDX-License-Identifier: BSD-3-Clause
 *
 * test_stopwatch.c: timed spans by the supervisor's clock: what is learned from begin and end, what
 * is taken off, and when two clocks differ.
 */
#include "run/stopwatch.h"

#include <math.h>
#include <string.h>

#include "tests/tap.h"

static void test_spans(void)
{
    struct fb_stopwatch watch = {0};
    tap_ok(isnan(fb_stopwatch_median(&watch)), "no span has no median");
    for (int i = 0; i < 101; i++) {
        fb_stopwatch_begin(&watch, 10.0 * i + 1);
        fb_stopwatch_end(&watch, 10.0 * i + 1 + (i == 7 ? 8 : 2));
    }
    tap_ok(watch.count == 101, "many spans are kept");
    tap_ok(fb_stopwatch_median(&watch) == 2, "one that was held up does not move the median");
    fb_stopwatch_free(&watch);
    tap_ok(!watch.count && isnan(fb_stopwatch_median(&watch)), "none is left");
}

static enum fb_clock compare(double inside, double outside, double empty)
{
    return fb_stopwatch_compare(&(struct fb_readings){inside, outside, empty, empty});
}

static void test_compare(void)
{
    tap_is_int(compare(0.100, 0.101, 1e-4), FB_CLOCK_AGREES, "equal times agree");
    tap_is_int(compare(0.100, 0.090, 1e-4), FB_CLOCK_AGREES,
               "a worker that reports more than it took loses by it");
    tap_is_int(compare(0.040, 0.100, 1e-4), FB_CLOCK_DIFFERS,
               "a worker that reports two fifths is found");
    tap_is_int(compare(0.0004, 0.00092, 2e-4), FB_CLOCK_COARSE,
               "a call as short as the telling is not told");
    tap_is_int(compare(0.0001, 0.0004, 1e-5), FB_CLOCK_COARSE, "nor one below half a millisecond");
    tap_is_int(compare(0.0010, 0.0012, 2e-4), FB_CLOCK_AGREES,
               "what an empty span takes is taken off");
    tap_is_int(compare(NAN, 1, 1e-4), FB_CLOCK_COARSE, "without the worker's time nothing is told");
    tap_is_int(compare(1, NAN, 1e-4), FB_CLOCK_COARSE, "nor without the outside's");
    tap_is_int(compare(1, 1, NAN), FB_CLOCK_COARSE, "nor without empty spans");
}

static void take(struct fb_stopwatches *watches, const char *text, bool begins, bool *garbled)
{
    char line[64];
    snprintf(line, sizeof line, "%s", text);
    fb_stopwatches_take(watches, line, begins, garbled);
}

static void test_words(void)
{
    struct fb_stopwatches watches;
    struct fb_record record;
    bool garbled;
    tap_ok(fb_stopwatches_make(&watches, 3), "there is memory");
    fb_stopwatches_reset(&watches, 2);
    take(&watches, "1 2", true, &garbled);
    tap_ok(!garbled, "a begin is taken");
    take(&watches, "1 2", false, &garbled);
    tap_ok(!garbled && watches.spans[1][FB_SPAN_BACKWARD].count == 1, "and its end, of that case");
    take(&watches, "1 2", false, &garbled);
    tap_ok(garbled, "an end without a begin is not");
    take(&watches, "1 2", true, &garbled);
    take(&watches, "1 2", true, &garbled);
    tap_ok(garbled, "nor a second begin");
    take(&watches, "0 2", false, &garbled);
    tap_ok(garbled, "nor the end of another span");
    take(&watches, "1 2", false, &garbled);
    static const char *const bad[] = {"", "1", "2 2", "-1 2", "0 3", "0 -1", "x 1", "0 y"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        take(&watches, bad[i], true, &garbled);
        tap_ok(garbled, "'%s' is not the worker's", bad[i]);
    }
    fb_record_init(&record);
    record.bwd.ms = record.bwd.ms_min = 5;
    record.bwd.n_samples = 2;
    fb_stopwatches_compare(&watches, 1, &record);
    tap_ok(record.bwd.clock == FB_CLOCK_COARSE, "without empty spans nothing is told");
    record.bwd.n_samples = 3;
    fb_stopwatches_compare(&watches, 1, &record);
    tap_is_int(record.bwd.clock, FB_CLOCK_DIFFERS, "a sample without a span is no sample");
    tap_ok(record.fwd.clock == FB_MISSING_ENUM && isnan(record.fwd.outside_ms),
           "a pass that was not timed says nothing");
    fb_record_free(&record);
    fb_stopwatches_free(&watches);
}

int main(void)
{
    test_spans();
    test_compare();
    test_words();
    return tap_done();
}
