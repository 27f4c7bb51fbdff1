/* SPDX-License-Identifier: BSD-3-Clause */
#include "measure/power.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/host/clock.h"

void fb_load_reset(struct fb_load *load)
{
    *load = (struct fb_load){
        .watts = NAN, .sm_mhz = NAN, .celsius = NAN, .joules_first = NAN, .joules_last = NAN};
}

/* The mean of `count` values and one more; a value that is unknown leaves it as it was. */
static double mean_with(double mean, int count, double value)
{
    if (isnan(value))
        return mean;
    return isnan(mean) ? value : mean + (value - mean) / (count + 1);
}

void fb_load_look(struct fb_load *load, struct fb_power *power, int now_or_never)
{
    struct fb_power_reading reading;
    double now = fb_clock_now();
    if (!power || (!now_or_never && load->readings && now - load->last < FB_LOAD_EVERY))
        return;
    power->read(power, &reading);
    if (!load->readings)
        load->joules_first = reading.joules;
    load->joules_last = reading.joules;
    load->watts = mean_with(load->watts, load->readings, reading.watts);
    load->sm_mhz = mean_with(load->sm_mhz, load->readings, reading.sm_mhz);
    load->celsius = fmax(load->celsius, reading.celsius); /* NaN gives way to a number */
    load->throttle |= reading.throttle;
    load->readings++;
    load->last = now;
}

void fb_throttle_print(const struct fb_load *load, char text[FB_THROTTLE_TEXT])
{
    static const struct {
        uint64_t bit;
        const char *name;
    } reasons[] = {
        {FB_THROTTLE_SETTING, "setting"},        {FB_THROTTLE_POWER_CAP, "power-cap"},
        {FB_THROTTLE_HARDWARE, "hardware"},      {FB_THROTTLE_SYNC, "sync-boost"},
        {FB_THROTTLE_THERMAL, "thermal"},        {FB_THROTTLE_HARDWARE_THERMAL, "hardware-thermal"},
        {FB_THROTTLE_POWER_BRAKE, "power-brake"}};
    size_t used = 0;
    text[0] = '\0';
    if (!load->readings)
        return;
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (load->throttle & reasons[i].bit)
            used += (size_t)snprintf(text + used, FB_THROTTLE_TEXT - used, "%s%s", used ? "+" : "",
                                     reasons[i].name);
    if (!used)
        snprintf(text, FB_THROTTLE_TEXT, "none");
}
