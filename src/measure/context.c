/* SPDX-License-Identifier: BSD-3-Clause */
#include "measure/context.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/status.h"

/* Before each block that a variant gets by ctx->alloc: its size, at the distance that keeps the
 * block aligned for any vector. */
enum { HEADER = 256 };

static struct fb_host_context *host_of(struct fb_context *ctx)
{
    return ctx->harness;
}

static void begin_phase(struct fb_context *ctx, const char *name)
{
    if (host_of(ctx)->phases)
        fb_phases_begin(host_of(ctx)->phases, name);
}

static void *alloc_own(struct fb_context *ctx, size_t bytes)
{
    struct fb_host_context *host = host_of(ctx);
    void *memory = NULL;
    if (bytes > SIZE_MAX - HEADER || posix_memalign(&memory, HEADER, bytes + HEADER))
        return NULL;
    *(size_t *)memory = bytes;
    host->own_bytes += bytes;
    if (host->own_bytes > host->own_peak)
        host->own_peak = host->own_bytes;
    return (char *)memory + HEADER;
}

static void free_own(struct fb_context *ctx, void *data)
{
    if (!data)
        return;
    void *memory = (char *)data - HEADER;
    host_of(ctx)->own_bytes -= *(size_t *)memory;
    free(memory);
}

static void explain(struct fb_context *ctx, const char *format, ...)
{
    struct fb_host_context *host = host_of(ctx);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(host->explanation, sizeof host->explanation, format, arguments);
    va_end(arguments);
}

void fb_host_context_init(struct fb_host_context *host, int threads)
{
    *host = (struct fb_host_context){.ctx = {.abi_version = FB_ABI_VERSION,
                                             .struct_size = sizeof(struct fb_context),
                                             .threads = threads,
                                             .device = -1,
                                             .phase = begin_phase,
                                             .alloc = alloc_own,
                                             .free = free_own,
                                             .explain = explain}};
    host->ctx.harness = host;
}

enum fb_status fb_host_context_fail(struct fb_host_context *host, enum fb_status status,
                                    const char *what)
{
    if (!*host->explanation)
        return fb_fail(status, "%s: the variant returned '%s'", what, fb_status_name(status));
    fb_fail(status, "%s: %s", what, host->explanation);
    host->explanation[0] = '\0'; /* it was for this failure */
    return status;
}
