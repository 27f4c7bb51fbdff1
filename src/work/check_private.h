/* SPDX-License-Identifier: BSD-3-Clause
 *
 * check_private.h: what the parts of stage 1 share: check_case.c calls and judges,
 * check_determinism.c calls again and again, check_replay.c calls with other inputs.
 */
#ifndef FB_WORK_CHECK_PRIVATE_H
#define FB_WORK_CHECK_PRIVATE_H

#include "work/bench.h"
#include "verify/judge.h"

/* What the calls of a check leave behind. */
struct fb_findings {
    char reason[320]; /* the first thing that is wrong, "" so far */
    enum fb_verdict declared, standard;
    bool bands_hold;
    uint64_t judged; /* hash of the gradients that the first judgement was of */
};

/* Keeps the first text that is not empty; format holds one %s. */
void fb_findings_note(struct fb_findings *findings, const char *format, const char *text);

/* A call on poisoned outputs and on the workspace as the call before left it: it may hold anything,
 * its own leavings too. Guards, inputs and unwritten elements are looked at afterwards. */
enum fb_status fb_check_call(struct fb_bench *bench, enum fb_pass pass,
                             struct fb_findings *findings);

/* Judges the gradients that a further call left in the buffers. A fault of theirs fails the case,
 * and is told by format, which holds one %s. */
enum fb_status fb_check_gradients(struct fb_bench *bench, struct fb_findings *findings,
                                  const char *format);

/* A hash of all gradients as they lie in the buffers. */
enum fb_status fb_check_hash(const struct fb_bench *bench, uint64_t *hash);

/* Runs the backward det_runs times (once without the test, for the hashes), on the variant's own
 * forward: at rest, under a second load, and with fewer threads. Fills the columns. *held: dq, dk
 * and dv had the same bits at rest and under load. */
enum fb_status fb_check_determinism(struct fb_bench *bench, struct fb_findings *findings,
                                    bool held[3]);

/* Runs the case with other inputs of which part must not matter: batch items alone and in another
 * order (the column batch_invariant), and keys that some queries do not see (a fault if they
 * notice). The buffers hold the results of the variant's own forward and backward. */
enum fb_status fb_check_replay(struct fb_bench *bench, struct fb_findings *findings,
                               const bool held[3]);

#endif
