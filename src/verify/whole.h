/* SPDX-License-Identifier: BSD-3-Clause
 *
 * whole.h: the rows that the sampled mode leaves out. Where a CUDA device has computed every row of
 * the reference, every element is compared with it. Bounds are not known there (error sums are made
 * for the sample alone), so that a row is suspect that is grossly off where the sampled ones are
 * not; its bound, made then, decides: a key that dominates many rows may honestly be off by its
 * norm.
 */
#ifndef FB_VERIFY_WHOLE_H
#define FB_VERIFY_WHOLE_H

#include "reference/reference.h"
#include "verify/judgement.h"
#include "verify/model.h"

/* Grossly off: by more than this part of its own norm or a usual row's, whichever is larger, and
 * more than so many times as far as any sampled row. */
#define FB_WHOLE_PART 0.25
#define FB_WHOLE_TIMES 8

/* The rows furthest off, flat over [b, h, n], ascending: what reference and metrics take. */
#define FB_WHOLE_SUSPECTS 16
struct fb_whole_suspects {
    int64_t rows[FB_WHOLE_SUSPECTS];
    int64_t count;
};

/* The device's values of every row: of o and lse alone where the gradients would cost too much. All
 * arrays NULL where there is no device, where it does not know the problem or it is too long for
 * it, and where it failed. */
void fb_whole_make(struct fb_ref_tensors *whole, const struct fb_ref_inputs *inputs);

/* Do the device's values agree with the CPU's of the sampled rows? To 1e-10, and to what fp64 can
 * do where sums cancel (a millionth of the spread of fp32). */
bool fb_whole_agrees(const struct fb_ref_tensors *whole, const struct fb_ref_inputs *inputs,
                     const struct fb_ref_rows *sample, const struct fb_ref_tensors *values,
                     const struct fb_ref_tensors *spread);

/* Puts the figures of all elements in the place of the sample's, those of bounds excepted, and
 * lists the rows that are grossly off. FB_NO_MEMORY. */
enum fb_status fb_whole_compare(const struct fb_ref_tensors *whole, enum fb_judged which,
                                const struct fb_tensor *tensor, enum fb_dtype band,
                                struct fb_metrics *metrics, struct fb_whole_suspects *suspects);

/* Judges suspect rows as if they were the sample, under a model's numerics. text becomes one line
 * about the worst of them where they do not pass. FB_NO_MEMORY. */
enum fb_status fb_whole_judge(const struct fb_ref_inputs *inputs, const struct fb_model *model,
                              enum fb_judged which, const struct fb_tensor *tensor,
                              const struct fb_whole_suspects *suspects, enum fb_verdict *verdict,
                              char text[256]);

#endif
