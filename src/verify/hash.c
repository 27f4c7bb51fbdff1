/* SPDX-License-Identifier: BSD-3-Clause
 *
 * hash.c: a multiply-and-shift hash over the bit patterns, element by element in logical order.
 */
#include "verify/hash.h"

#include <string.h>

/* FNV-1a over whole words would barely mix short patterns; a multiply and a shift a word does. */
static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
    return hash ^ hash >> 29;
}

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

uint64_t fb_hash_tensor(const struct fb_tensor *tensor)
{
    const int64_t *shape = tensor->shape, *stride = tensor->stride;
    uint64_t hash = mix(0x666C6173686261u, (uint64_t)tensor->dtype);
    for (int axis = 0; axis < 4; axis++)
        hash = mix(hash, (uint64_t)shape[axis]);
    for (int64_t b = 0; b < shape[0]; b++)
        for (int64_t h = 0; h < shape[1]; h++)
            for (int64_t n = 0; n < shape[2]; n++)
                for (int64_t d = 0; d < shape[3]; d++)
                    hash = mix(hash, bits_at(tensor, b * stride[0] + h * stride[1] + n * stride[2] +
                                                         d * stride[3]));
    return mix(hash, 0) ^ hash >> 32;
}
