/* SPDX-License-Identifier: BSD-3-Clause
 *
 * memory.h: memory as the harness reaches it, be it the host's or a device's.
 */
#ifndef FB_CORE_MEMORY_H
#define FB_CORE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "flashback.h"

/* Where buffers lie. read and write move bytes between that memory and the host's. */
struct fb_memory {
    const char *name;                                                                  /* "host" */
    enum fb_status (*alloc)(const struct fb_memory *memory, size_t bytes, void **out); /* 256 B */
    void (*free)(const struct fb_memory *memory, void *data);
    enum fb_status (*write)(const struct fb_memory *memory, void *to, const void *from,
                            size_t bytes);
    enum fb_status (*read)(const struct fb_memory *memory, void *to, const void *from,
                           size_t bytes);
    enum fb_status (*fill)(const struct fb_memory *memory, void *to, int byte, size_t bytes);
    /* Bytes that can be allocated now, 0 if unknown. */
    uint64_t (*available)(const struct fb_memory *memory);
    /* Looks, taken where the bytes lie. A number that any change of a byte changes; and the least
     * index, over [b, h, n, c], of an element whose bits are all ones, -1 if there is none. */
    enum fb_status (*hash)(const struct fb_memory *memory, const void *from, size_t bytes,
                           uint64_t *out);
    enum fb_status (*find_ones)(const struct fb_memory *memory, const struct fb_tensor *tensor,
                                int64_t *first);
    void *own; /* of the implementation, a stream say */
};

#endif
