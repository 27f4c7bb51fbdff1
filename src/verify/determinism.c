/* SPDX-License-Identifier: BSD-3-Clause
 *
 * determinism.c: keeps the first run as a packed copy; hashes first, elements only where they
 * differ.
 */
#include "verify/determinism.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/half.h"
#include "core/problem.h"
#include "core/status.h"
#include "verify/hash.h"

/* Sums over the elements of one run against the first. */
struct difference {
    int64_t changed, max_ulp;
    double error, norm;
};

void fb_determinism_init(struct fb_determinism *d)
{
    memset(d, 0, sizeof *d);
}

void fb_determinism_free(struct fb_determinism *d)
{
    free(d->first);
    memset(d, 0, sizeof *d);
}

static uint32_t bits_of(const void *data, enum fb_dtype dtype, int64_t index)
{
    return dtype == FB_FP32 ? ((const uint32_t *)data)[index] : ((const uint16_t *)data)[index];
}

/* Bit patterns as integers that are ordered like the numbers, -0 and +0 in one place. */
static int64_t ordinal(uint32_t bits, enum fb_dtype dtype)
{
    int64_t sign = dtype == FB_FP32 ? 0x80000000 : 0x8000;
    int64_t magnitude = bits & (uint32_t)(sign - 1);
    return bits & (uint32_t)sign ? -magnitude : magnitude;
}

static void compare_element(struct difference *to, const void *first, int64_t n,
                            const struct fb_tensor *tensor, int64_t index)
{
    uint32_t a = bits_of(first, tensor->dtype, n);
    uint32_t b = bits_of(tensor->data, tensor->dtype, index);
    double x = fb_element_read(first, tensor->dtype, n);
    to->norm += x * x;
    if (a == b)
        return;
    double y = fb_element_read(tensor->data, tensor->dtype, index);
    int64_t ulp = llabs(ordinal(a, tensor->dtype) - ordinal(b, tensor->dtype));
    if (isnan(x) || isnan(y))
        ulp = INT64_MAX;
    to->changed++;
    to->max_ulp = ulp > to->max_ulp ? ulp : to->max_ulp;
    to->error += (x - y) * (x - y);
}

static void keep_row(struct fb_determinism *d, const struct fb_tensor *t, int64_t row)
{
    const size_t bytes = fb_dtype_bytes(t->dtype), width = (size_t)t->shape[3];
    const char *from = (const char *)t->data + (size_t)fb_tensor_row(t, row) * bytes;
    char *to = (char *)d->first + (size_t)row * width * bytes;
    if (t->stride[3] == 1) {
        memcpy(to, from, width * bytes);
        return;
    }
    for (int64_t c = 0; c < t->shape[3]; c++)
        memcpy(to + (size_t)c * bytes, from + c * t->stride[3] * (int64_t)bytes, bytes);
}

static struct difference compare_row(const struct fb_determinism *d, const struct fb_tensor *t,
                                     int64_t row)
{
    struct difference difference = {0};
    const int64_t at = fb_tensor_row(t, row);
    for (int64_t c = 0; c < t->shape[3]; c++)
        compare_element(&difference, d->first, row * t->shape[3] + c, t, at + c * t->stride[3]);
    return difference;
}

static int64_t rows_of(const struct fb_tensor *t)
{
    return t->shape[0] * t->shape[1] * t->shape[2];
}

/* Rows are compared by many threads and summed in their order. */
static struct difference compare(const struct fb_determinism *d, const struct fb_tensor *t)
{
    enum { SLAB = 4096 };
    struct difference all = {0}, part[SLAB];
    for (int64_t first = 0; first < rows_of(t); first += SLAB) {
        const int64_t count = rows_of(t) - first < SLAB ? rows_of(t) - first : SLAB;
#pragma omp parallel for schedule(static) if (count * t->shape[3] > 32768)
        for (int64_t r = 0; r < count; r++)
            part[r] = compare_row(d, t, first + r);
        for (int64_t r = 0; r < count; r++) {
            all.changed += part[r].changed;
            all.max_ulp = part[r].max_ulp > all.max_ulp ? part[r].max_ulp : all.max_ulp;
            all.error += part[r].error;
            all.norm += part[r].norm;
        }
    }
    return all;
}

static enum fb_status keep_first(struct fb_determinism *d, const struct fb_tensor *tensor)
{
    d->dtype = tensor->dtype;
    d->elements = tensor->shape[0] * tensor->shape[1] * tensor->shape[2] * tensor->shape[3];
    d->first = malloc((size_t)d->elements * fb_dtype_bytes(d->dtype) + 1);
    if (!d->first)
        return fb_fail(FB_NO_MEMORY, "no memory to keep a gradient for comparison");
    d->hash = fb_hash_tensor(tensor);
#pragma omp parallel for schedule(static) if (d->elements > 1 << 20)
    for (int64_t row = 0; row < rows_of(tensor); row++)
        keep_row(d, tensor, row);
    d->runs = 1;
    return FB_OK;
}

enum fb_status fb_determinism_add(struct fb_determinism *d, const struct fb_tensor *tensor)
{
    if (d->runs == 0)
        return keep_first(d, tensor);
    if (tensor->dtype != d->dtype ||
        d->elements != tensor->shape[0] * tensor->shape[1] * tensor->shape[2] * tensor->shape[3])
        return fb_fail(FB_USAGE, "runs of different shapes cannot be compared");
    d->runs++;
    if (fb_hash_tensor(tensor) == d->hash)
        return FB_OK;
    const struct difference difference = compare(d, tensor);
    double rel = difference.error == 0 ? 0 : sqrt(difference.error / difference.norm);
    if (isnan(rel))
        rel = INFINITY;
    d->differing++;
    d->changed = difference.changed > d->changed ? difference.changed : d->changed;
    d->max_ulp = difference.max_ulp > d->max_ulp ? difference.max_ulp : d->max_ulp;
    d->rel_l2 = rel > d->rel_l2 ? rel : d->rel_l2;
    return FB_OK;
}

void fb_determinism_add_same(struct fb_determinism *d)
{
    d->runs++;
}

/* Two addends commute. Of three in another order one fp32 sum in five differs, but after the
 * rounding to bf16 one in 60000. */
bool fb_determinism_meaningful(enum fb_dtype dtype, int64_t elements, int64_t key_tiles)
{
    return elements >= (dtype == FB_FP32 ? 10000 : 1000000) && key_tiles >= 3;
}
