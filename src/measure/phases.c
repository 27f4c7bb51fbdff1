/* SPDX-License-Identifier: BSD-3-Clause */
#include "measure/phases.h"

#include <stdio.h>
#include <string.h>

#include "core/host/clock.h"
#include "measure/stats.h"

void fb_phases_reset(struct fb_phases *phases)
{
    memset(phases, 0, sizeof *phases);
    phases->current = -1;
}

void fb_phases_clear(struct fb_phases *phases)
{
    const struct fb_phase_clock *clock = phases->clock;
    void *own = phases->clock_own;
    fb_phases_reset(phases);
    phases->clock = clock;
    phases->clock_own = own;
}

static int find(struct fb_phases *phases, const char *name)
{
    for (int i = 0; i < phases->count; i++)
        if (!strncmp(phases->name[i], name, FB_PHASE_NAME - 1))
            return i;
    if (phases->count == FB_PHASES)
        return FB_PHASES - 1;
    snprintf(phases->name[phases->count], FB_PHASE_NAME, "%s", name);
    return phases->count++;
}

static void close_current(struct fb_phases *phases, double now)
{
    if (phases->current >= 0)
        phases->call[phases->current] += now - phases->since;
}

/* Marks beyond the last count to it. */
static void mark(struct fb_phases *phases, const char *name)
{
    if (phases->marks == FB_PHASE_MARKS)
        return;
    phases->clock->mark(phases->clock_own, phases->marks);
    phases->marked[phases->marks++] = find(phases, name);
}

static void collect_marks(struct fb_phases *phases)
{
    for (int i = 0; i < phases->marks; i++)
        phases->call[phases->marked[i]] +=
            phases->clock->seconds(i, i + 1 < phases->marks ? i + 1 : -1);
    phases->marks = 0;
}

void fb_phases_begin(struct fb_phases *phases, const char *name)
{
    if (phases->clock) {
        mark(phases, name);
        return;
    }
    double now = fb_clock_now();
    close_current(phases, now);
    phases->current = find(phases, name);
    phases->since = now;
}

void fb_phases_end(struct fb_phases *phases)
{
    close_current(phases, fb_clock_now());
    collect_marks(phases);
    for (int i = 0; i < phases->count; i++) {
        phases->recent[i][phases->calls % FB_PHASE_RECENT] = (float)phases->call[i];
        phases->seconds[i] += phases->call[i];
        phases->call[i] = 0;
    }
    phases->current = -1;
    phases->calls++;
}

double fb_phases_median(const struct fb_phases *phases, int phase)
{
    double seconds[FB_PHASE_RECENT];
    int count = phases->calls < FB_PHASE_RECENT ? phases->calls : FB_PHASE_RECENT;
    for (int i = 0; i < count; i++)
        seconds[i] = (double)phases->recent[phase][i];
    return fb_stats_of(seconds, (size_t)count).median;
}
