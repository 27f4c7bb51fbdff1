/* SPDX-License-Identifier: BSD-3-Clause
 *
 * bits.h: bf16 and fp16 by integer arithmetic on the bits of an fp32, as straight-line code that
 * vectorises on any machine. Conversions to the narrow types round to nearest even; NaN stays NaN.
 */
#ifndef FB_CPU_HOT_BITS_H
#define FB_CPU_HOT_BITS_H

#include <stdint.h>
#include <string.h>

static inline __attribute__((always_inline)) uint32_t fb_cpu_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline __attribute__((always_inline)) float fb_cpu_float(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline __attribute__((always_inline)) int fb_cpu_is_nan(uint32_t bits)
{
    return (bits & 0x7fffffffu) > 0x7f800000u;
}

static inline __attribute__((always_inline)) float fb_cpu_from_bf16(uint16_t bits)
{
    return fb_cpu_float((uint32_t)bits << 16);
}

/* The bf16 nearest to value, still as an fp32. */
static inline __attribute__((always_inline)) float fb_cpu_round_bf16(float value)
{
    const uint32_t bits = fb_cpu_bits(value);
    const uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) & 0xffff0000u;
    return fb_cpu_float(fb_cpu_is_nan(bits) ? (bits | 0x400000u) & 0xffff0000u : rounded);
}

static inline __attribute__((always_inline)) uint16_t fb_cpu_to_bf16(float value)
{
    return (uint16_t)(fb_cpu_bits(fb_cpu_round_bf16(value)) >> 16);
}

/* The exponent is rebiased by a multiplication, which is exact for fp16's subnormals too; infinity
 * and NaN get the exponent that the multiplication could not give them. */
static inline __attribute__((always_inline)) float fb_cpu_from_fp16(uint16_t half)
{
    const uint32_t shifted = (uint32_t)(half & 0x7fffu) << 13;
    const uint32_t scaled = fb_cpu_bits(fb_cpu_float(shifted) * 0x1p112f);
    const uint32_t special = shifted >= 0x0f800000u ? 0x7f800000u : 0u;
    return fb_cpu_float(scaled | special | (uint32_t)(half & 0x8000u) << 16);
}

/* The fp16 nearest to value, still as an fp32. Below 2^-14 fp16 has a fixed grid of 2^-24, which
 * is the grid of fp32 next to 0.75: adding and taking away 0.75 rounds to it. */
static inline __attribute__((always_inline)) float fb_cpu_round_fp16(float value)
{
    const uint32_t bits = fb_cpu_bits(value), sign = bits & 0x80000000u, size = bits ^ sign;
    const float magnitude = fb_cpu_float(size);
    const uint32_t small = fb_cpu_bits((magnitude + 0.75f) - 0.75f);
    const uint32_t normal = (size + 0xfffu + (size >> 13 & 1u)) & 0xffffe000u;
    const uint32_t finite = size < 0x38800000u ? small : normal;
    const uint32_t bounded = finite > 0x477fe000u ? 0x7f800000u : finite;
    return fb_cpu_float(sign | (fb_cpu_is_nan(bits) ? 0x7fc00000u : bounded));
}

static inline __attribute__((always_inline)) uint16_t fb_cpu_to_fp16(float value)
{
    const uint32_t bits = fb_cpu_bits(fb_cpu_round_fp16(value)), size = bits & 0x7fffffffu;
    const uint32_t sign = bits >> 16 & 0x8000u;
    /* A subnormal is a count of 2^-24: read it off beside 0.5, whose unit that is. */
    const uint32_t small = fb_cpu_bits(fb_cpu_float(size) + 0.5f) - 0x3f000000u;
    const uint32_t normal = (size - 0x38000000u) >> 13;
    const uint32_t special = size > 0x7f800000u ? 0x7e00u : 0x7c00u;
    const uint32_t finite = size < 0x38800000u ? small : normal;
    return (uint16_t)(sign | (size >= 0x7f800000u ? special : finite));
}

#endif
