/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/processors.h"

#include <math.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Processors that a cgroup quota allows, rounded up; 0 without a quota. */
static int quota_cpus(void)
{
    char line[64], *end;
    FILE *file = fopen("/sys/fs/cgroup/cpu.max", "r");
    bool read = file && fgets(line, sizeof line, file);
    if (file)
        fclose(file);
    if (!read)
        return 0;
    double quota = strtod(line, &end), period = strtod(end, NULL);
    return end != line && period > 0 ? (int)ceil(quota / period) : 0;
}

int fb_processors(void)
{
    cpu_set_t set;
    int cpus = sched_getaffinity(0, sizeof set, &set) ? (int)sysconf(_SC_NPROCESSORS_ONLN)
                                                      : CPU_COUNT(&set);
    int quota = quota_cpus();
    if (quota > 0 && quota < cpus)
        cpus = quota;
    return cpus > 0 ? cpus : 1;
}
