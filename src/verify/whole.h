/* SPDX-License-Identifier: BSD-3-Clause
 *
 * whole.h: the rows that the sampled mode leaves out. Where a CUDA device has computed every row of
 * the reference, every element is compared with it. Bounds are not known there (error sums are made
 * for the sample alone), but a row that is grossly off where the sampled ones are not is a fault.
 */
#ifndef FB_VERIFY_WHOLE_H
#define FB_VERIFY_WHOLE_H

#include "reference/reference.h"
#include "verify/judge.h"

/* Grossly off: by more than this part of its own norm or a usual row's, whichever is larger, and
 * more than so many times as far as any sampled row. */
#define FB_WHOLE_PART 0.25
#define FB_WHOLE_TIMES 8

/* The device's values of every row: of o and lse alone where the gradients would cost too much. All
 * arrays NULL where there is no device, where it does not know the problem or it is too long for
 * it, and where it failed. */
void fb_whole_make(struct fb_ref_tensors *whole, const struct fb_ref_inputs *inputs);

/* Do the device's values agree with the CPU's of the sampled rows? To 1e-10, and to what fp64 can
 * do where sums cancel (a millionth of the spread of fp32). */
bool fb_whole_agrees(const struct fb_ref_tensors *whole, const struct fb_ref_inputs *inputs,
                     const struct fb_ref_rows *sample, const struct fb_ref_tensors *values,
                     const struct fb_ref_tensors *spread);

/* Puts the figures of all elements in the place of the sample's, those of bounds excepted. text
 * becomes one line about the worst row where it is grossly off, else "". FB_NO_MEMORY. */
enum fb_status fb_whole_compare(const struct fb_ref_tensors *whole, enum fb_judged which,
                                const struct fb_tensor *tensor, enum fb_dtype band,
                                struct fb_metrics *metrics, char text[256]);

#endif
