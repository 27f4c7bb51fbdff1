/* SPDX-License-Identifier: BSD-3-Clause
 *
 * check_case.h: stage 1 of a case.
 */
#ifndef FB_WORK_CHECK_CASE_H
#define FB_WORK_CHECK_CASE_H

#include "work/bench.h"

/* One checked forward and backward, determinism, memory. Fills the record; `timeable` says whether
 * the case may go on to be timed. */
enum fb_status fb_bench_check(struct fb_bench *bench, bool *timeable);

#endif
