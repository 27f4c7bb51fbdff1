/* SPDX-License-Identifier: BSD-3-Clause */
#include "data/scaling.h"

#include <math.h>
#include <stdlib.h>

#include "data/philox.h"
#include "core/status.h"

/* bf16 and fp32 reach from 1e-38 to 1e38: six steps either way leave room for sums. In fp16, be it
 * the type or an accumulator's, a sum may already stand at an end: signs alone. */
static int steps_of(enum fb_dtype dtype, const struct fb_numerics *numerics, double largest)
{
    const bool half =
        dtype == FB_FP16 || numerics->dkv == FB_ACC_FP16 || numerics->dq == FB_ACC_FP16;
    return !half && largest < 1e30 && largest > 1e-20 ? 6 : 0;
}

enum fb_status fb_scaling_make(struct fb_scaling *scaling, const struct fb_memory *memory,
                               const struct fb_problem *p, const struct fb_numerics *numerics,
                               double largest, uint64_t seed)
{
    const bool packed = p->qlens || p->klens, one_row = p->layout == FB_LAYOUT_EXPANDED_DOUT;
    enum fb_status status;
    void *value = NULL;
    *scaling = (struct fb_scaling){
        .memory = memory,
        .b = packed || p->b < 1 ? 1 : p->b,
        .hk = p->hk,
        .one_b = one_row || p->sink || p->bias == FB_BIAS_HEAD || p->bias == FB_BIAS_ALL,
        .one_h = one_row || p->bias == FB_BIAS_BATCH || p->bias == FB_BIAS_ALL,
        .steps = steps_of(p->dtype, numerics, largest),
        .seed = seed,
    };
    const size_t bytes = (size_t)(scaling->b * scaling->hk) * sizeof *scaling->host;
    scaling->host = malloc(bytes);
    status = scaling->host ? memory->alloc(memory, bytes, &value)
                           : fb_fail(FB_NO_MEMORY, "no memory for factors");
    scaling->value = value;
    if (status != FB_OK)
        fb_scaling_free(scaling);
    return status;
}

void fb_scaling_free(struct fb_scaling *scaling)
{
    free(scaling->host);
    if (scaling->value)
        scaling->memory->free(scaling->memory, scaling->value);
    *scaling = (struct fb_scaling){0};
}

static float draw(const struct fb_scaling *s, uint64_t number, int64_t entry, int64_t head)
{
    const uint64_t at = (uint64_t)((s->one_b ? 0 : entry) * s->hk + (s->one_h ? 0 : head));
    const uint32_t counter[4] = {(uint32_t)number, (uint32_t)(number >> 32), (uint32_t)at,
                                 (uint32_t)(at >> 32)};
    uint32_t random[4];
    fb_philox(s->seed, counter, random);
    const int exponent = (int)(random[0] % (uint32_t)(2 * s->steps + 1)) - s->steps;
    return ldexpf(random[1] & 1 ? -1 : 1, exponent);
}

enum fb_status fb_scaling_draw(struct fb_scaling *scaling, uint64_t number)
{
    const int64_t count = scaling->b * scaling->hk;
    for (int64_t i = 0; i < count; i++)
        scaling->host[i] = draw(scaling, number, i / scaling->hk, i % scaling->hk);
    return scaling->memory->write(scaling->memory, scaling->value, scaling->host,
                                  (size_t)count * sizeof *scaling->host);
}

struct fb_factors fb_scaling_factors(const struct fb_scaling *scaling)
{
    return (struct fb_factors){scaling->value, scaling->b, scaling->hk};
}
