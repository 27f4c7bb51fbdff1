/* SPDX-License-Identifier: BSD-3-Clause
 *
 * bound.h: from declared numerics to what an element may differ by. The error analysis itself,
 * which sums how roundings move an element, is the reference's `spread`; here stand the unit
 * roundoffs, which rounding happens in which numerics, and the factor. doc/derivation.md derives it
 * term by term.
 */
#ifndef FB_VERIFY_BOUND_H
#define FB_VERIFY_BOUND_H

#include "flashback.h"
#include "reference/reference.h"
#include "verify/judgement.h"

/* An element may differ by this many times its spread. Fixed before any kernel existed. */
#define FB_BOUND_FACTOR 4.0

/* The error norm of a tensor may be this many times the norm of the emulated declared roundings. */
#define FB_BOUND_NOISE 1.75

/* Below this the declared roundings of an accumulator cannot have happened. */
#define FB_BOUND_SILENCE 0.3

/* Above this largest mean relative error of a row of p under fp32 arithmetic, first-order analysis
 * says nothing and there is no verdict. */
#define FB_BOUND_RHO_MAX 0.05

/* Above this the error of the argument alone takes exp beyond fp32 (e^88.7), and infinities and NaN
 * are what a correct kernel may come to. */
#define FB_BOUND_RHO_OVERFLOW 88.0

/* The roundings of a correct kernel of these numerics with tiles of bm queries and bn keys (0: the
 * whole sequence is one tile). */
void fb_bound_roundings(const struct fb_problem *problem, const struct fb_numerics *numerics,
                        int64_t bm, int64_t bn, struct fb_ref_roundings *roundings);

/* The same as casts, for the emulated gradients. */
void fb_bound_casts(const struct fb_problem *problem, const struct fb_numerics *numerics,
                    int64_t bm, int64_t bn, struct fb_ref_casts *casts);

/* What the figures of one tensor come to; noise_ratio may be NaN. rho is how uncertain fp32
 * arithmetic leaves p: that of the standard numerics. Where it leaves the exponent uncertain by
 * more than exp can take, a correct kernel may overflow; no NaN passes. */
enum fb_verdict fb_bound_verdict(double rho, const struct fb_metrics *metrics,
                                 enum fb_judged which);

#endif
