/* SPDX-License-Identifier: BSD-3-Clause
 *
 * context.h: the struct fb_context that a variant sees when it runs on the CPU.
 */
#ifndef FB_MEASURE_CONTEXT_H
#define FB_MEASURE_CONTEXT_H

#include <stddef.h>
#include <stdint.h>

#include "flashback.h"
#include "measure/timer.h"

struct fb_host_context {
    struct fb_context ctx;    /* hand &host.ctx to the variant */
    struct fb_phases *phases; /* NULL: phases are not asked for */
    uint64_t own_bytes;       /* held through ctx->alloc now */
    uint64_t own_peak;        /* the most of it */
    char explanation[256];    /* the last ctx->explain line, "" if none */
};

void fb_host_context_init(struct fb_host_context *host, int threads);

/* After a failed call: records the variant's line (or its status) as the failure's message. */
enum fb_status fb_host_context_fail(struct fb_host_context *host, enum fb_status status,
                                    const char *what);

#endif
