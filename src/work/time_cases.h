/* SPDX-License-Identifier: BSD-3-Clause
 *
 * time_cases.h: stage 2 of a group.
 */
#ifndef FB_WORK_TIME_CASES_H
#define FB_WORK_TIME_CASES_H

#include "work/bench.h"

/* Times the given benches in turn, and finishes each. */
enum fb_status fb_benches_time(struct fb_bench *const *benches, size_t count);

#endif
