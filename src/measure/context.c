/* SPDX-License-Identifier: BSD-3-Clause */
#include "measure/context.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/status.h"
#include "measure/memory_host.h"
#include "measure/phases.h"

/* A block that a variant got by ctx->alloc. */
struct fb_own_block {
    struct fb_own_block *next;
    void *data;
    size_t bytes;
};

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
    struct fb_own_block *block = malloc(sizeof *block);
    if (!block)
        return NULL;
    if (host->memory->alloc(host->memory, bytes, &block->data) != FB_OK) {
        fb_status_clear(); /* the variant has its NULL to tell of */
        free(block);
        return NULL;
    }
    block->bytes = bytes;
    block->next = host->own;
    host->own = block;
    host->own_bytes += bytes;
    if (host->own_bytes > host->own_peak)
        host->own_peak = host->own_bytes;
    return block->data;
}

static void free_first(struct fb_host_context *host, struct fb_own_block **place)
{
    struct fb_own_block *block = *place;
    *place = block->next;
    host->own_bytes -= block->bytes;
    host->memory->free(host->memory, block->data);
    free(block);
}

static void free_own(struct fb_context *ctx, void *data)
{
    struct fb_own_block **place = &host_of(ctx)->own;
    while (*place && (*place)->data != data)
        place = &(*place)->next;
    if (*place)
        free_first(host_of(ctx), place);
}

void fb_host_context_free(struct fb_host_context *host)
{
    while (host->own)
        free_first(host, &host->own);
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
    host->memory = &fb_memory_host;
}

void fb_device_context_init(struct fb_host_context *host, int threads, int ordinal, void *stream,
                            const struct fb_memory *memory)
{
    fb_host_context_init(host, threads);
    host->ctx.device = ordinal;
    host->ctx.stream = stream;
    host->memory = memory;
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
