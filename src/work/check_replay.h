/* SPDX-License-Identifier: BSD-3-Clause
 *
 * check_replay.h: the case again with other inputs, of which part must make no difference.
 */
#ifndef FB_WORK_CHECK_REPLAY_H
#define FB_WORK_CHECK_REPLAY_H

#include "work/check_call.h"

/* Runs the case with other inputs of which part must not matter: batch items alone and in another
 * order (the column batch_invariant), and keys that some queries do not see (a fault if they
 * notice). The buffers hold the results of the variant's own forward and backward. */
enum fb_status fb_check_replay(struct fb_bench *bench, struct fb_findings *findings,
                               const bool held[3]);

#endif
