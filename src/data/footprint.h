/* SPDX-License-Identifier: BSD-3-Clause
 *
 * footprint.h: what a case will allocate, before anything is.
 */
#ifndef FB_DATA_FOOTPRINT_H
#define FB_DATA_FOOTPRINT_H

#include "core/memory.h"
#include "flashback.h"

/* What a case will allocate, before anything is allocated. In bytes, guards left out. */
struct fb_plan {
    uint64_t inputs;    /* q, k, v, dout, dlse, bias, sink, alibi */
    uint64_t forward;   /* o and lse */
    uint64_t outputs;   /* dq, dk, dv, dbias, dsink */
    uint64_t saved;     /* the variant's saved block, beyond o and lse */
    uint64_t workspace; /* the variant's workspace */
    uint64_t total;     /* all of these */
};

/* FB_REFUSED with the GiB figure when the sizes do not fit 64 bits; else what sizes() says. variant
 * may be NULL: saved and workspace are 0. */
enum fb_status fb_plan_make(struct fb_plan *plan, const struct fb_problem *problem,
                            const struct fb_numerics *numerics, const struct fb_variant *variant);

/* FB_REFUSED, naming both figures in GiB, when `total` and `extra` (the harness's own needs, such
 * as a reference) exceed what memory->available() reports. */
enum fb_status fb_plan_check(const struct fb_plan *plan, const struct fb_memory *memory,
                             uint64_t extra);

/* What timing adds: copies of dout, as large as o, and of the gradients. */
static inline uint64_t fb_plan_copies(const struct fb_plan *plan)
{
    return plan->forward + plan->outputs;
}

#endif
