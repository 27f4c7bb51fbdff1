/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/half.h"

#include <string.h>

/* A 16-bit format: one sign bit, `exponent` and `mantissa` bits that sum to 15. */
struct format {
    int exponent, mantissa;
};

static const struct format bf16 = {8, 7}, fp16 = {5, 10};

enum { DOUBLE_MANTISSA = 52, DOUBLE_BIAS = 1023 };

/* The most significant bits of a significand after `shift` bits are cut, to nearest even. */
static uint64_t round_shift(uint64_t significand, int shift)
{
    if (shift > DOUBLE_MANTISSA + 2)
        return 0;
    uint64_t kept = significand >> shift;
    uint64_t rest = significand & ((UINT64_C(1) << shift) - 1);
    uint64_t half = UINT64_C(1) << (shift - 1);
    return kept + (rest > half || (rest == half && (kept & 1)));
}

/* A finite double's magnitude. A carry out of the mantissa moves into the exponent by itself,
 * because kept includes the hidden bit and biased - 1 makes room for it. */
static uint16_t narrow_magnitude(uint64_t magnitude, struct format to)
{
    uint64_t infinity = ((UINT64_C(1) << to.exponent) - 1) << to.mantissa;
    int64_t biased =
        (int64_t)(magnitude >> DOUBLE_MANTISSA) - DOUBLE_BIAS + (1 << (to.exponent - 1)) - 1;
    uint64_t hidden = UINT64_C(1) << DOUBLE_MANTISSA;
    uint64_t significand = (magnitude & (hidden - 1)) | hidden;
    int shift = DOUBLE_MANTISSA - to.mantissa;

    if (magnitude < hidden) /* zero or a subnormal double, below half of any 16-bit subnormal */
        return 0;
    if (biased <= 0)
        return (uint16_t)(biased < -64 ? 0 : round_shift(significand, shift + 1 - (int)biased));
    uint64_t bits = ((uint64_t)(biased - 1) << to.mantissa) + round_shift(significand, shift);
    return (uint16_t)(bits < infinity ? bits : infinity);
}

static uint16_t narrow(double value, struct format to)
{
    uint64_t bits, infinity = UINT64_C(0x7ff) << DOUBLE_MANTISSA;
    memcpy(&bits, &value, sizeof bits);
    uint16_t sign = (uint16_t)(bits >> 63 << 15);
    uint64_t magnitude = bits & ~(UINT64_C(1) << 63);
    if (magnitude > infinity) /* NaN: quiet, whatever the payload was */
        return (uint16_t)(sign | (0x7fff >> to.mantissa << to.mantissa) | 1 << (to.mantissa - 1));
    if (magnitude == infinity)
        return (uint16_t)(sign | (0x7fff >> to.mantissa << to.mantissa));
    return sign | narrow_magnitude(magnitude, to);
}

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

float fb_bf16_to_float(uint16_t bits)
{
    return float_of((uint32_t)bits << 16);
}

float fb_fp16_to_float(uint16_t bits)
{
    uint32_t sign = (uint32_t)(bits & 0x8000) << 16;
    uint32_t exponent = bits >> 10 & 0x1f, mantissa = bits & 0x3ff;
    if (exponent == 0) { /* subnormal: a whole number of 2^-24 */
        float magnitude = (float)mantissa * 0x1p-24f;
        return sign ? -magnitude : magnitude;
    }
    if (exponent == 0x1f)
        return float_of(sign | 0x7f800000u | mantissa << 13);
    return float_of(sign | (exponent + 127 - 15) << 23 | mantissa << 13);
}

uint16_t fb_double_to_bf16(double value)
{
    return narrow(value, bf16);
}

uint16_t fb_double_to_fp16(double value)
{
    return narrow(value, fp16);
}

double fb_element_read(const void *data, enum fb_dtype dtype, int64_t index)
{
    switch (dtype) {
    case FB_BF16:
        return (double)fb_bf16_to_float(((const uint16_t *)data)[index]);
    case FB_FP16:
        return (double)fb_fp16_to_float(((const uint16_t *)data)[index]);
    default:
        return (double)((const float *)data)[index];
    }
}

void fb_elements_read(double *to, const void *data, enum fb_dtype dtype, int64_t index,
                      int64_t stride, int64_t count)
{
    const uint16_t *half = data;
    const float *single = data;
    switch (dtype) { /* outside the loops, so that the compiler can make vectors of them */
    case FB_BF16:
        for (int64_t n = 0; n < count; n++)
            to[n] = (double)float_of((uint32_t)half[index + n * stride] << 16);
        break;
    case FB_FP16:
        for (int64_t n = 0; n < count; n++)
            to[n] = (double)fb_fp16_to_float(half[index + n * stride]);
        break;
    default:
        for (int64_t n = 0; n < count; n++)
            to[n] = (double)single[index + n * stride];
    }
}

void fb_element_write(void *data, enum fb_dtype dtype, int64_t index, double value)
{
    switch (dtype) {
    case FB_BF16:
        ((uint16_t *)data)[index] = fb_double_to_bf16(value);
        break;
    case FB_FP16:
        ((uint16_t *)data)[index] = fb_double_to_fp16(value);
        break;
    default:
        ((float *)data)[index] = (float)value;
    }
}
