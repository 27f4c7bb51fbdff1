/* SPDX-License-Identifier: BSD-3-Clause
 *
 * context.h: the struct fb_context that a variant sees.
 */
#ifndef FB_MEASURE_CONTEXT_H
#define FB_MEASURE_CONTEXT_H

#include <stddef.h>
#include <stdint.h>

#include "flashback.h"
#include "core/memory.h"
#include "measure/timer.h"

struct fb_own_block;

struct fb_host_context {
    struct fb_context ctx;          /* hand &host.ctx to the variant */
    const struct fb_memory *memory; /* what ctx->alloc takes from */
    struct fb_own_block *own;       /* what the variant holds */
    struct fb_phases *phases;       /* NULL: phases are not asked for */
    uint64_t own_bytes;             /* held through ctx->alloc now */
    uint64_t own_peak;              /* the most of it */
    char explanation[256];          /* the last ctx->explain line, "" if none */
};

void fb_host_context_init(struct fb_host_context *host, int threads);

/* The same on a device: its ordinal, stream and memory. */
void fb_device_context_init(struct fb_host_context *host, int threads, int ordinal, void *stream,
                            const struct fb_memory *memory);

/* Frees what the variant has not freed itself. */
void fb_host_context_free(struct fb_host_context *host);

/* After a failed call: records the variant's line (or its status) as the failure's message. */
enum fb_status fb_host_context_fail(struct fb_host_context *host, enum fb_status status,
                                    const char *what);

#endif
