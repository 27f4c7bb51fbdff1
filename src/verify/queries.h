/* SPDX-License-Identifier: BSD-3-Clause
 *
 * queries.h: how many queries can be off independently of each other. What is rounded once a query
 * (delta is made of an o of 16 bits) is off by the same in all queries that are the same and see
 * the same keys: a thousand of them are one draw, not a thousand.
 */
#ifndef FB_VERIFY_QUERIES_H
#define FB_VERIFY_QUERIES_H

#include <stdint.h>

#include "core/status.h"
#include "flashback.h"

/* Queries over all heads, but of those of one key head that are alike (row of q, row of dout, and
 * what they see) only one, and of one key head at most `most`. Reads problem, q and dout.
 * FB_NO_MEMORY. */
enum fb_status fb_queries_count(const struct fb_args *inputs, int64_t most, int64_t *count);

#endif
