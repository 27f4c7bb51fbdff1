/* SPDX-License-Identifier: BSD-3-Clause
 *
 * memory.h: memory as the harness reaches it, be it the host's or a device's.
 */
#ifndef FB_CORE_MEMORY_H
#define FB_CORE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "flashback.h"

/* A factor for each key head of each batch entry; `value` lies in the memory of what it is for. */
struct fb_factors {
    const float *value; /* [b, hk]; NULL: 1 throughout */
    int64_t b, hk;
};

/* The factor's index for head `head` of entry `entry` of a tensor of this shape; a dimension that
 * is shared has one index. */
static inline int64_t fb_factor_index(const struct fb_factors *factors, const int64_t shape[4],
                                      int64_t entry, int64_t head)
{
    return (shape[0] == 1 ? 0 : entry) * factors->hk + head * factors->hk / shape[1];
}

/* How far the results of a call are from others, each divided by its factor. */
struct fb_difference {
    int64_t count; /* elements that are not the same number */
    double square; /* sum of the squares of what they are apart; not finite where one is not finite
                      and the other is */
    double worst;  /* the most they are apart */
};

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
    /* to = from times the factors. Each element of `to` is written once, also where it stands for
     * many (stride 0). Done when the stream is, as fill is. */
    enum fb_status (*scale)(const struct fb_memory *memory, const struct fb_tensor *to,
                            const struct fb_tensor *from, const struct fb_factors *factors);
    /* What `got`, each element divided by its factor, is away from `base`. */
    enum fb_status (*compare)(const struct fb_memory *memory, const struct fb_tensor *got,
                              const struct fb_tensor *base, const struct fb_factors *factors,
                              struct fb_difference *difference);
    void *own; /* of the implementation, a stream say */
};

#endif
