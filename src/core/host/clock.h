/* SPDX-License-Identifier: BSD-3-Clause
 *
 * clock.h: a clock for spans, which nobody sets back, and one for records.
 */
#ifndef FB_CORE_HOST_CLOCK_H
#define FB_CORE_HOST_CLOCK_H

/* Seconds and nanoseconds of a monotonic clock. */
double fb_clock_now(void);
long long fb_clock_ns(void);
void fb_clock_sleep(double seconds);

/* The time of day as "2026-01-31T23:59:59Z". */
#define FB_CLOCK_STAMP 24
void fb_clock_stamp(char text[FB_CLOCK_STAMP]);

#endif
