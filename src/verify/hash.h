/* SPDX-License-Identifier: BSD-3-Clause
 *
 * hash.h: a stable 64-bit hash of a tensor's logical elements, bit patterns in [b, h, n, d] order.
 * The same on every machine and for every layout of the same values; -0 and +0, and different
 * NaNs, hash differently, because determinism is about bits.
 */
#ifndef FB_VERIFY_HASH_H
#define FB_VERIFY_HASH_H

#include <stdint.h>

#include "flashback.h"

uint64_t fb_hash_tensor(const struct fb_tensor *tensor);

/* Of one row, flat over [b, h, n]; `before`: the hash of what stands before it, or 0. */
uint64_t fb_hash_row(const struct fb_tensor *tensor, int64_t row, uint64_t before);

#endif
