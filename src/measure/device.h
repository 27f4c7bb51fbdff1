/* SPDX-License-Identifier: BSD-3-Clause
 *
 * device.h: where a variant runs: the host, or a CUDA device with its memory, stream, events and
 * meter. What the harness does with a case goes through this struct, so that nothing above it knows
 * CUDA. A device is opened at its first use and lives as long as the process.
 */
#ifndef FB_MEASURE_DEVICE_H
#define FB_MEASURE_DEVICE_H

#include "flashback.h"
#include "core/memory.h"
#include "measure/ceilings.h"
#include "measure/memory_host.h"
#include "measure/power.h"
#include "measure/rival.h"
#include "measure/timer.h"

struct fb_device {
    const char *kind; /* "cpu", "cuda" */
    int ordinal;      /* -1 on the CPU */
    void *stream;     /* what variants enqueue on */
    const struct fb_memory *memory;
    struct fb_timer timer;
    struct fb_power *power;              /* NULL: no meter */
    const struct fb_phase_clock *phases; /* NULL: phases are taken from the host's clock */
    /* Waits for what was enqueued. FB_DEVICE says what failed in it. */
    enum fb_status (*wait)(struct fb_device *device);
    uint64_t flush_bytes; /* of its memory that the flush buffer is still to take */
    /* The flush buffer of the process, made at the first call. FB_NO_MEMORY. */
    enum fb_status (*flush)(struct fb_device *device, struct fb_flush **flush);
    /* Ceilings for tensors of this type, measured at the first call for it. */
    enum fb_status (*ceilings)(struct fb_device *device, enum fb_dtype dtype, int threads,
                               const struct fb_ceilings **ceilings);
    /* The ceiling's GEMM as a call to be sampled in turn with the variants; without one (no BLAS,
     * no memory to spare) its call is NULL. */
    enum fb_status (*probe)(struct fb_device *device, enum fb_dtype dtype, int threads,
                            struct fb_gemm_probe *probe);
    /* A second load beside what is enqueued, until fb_rival_stop. */
    enum fb_status (*rival)(struct fb_device *device, struct fb_rival **rival);
};

/* Does it lie in the host's memory? */
static inline bool fb_device_is_host(const struct fb_device *device)
{
    return device->memory == &fb_memory_host;
}

#endif
