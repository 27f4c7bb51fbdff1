/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/host/processors.h"

#include <math.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool read_line(const char *path, char *line, size_t size)
{
    FILE *file = fopen(path, "r");
    bool read = file && fgets(line, (int)size, file);
    if (file)
        fclose(file);
    if (read)
        line[strcspn(line, "\n")] = '\0';
    return read && *line;
}

/* Processors that a cgroup quota allows, rounded up; 0 without a quota. */
static int quota_cpus(void)
{
    char line[64], *end;
    if (!read_line("/sys/fs/cgroup/cpu.max", line, sizeof line))
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

uint64_t fb_cache_bytes(int level)
{
    char path[128], text[64];
    for (int index = 0; index < 8; index++) {
        const char *base = "/sys/devices/system/cpu/cpu0/cache/index";
        snprintf(path, sizeof path, "%s%d/level", base, index);
        if (!read_line(path, text, sizeof text) || atoi(text) != level)
            continue;
        snprintf(path, sizeof path, "%s%d/type", base, index);
        if (!read_line(path, text, sizeof text) || !strcmp(text, "Instruction"))
            continue;
        snprintf(path, sizeof path, "%s%d/size", base, index);
        if (!read_line(path, text, sizeof text))
            continue;
        char *unit;
        uint64_t size = strtoull(text, &unit, 10);
        return *unit == 'K' ? size << 10 : *unit == 'M' ? size << 20 : size;
    }
    return 0;
}
