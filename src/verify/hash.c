/* SPDX-License-Identifier: BSD-3-Clause
 *
 * hash.c: a multiply-and-shift hash over the bit patterns of a row, and over the hashes of the
 * rows, both in logical order: rows can be taken by many threads.
 */
#include "verify/hash.h"

#include <string.h>

#include "core/mix.h"
#include "core/problem.h"

static uint64_t bits_at(const struct fb_tensor *tensor, int64_t index)
{
    if (tensor->dtype == FB_FP32) {
        uint32_t bits;
        memcpy(&bits, (const char *)tensor->data + 4 * index, sizeof bits);
        return bits;
    }
    uint16_t bits;
    memcpy(&bits, (const char *)tensor->data + 2 * index, sizeof bits);
    return bits;
}

uint64_t fb_hash_row(const struct fb_tensor *t, int64_t row, uint64_t before)
{
    int64_t at = fb_tensor_row(t, row);
    uint64_t hash = 0x726F77u ^ before;
    for (int64_t d = 0; d < t->shape[3]; d++, at += t->stride[3])
        hash = fb_mix(hash, bits_at(t, at));
    return hash;
}

uint64_t fb_hash_tensor(const struct fb_tensor *tensor)
{
    enum { SLAB = 8192 }; /* rows whose hashes are held at a time */
    const int64_t rows = tensor->shape[0] * tensor->shape[1] * tensor->shape[2];
    uint64_t hash = fb_mix(0x666C6173686261u, (uint64_t)tensor->dtype), part[SLAB];
    for (int axis = 0; axis < 4; axis++)
        hash = fb_mix(hash, (uint64_t)tensor->shape[axis]);
    for (int64_t first = 0; first < rows; first += SLAB) {
        const int64_t count = rows - first < SLAB ? rows - first : SLAB;
#pragma omp parallel for schedule(static) if (count * tensor->shape[3] > 32768)
        for (int64_t r = 0; r < count; r++)
            part[r] = fb_hash_row(tensor, first + r, 0);
        for (int64_t r = 0; r < count; r++)
            hash = fb_mix(hash, part[r]);
    }
    return fb_mix(hash, 0) ^ hash >> 32;
}
