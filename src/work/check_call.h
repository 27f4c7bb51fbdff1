/* SPDX-License-Identifier: BSD-3-Clause
 *
 * check_call.h: one call of a check and what it leaves behind: a poisoned call between a seal and a
 * look, and the judgement of what a further call left.
 */
#ifndef FB_WORK_CHECK_CALL_H
#define FB_WORK_CHECK_CALL_H

#include "verify/judge.h"
#include "work/bench.h"

/* What the calls of a check leave behind. */
struct fb_findings {
    char reason[320]; /* the first thing that is wrong, "" so far */
    enum fb_verdict declared, standard;
    bool bands_hold;
    uint64_t judged; /* hash of the gradients that the first judgement was of */
};

/* Keeps the first text that is not empty; format holds one %s. */
void fb_findings_note(struct fb_findings *findings, const char *format, const char *text);

/* A call on buffers poisoned throughout, the workspace too. Guards, inputs and unwritten elements
 * are looked at afterwards. */
enum fb_status fb_check_fresh_call(struct fb_bench *bench, enum fb_pass pass,
                                   struct fb_findings *findings);

/* A call on poisoned outputs and on the workspace as the call before left it: it may hold anything,
 * its own leavings too. Looked at as above. */
enum fb_status fb_check_call(struct fb_bench *bench, enum fb_pass pass,
                             struct fb_findings *findings);

/* Compares what lies in `outputs` with the reference, by the bound of the declared numerics. */
enum fb_status fb_check_compare(struct fb_bench *bench, const struct fb_args *outputs,
                                struct fb_judgement *judgement);

/* Judges the gradients that a further call left in the buffers. A fault of theirs fails the case,
 * and is told by format, which holds one %s. */
enum fb_status fb_check_gradients(struct fb_bench *bench, struct fb_findings *findings,
                                  const char *format);

#endif
