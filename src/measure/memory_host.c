/* SPDX-License-Identifier: BSD-3-Clause
 *
 * memory_host.c: struct fb_memory of the host. Looks are taken by all threads.
 */
#include "measure/memory_host.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/mix.h"
#include "core/problem.h"
#include "core/tensor.h"
#include "measure/memory.h"
#include "measure/scaling_host.h"

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

/* What many threads take at a time. */
enum { PIECE = 1 << 16 };

static size_t pieces_of(size_t bytes)
{
    return (bytes + PIECE - 1) / PIECE;
}

static size_t piece_length(size_t bytes, size_t piece)
{
    const size_t rest = bytes - piece * PIECE;
    return rest < PIECE ? rest : PIECE;
}

static enum fb_status host_fill(const struct fb_memory *memory, void *to, int byte, size_t bytes)
{
    const size_t pieces = pieces_of(bytes);
    (void)memory;
#pragma omp parallel for schedule(static) if (pieces > 16)
    for (size_t i = 0; i < pieces; i++)
        memset((char *)to + i * PIECE, byte, piece_length(bytes, i));
    return FB_OK;
}

static uint64_t host_available(const struct fb_memory *memory)
{
    (void)memory;
    return fb_memory_available();
}

/* Four states take every fourth word, so that none waits for the one before. */
static uint64_t hash_piece(uint64_t seed, const unsigned char *piece, size_t length)
{
    enum { LANES = 4 };
    uint64_t state[LANES] = {seed, seed + 1, seed + 2, seed + 3}, word[LANES];
    size_t i = 0;
    for (; i + sizeof word <= length; i += sizeof word) {
        memcpy(word, piece + i, sizeof word);
        for (int lane = 0; lane < LANES; lane++)
            state[lane] = fb_mix(state[lane], word[lane]);
    }
    for (; i < length; i++)
        state[0] = fb_mix(state[0], piece[i]);
    return fb_mix(fb_mix(fb_mix(state[0], state[1]), state[2]), state[3]);
}

/* The hashes of pieces, hashed in their order. */
static enum fb_status host_hash(const struct fb_memory *memory, const void *from, size_t bytes,
                                uint64_t *out)
{
    enum { SLAB = 1 << 10 };
    const size_t pieces = pieces_of(bytes);
    uint64_t hash[SLAB];
    (void)memory;
    *out = 0x243F6A8885A308D3u;
    for (size_t first = 0; first < pieces; first += SLAB) {
        const size_t count = pieces - first < SLAB ? pieces - first : SLAB;
#pragma omp parallel for schedule(static) if (count > 1)
        for (size_t i = 0; i < count; i++)
            hash[i] = hash_piece(first + i, (const unsigned char *)from + (first + i) * PIECE,
                                 piece_length(bytes, first + i));
        for (size_t i = 0; i < count; i++)
            *out = fb_mix(*out, hash[i]);
    }
    return FB_OK;
}

/* The first of `count` elements, `stride` apart, whose bits are all ones; count where none is. */
static int64_t ones_of_16(const uint16_t *row, int64_t stride, int64_t count)
{
    int64_t c = 0;
    while (c < count && row[c * stride] != UINT16_MAX)
        c++;
    return c;
}

static int64_t ones_of_32(const uint32_t *row, int64_t stride, int64_t count)
{
    int64_t c = 0;
    while (c < count && row[c * stride] != UINT32_MAX)
        c++;
    return c;
}

static enum fb_status host_find_ones(const struct fb_memory *memory, const struct fb_tensor *t,
                                     int64_t *first)
{
    const int64_t rows = t->shape[0] * t->shape[1] * t->shape[2], width = t->shape[3];
    int64_t found = INT64_MAX;
    (void)memory;
#pragma omp parallel for schedule(static) reduction(min : found) if (rows * width > 32768)
    for (int64_t r = 0; r < rows; r++) {
        const int64_t at = fb_tensor_row(t, r);
        const int64_t column =
            fb_dtype_bytes(t->dtype) == 4
                ? ones_of_32((const uint32_t *)t->data + at, t->stride[3], width)
                : ones_of_16((const uint16_t *)t->data + at, t->stride[3], width);
        if (column < width && r * width + column < found)
            found = r * width + column;
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
                                         .find_ones = host_find_ones,
                                         .scale = fb_host_scale,
                                         .compare = fb_host_compare};
