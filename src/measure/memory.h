/* SPDX-License-Identifier: BSD-3-Clause
 *
 * memory.h: memory of a process seen from outside it. The supervisor reads a worker's high-water
 * mark: before a case it resets the mark (which then equals the resident size), after it the mark
 * less the resident size from before is what the case really took, library allocations included.
 */
#ifndef FB_MEASURE_MEMORY_H
#define FB_MEASURE_MEMORY_H

#include <stdint.h>
#include <sys/types.h>

#include "flashback.h"

struct fb_process_memory {
    uint64_t resident; /* VmRSS, bytes */
    uint64_t peak;     /* VmHWM, bytes */
};

/* Of process pid (0: this one). FB_IO when it is gone or /proc cannot be read. */
enum fb_status fb_process_memory(pid_t pid, struct fb_process_memory *memory);

/* Sets the high-water mark of pid (0: this one) to its resident size. FB_IO where that is not
 * permitted; the peak then is that of the whole life of the process. */
enum fb_status fb_process_peak_reset(pid_t pid);

/* Bytes that can be allocated without swapping: MemAvailable, and less where a cgroup limits it; 0
 * if unknown. */
uint64_t fb_memory_available(void);
/* All memory: MemTotal or the cgroup's limit, whichever is less; 0 if unknown. */
uint64_t fb_memory_total(void);

#endif
