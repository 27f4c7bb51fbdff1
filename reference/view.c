/* SPDX-License-Identifier: BSD-3-Clause
 *
 * view.c: reading tensors of any type and stride as doubles, and rounding doubles to shorter
 * types. Written apart from the harness's conversions on purpose.
 */
#include <math.h>
#include <string.h>

#include "reference/internal.h"

struct fb_ref_view fb_ref_view_tensor(const struct fb_tensor *tensor)
{
    struct fb_ref_view view = {.data = tensor->data, .type = (enum fb_ref_type)tensor->dtype};
    memcpy(view.shape, tensor->shape, sizeof view.shape);
    memcpy(view.stride, tensor->stride, sizeof view.stride);
    return view;
}

struct fb_ref_view fb_ref_view_array(const double *data, int64_t b, int64_t h, int64_t n, int64_t d)
{
    struct fb_ref_view view = {.data = data,
                               .type = FB_REF_FP64,
                               .shape = {b, h, n, d},
                               .stride = {h * n * d, n * d, d, 1}};
    return view;
}

void fb_ref_inputs_from_args(struct fb_ref_inputs *inputs, const struct fb_args *args)
{
    *inputs = (struct fb_ref_inputs){.problem = args->problem,
                                     .q = fb_ref_view_tensor(&args->q),
                                     .k = fb_ref_view_tensor(&args->k),
                                     .v = fb_ref_view_tensor(&args->v),
                                     .dout = fb_ref_view_tensor(&args->dout),
                                     .dlse = fb_ref_view_tensor(&args->dlse),
                                     .bias = fb_ref_view_tensor(&args->bias),
                                     .sink = fb_ref_view_tensor(&args->sink),
                                     .alibi = fb_ref_view_tensor(&args->alibi),
                                     .cu_qlens = args->cu_qlens,
                                     .cu_klens = args->cu_klens};
}

/* bf16 is the upper half of fp32. */
static double bf16_value(uint16_t bits)
{
    uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof value);
    return value;
}

/* fp16: sign, 5 bits of exponent with bias 15, 10 bits of fraction. */
static double fp16_value(uint16_t bits)
{
    int exponent = bits >> 10 & 31;
    int fraction = bits & 1023;
    double magnitude;
    if (exponent == 31)
        magnitude = fraction ? NAN : INFINITY;
    else if (exponent == 0)
        magnitude = ldexp(fraction, -24);
    else
        magnitude = ldexp(1024 + fraction, exponent - 25);
    return bits & 0x8000 ? -magnitude : magnitude;
}

double fb_ref_read(const struct fb_ref_view *view, int64_t b, int64_t h, int64_t n, int64_t d)
{
    int64_t at =
        b * view->stride[0] + h * view->stride[1] + n * view->stride[2] + d * view->stride[3];
    switch (view->type) {
    case FB_REF_FP32:
        return ((const float *)view->data)[at];
    case FB_REF_BF16:
        return bf16_value(((const uint16_t *)view->data)[at]);
    case FB_REF_FP16:
        return fp16_value(((const uint16_t *)view->data)[at]);
    case FB_REF_FP64:
        break;
    }
    return ((const double *)view->data)[at];
}

void fb_ref_gather(const struct fb_ref_view *view, int64_t b, int64_t h, int64_t first,
                   int64_t rows, int64_t width, double *out)
{
    for (int64_t n = 0; n < rows; n++)
        for (int64_t d = 0; d < width; d++)
            out[n * width + d] = fb_ref_read(view, b, h, first + n, d);
}

/* Keeps `bits` significant bits of x, to nearest even; exponents are those of a double. */
static double keep_bits(double x, int bits)
{
    uint64_t pattern;
    memcpy(&pattern, &x, sizeof pattern);
    int drop = 53 - bits;
    uint64_t odd = pattern >> drop & 1;
    pattern += ((uint64_t)1 << (drop - 1)) - 1 + odd;
    pattern &= ~(((uint64_t)1 << drop) - 1);
    memcpy(&x, &pattern, sizeof x);
    return x;
}

/* Below 2^-14 fp16 has a fixed spacing of 2^-24; above 65504 it has nothing but infinity. */
static double round_fp16(double x)
{
    if (fabs(x) < 0x1p-14)
        return nearbyint(x * 0x1p24) * 0x1p-24;
    double rounded = keep_bits(x, 11);
    return fabs(rounded) > 65504 ? copysign(INFINITY, x) : rounded;
}

double fb_ref_round(enum fb_ref_cast cast, double x)
{
    if (!isfinite(x))
        return x;
    switch (cast) {
    case FB_REF_TO_FP32:
        return (float)x;
    case FB_REF_TO_BF16:
        return keep_bits(x, 8);
    case FB_REF_TO_FP16:
        return round_fp16(x);
    case FB_REF_EXACT:
        break;
    }
    return x;
}
