/* SPDX-License-Identifier: BSD-3-Clause
 *
 * philox.h: Philox4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1,
 * 2, 3", SC 2011): a random number is a function of a key and a counter, so that every element of a
 * tensor has its own number, whatever the layout, the order and the threads.
 */
#ifndef FB_DATA_PHILOX_H
#define FB_DATA_PHILOX_H

#include <stdint.h>

/* Four 32-bit random numbers for a 128-bit counter (lowest word first) and a 64-bit key. */
void fb_philox(uint64_t key, const uint32_t counter[4], uint32_t out[4]);

#endif
