/* SPDX-License-Identifier: BSD-3-Clause
 *
 * check_determinism.h: do R runs give the same bits?
 */
#ifndef FB_WORK_CHECK_DETERMINISM_H
#define FB_WORK_CHECK_DETERMINISM_H

#include "work/check_call.h"

/* A hash of all gradients as they lie in the buffers. */
enum fb_status fb_check_hash(const struct fb_bench *bench, uint64_t *hash);

/* Runs the backward det_runs times (once without the test, for the hashes), on the variant's own
 * forward: at rest, under a second load, and with fewer threads. Fills the columns. *held: dq, dk
 * and dv had the same bits at rest and under load. */
enum fb_status fb_check_determinism(struct fb_bench *bench, struct fb_findings *findings,
                                    bool held[3]);

#endif
