/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/host/clock.h"

#include <time.h>

long long fb_clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

double fb_clock_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void fb_clock_sleep(double seconds)
{
    if (!(seconds > 0))
        return;
    struct timespec rest = {.tv_sec = (time_t)seconds};
    rest.tv_nsec = (long)((seconds - (double)rest.tv_sec) * 1e9);
    while (nanosleep(&rest, &rest))
        continue;
}

void fb_clock_stamp(char text[FB_CLOCK_STAMP])
{
    time_t now = time(NULL);
    struct tm utc;
    strftime(text, FB_CLOCK_STAMP, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
}
