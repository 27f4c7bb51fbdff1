/* SPDX-License-Identifier: BSD-3-Clause
 *
 * explain.h: a judgement in words. The judge's inside.
 */
#ifndef FB_VERIFY_EXPLAIN_H
#define FB_VERIFY_EXPLAIN_H

#include "verify/judgement.h"

/* The reason why tensor `which` did not pass. rho: how uncertain fp32 leaves p. */
void fb_judge_explain(double rho, enum fb_judged which, struct fb_judgement *j);

/* A remark where a declared accumulator shows no trace of its roundings. */
void fb_judge_suspect(const struct fb_numerics *declared, enum fb_judged which,
                      struct fb_judgement *j);

#endif
