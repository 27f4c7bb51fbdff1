/* SPDX-License-Identifier: BSD-3-Clause
 *
 * exp.h: e^x in fp32 for the vector loops of hot files: straight-line, no calls, no table, so
 * that a loop over it becomes vector code of any width. Within 1 ulp where the result is a normal
 * number; below it is 0 (the largest such result is 1.2e-38), above x = 88.37 it is +inf. NaN
 * stays NaN: a fault in the inputs must show.
 *
 * x = n ln2 + r with |r| <= ln2/2: n by adding and taking away 1.5 * 2^23, which rounds to an
 * integer; ln2 in two parts, the upper of 15 bits so that n times it is exact. e^r = 1 + r +
 * r^2 q(r), q of degree 4, fitted by weighted least squares to a relative error of 3.1e-9
 * (1/20 ulp). 2^n through the exponent bits; n is at most 127.
 */
#ifndef FB_CPU_HOT_EXP_H
#define FB_CPU_HOT_EXP_H

#include <stdint.h>

#include "kernels/cpu/hot/bits.h"

static inline __attribute__((always_inline)) float fb_cpu_exp(float x)
{
    const float least = -87.33654f, most = 88.37f, rounder = 0x1.8p23f;
    float t = x < least ? least : x;
    t = t > most ? most : t;
    const float shifted = t * 1.44269504f + rounder, n = shifted - rounder;
    const float r = (t - n * 0x1.62e4p-1f) - n * 1.42860677e-06f;
    float q = 0x1.6a23ccp-10f;
    q = q * r + 0x1.123a20p-7f;
    q = q * r + 0x1.5558f2p-5f;
    q = q * r + 0x1.555492p-3f;
    q = q * r + 0x1.fffffcp-2f;
    const float power = fb_cpu_float((fb_cpu_bits(shifted) + 127u) << 23);
    const float value = ((q * r * r + r) + 1.0f) * power;
    const float low = x < least ? 0.0f : value;
    return x > most ? __builtin_inff() : low;
}

#endif
