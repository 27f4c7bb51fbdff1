/* SPDX-License-Identifier: BSD-3-Clause
 *
 * memory_host.c: struct fb_memory of the host. Looks are taken by all threads.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/problem.h"
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

/* Eight bytes a step, each step a bijection of the state: any single change is seen. */
static uint64_t hash_piece(uint64_t hash, const unsigned char *piece, size_t length)
{
    size_t i = 0;
    for (; i + 8 <= length; i += 8) {
        uint64_t word;
        memcpy(&word, piece + i, 8);
        hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
        hash ^= hash >> 29;
    }
    for (; i < length; i++)
        hash = (hash ^ piece[i]) * 0x9E3779B97F4A7C15u;
    return hash;
}

/* The hashes of pieces, hashed in their order. */
static enum fb_status host_hash(const struct fb_memory *memory, const void *from, size_t bytes,
                                uint64_t *out)
{
    enum { PIECE = 1 << 16, SLAB = 1 << 10 };
    const unsigned char *data = from;
    uint64_t piece[SLAB];
    (void)memory;
    *out = 0x243F6A8885A308D3u;
    for (size_t done = 0; done < bytes; done += (size_t)PIECE * SLAB) {
        const size_t rest = bytes - done, pieces = (rest + PIECE - 1) / PIECE;
        const size_t count = pieces < SLAB ? pieces : SLAB;
#pragma omp parallel for schedule(static) if (count > 1)
        for (size_t i = 0; i < count; i++) {
            const size_t at = i * PIECE, length = rest - at < PIECE ? rest - at : PIECE;
            piece[i] = hash_piece(i, data + done + at, length);
        }
        *out = hash_piece(*out, (const unsigned char *)piece, count * sizeof *piece);
    }
    return FB_OK;
}

static bool is_ones(const unsigned char *element, size_t size)
{
    bool ones = true;
    for (size_t i = 0; i < size; i++)
        ones &= element[i] == 0xff;
    return ones;
}

static enum fb_status host_find_ones(const struct fb_memory *memory, const struct fb_tensor *t,
                                     int64_t *first)
{
    const int64_t rows = t->shape[0] * t->shape[1] * t->shape[2], width = t->shape[3];
    const int64_t size = (int64_t)fb_dtype_bytes(t->dtype);
    int64_t found = INT64_MAX;
    (void)memory;
#pragma omp parallel for schedule(static) reduction(min : found) if (rows * width > 32768)
    for (int64_t r = 0; r < rows; r++) {
        const unsigned char *row = (const unsigned char *)t->data + fb_tensor_row(t, r) * size;
        for (int64_t c = 0; c < width && r * width + c < found; c++)
            if (is_ones(row + c * t->stride[3] * size, (size_t)size))
                found = r * width + c;
    }
    *first = found == INT64_MAX ? -1 : found;
    return FB_OK;
}

const struct fb_memory fb_memory_host = {.name = "host",
                                         .alloc = host_alloc,
                                         .free = host_free,
                                         .write = host_copy,
                                         .read = host_copy,
                                         .fill = host_fill,
                                         .available = host_available,
                                         .hash = host_hash,
                                         .find_ones = host_find_ones};
