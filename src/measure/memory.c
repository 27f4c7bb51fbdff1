/* SPDX-License-Identifier: BSD-3-Clause */
#include "measure/memory.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/status.h"

static pid_t pid_of(pid_t pid)
{
    return pid ? pid : getpid();
}

/* The number after `key` in a file of lines "Key:  123 kB", in bytes; false if it is not there. */
static bool read_kilobytes(const char *path, const char *key, uint64_t *bytes)
{
    char line[256];
    bool found = false;
    FILE *file = fopen(path, "r");
    if (!file)
        return false;
    while (!found && fgets(line, sizeof line, file)) {
        uint64_t kilobytes;
        size_t length = strlen(key);
        if (!strncmp(line, key, length) && line[length] == ':' &&
            sscanf(line + length + 1, "%" SCNu64, &kilobytes) == 1) {
            *bytes = kilobytes * 1024;
            found = true;
        }
    }
    fclose(file);
    return found;
}

enum fb_status fb_process_memory(pid_t pid, struct fb_process_memory *memory)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid_of(pid));
    if (!read_kilobytes(path, "VmRSS", &memory->resident) ||
        !read_kilobytes(path, "VmHWM", &memory->peak))
        return fb_fail(FB_IO, "cannot read the memory of process %d from %s", (int)pid_of(pid),
                       path);
    return FB_OK;
}

/* Writing 5 to clear_refs resets VmHWM (proc(5)); it needs a kernel with CONFIG_PROC_PAGE_MONITOR.
 */
enum fb_status fb_process_peak_reset(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/clear_refs", (int)pid_of(pid));
    FILE *file = fopen(path, "w");
    bool written = file && fputs("5", file) >= 0;
    if (file && fclose(file))
        written = false;
    if (!written)
        return fb_fail(FB_IO, "cannot reset the memory peak of process %d: %s: %s",
                       (int)pid_of(pid), path, strerror(errno));
    return FB_OK;
}

/* A file that holds one number; false if it is not there or says "max". */
static bool read_number(const char *path, uint64_t *number)
{
    FILE *file = fopen(path, "r");
    if (!file)
        return false;
    bool found = fscanf(file, "%" SCNu64, number) == 1;
    fclose(file);
    return found;
}

/* Bytes of the page cache that a cgroup would give back, 0 if unknown. */
static uint64_t read_cached(const char *path, const char *key)
{
    char line[128];
    uint64_t bytes = 0;
    FILE *file = fopen(path, "r");
    while (file && !bytes && fgets(line, sizeof line, file))
        if (!strncmp(line, key, strlen(key)) && line[strlen(key)] == ' ')
            bytes = strtoull(line + strlen(key), NULL, 10);
    if (file)
        fclose(file);
    return bytes;
}

/* Limit and use of the cgroup of this process as a container sees it, version 2 or 1. */
static bool read_cgroup(uint64_t *limit, uint64_t *used)
{
    if (read_number("/sys/fs/cgroup/memory.max", limit))
        return read_number("/sys/fs/cgroup/memory.current", used);
    return read_number("/sys/fs/cgroup/memory/memory.limit_in_bytes", limit) &&
           read_number("/sys/fs/cgroup/memory/memory.usage_in_bytes", used);
}

uint64_t fb_memory_available(void)
{
    uint64_t available, limit, used;
    if (!read_kilobytes("/proc/meminfo", "MemAvailable", &available))
        return 0;
    if (read_cgroup(&limit, &used)) {
        uint64_t cached = read_cached("/sys/fs/cgroup/memory.stat", "inactive_file");
        if (!cached)
            cached = read_cached("/sys/fs/cgroup/memory/memory.stat", "total_inactive_file");
        used = used > cached ? used - cached : 0;
        uint64_t left = limit > used ? limit - used : 0;
        available = left < available ? left : available;
    }
    return available;
}

uint64_t fb_memory_total(void)
{
    uint64_t total, limit, used;
    if (!read_kilobytes("/proc/meminfo", "MemTotal", &total))
        return 0;
    return read_cgroup(&limit, &used) && limit < total ? limit : total;
}
