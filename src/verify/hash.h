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

#endif
