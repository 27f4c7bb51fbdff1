/* SPDX-License-Identifier: BSD-3-Clause
 *
 * power.h: clocks, power and energy of a device while it works. The readings come from NVML
 * (nvml.h); what a series of samples makes of them is counted here.
 */
#ifndef FB_MEASURE_POWER_H
#define FB_MEASURE_POWER_H

#include <stddef.h>
#include <stdint.h>

/* One look; NaN (throttle 0) is unknown. */
struct fb_power_reading {
    double joules; /* since some fixed moment */
    double watts, sm_mhz, celsius;
    uint64_t throttle; /* FB_THROTTLE_* */
};

/* Why clocks are lower than they could be, the bits of NVML. */
#define FB_THROTTLE_SETTING 0x2u
#define FB_THROTTLE_POWER_CAP 0x4u
#define FB_THROTTLE_HARDWARE 0x8u
#define FB_THROTTLE_SYNC 0x10u
#define FB_THROTTLE_THERMAL 0x20u
#define FB_THROTTLE_HARDWARE_THERMAL 0x40u
#define FB_THROTTLE_POWER_BRAKE 0x80u

struct fb_power {
    void (*read)(struct fb_power *power, struct fb_power_reading *reading);
    double idle_watts; /* before the first work; NaN: unknown */
    void *own;
};

/* What was seen over a series. All NaN before the first reading. */
struct fb_load {
    int readings;
    int calls;                     /* between the first reading and the last */
    double watts, sm_mhz, celsius; /* means; celsius is the highest */
    uint64_t throttle;             /* all reasons seen */
    double joules_first, joules_last;
    double last; /* when it was read, fb_clock_now() */
};

/* Seconds between two readings; NVML renews its numbers no faster. */
#define FB_LOAD_EVERY 0.05

void fb_load_reset(struct fb_load *load);

/* Reads, where the last reading is old enough or `now_or_never`. power NULL: does nothing. */
void fb_load_look(struct fb_load *load, struct fb_power *power, int now_or_never);

/* "power-cap+thermal", "none", and "" where nothing was read. */
#define FB_THROTTLE_TEXT 96
void fb_throttle_print(const struct fb_load *load, char text[FB_THROTTLE_TEXT]);

#endif
