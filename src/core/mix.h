/* SPDX-License-Identifier: BSD-3-Clause
 *
 * mix.h: the step of the hashes over bits. A bijection of the state for each word, and of the word
 * for each state, so that any single change is seen. Not for adversaries who choose the words.
 */
#ifndef FB_CORE_MIX_H
#define FB_CORE_MIX_H

#include <stdint.h>

static inline uint64_t fb_mix(uint64_t state, uint64_t word)
{
    state = (state ^ word) * 0x9E3779B97F4A7C15u; /* 2^64 over the golden ratio, odd */
    return state ^ state >> 29;
}

#endif
