/* SPDX-License-Identifier: BSD-3-Clause
 *
 * philox.h: the dropout mask, bit for bit. Philox4x32-10 (Salmon et al., SC'11) with
 *
 *     key     = (low word of seed, high word of seed)
 *     counter = (low word of c, high word of c, low word of e, high word of e)
 *
 * where e = ((batch * h + head) * nq + i) * nk + j numbers the entries of [b, h, nq, nk] (with nq,
 * nk of the problem, the longest sequence where they are packed), divided by 4, and c is the
 * offset. Entry e takes word e mod 4 of the block for counter (c, e / 4), and is kept when word >=
 * threshold, threshold = round(dropout * 2^32) as an unsigned 64-bit number. Kept entries are
 * multiplied by 1 / (1 - dropout).
 */
#ifndef FB_REFERENCE_PHILOX_H
#define FB_REFERENCE_PHILOX_H

#include <stdbool.h>
#include <stdint.h>

#include "flashback.h"

/* One block: ten rounds. */
void fb_ref_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

/* Is entry e of [b, h, nq, nk] kept? */
bool fb_ref_philox_keep(const struct fb_problem *problem, int64_t entry);

/* The whole mask, [b, h, nq, nk], 1 is kept. */
void fb_ref_philox_mask(const struct fb_problem *problem, uint8_t *keep);

#endif
