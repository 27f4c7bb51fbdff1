/* SPDX-License-Identifier: BSD-3-Clause
 *
 * device.h: the reference on a CUDA device, in double precision: every row of o, lse and the
 * gradients of a problem that is too long for the CPU. Products are cuBLAS's, in double precision,
 * on blocks of query rows. Which keys a query sees comes from fb_ref_keys; everything else is
 * written anew, and held against the CPU's rows wherever both are known.
 */
#ifndef FB_VERIFY_DEVICE_DEVICE_H
#define FB_VERIFY_DEVICE_DEVICE_H

#include "reference/reference.h"

/* Are there a device and cuBLAS, and are the problem's terms known? (No bias, no dropout; no
 * dsink.) */
bool fb_ref_device_offers(const struct fb_problem *problem);

/* All rows of o and lse, and of dq, dk and dv where the inputs hold dout; free with fb_ref_free.
 * One sequence, or as many as 2^25 elements of q hold, is on the device at a time, and blocks of
 * scores hold 2^25: memory stays bounded. FB_NO_MEMORY, FB_DEVICE.
 */
enum fb_status fb_ref_device_compute(const struct fb_ref_inputs *inputs,
                                     struct fb_ref_tensors *values);

#endif
