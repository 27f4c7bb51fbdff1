/* SPDX-License-Identifier: BSD-3-Clause
 *
 * memory_host.c: struct fb_memory of the host.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "measure/buffers.h"
#include "measure/memory.h"

static enum fb_status host_alloc(const struct fb_memory *memory, size_t bytes, void **out)
{
    (void)memory;
    if (bytes > PTRDIFF_MAX) /* asking would be a fault in itself */
        return FB_NO_MEMORY;
    return posix_memalign(out, 256, bytes ? bytes : 1) ? FB_NO_MEMORY : FB_OK;
}

static void host_free(const struct fb_memory *memory, void *data)
{
    (void)memory;
    free(data);
}

static enum fb_status host_copy(const struct fb_memory *memory, void *to, const void *from,
                                size_t bytes)
{
    (void)memory;
    if (bytes)
        memcpy(to, from, bytes);
    return FB_OK;
}

static enum fb_status host_fill(const struct fb_memory *memory, void *to, int byte, size_t bytes)
{
    (void)memory;
    memset(to, byte, bytes);
    return FB_OK;
}

static uint64_t host_available(const struct fb_memory *memory)
{
    (void)memory;
    return fb_memory_available();
}

const struct fb_memory fb_memory_host = {.name = "host",
                                         .alloc = host_alloc,
                                         .free = host_free,
                                         .write = host_copy,
                                         .read = host_copy,
                                         .fill = host_fill,
                                         .available = host_available};
