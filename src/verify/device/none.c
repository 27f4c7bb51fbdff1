/* SPDX-License-Identifier: BSD-3-Clause
 *
 * none.c: the reference's device where the program was built without CUDA.
 */
#include "verify/device/device.h"

bool fb_ref_device_offers(const struct fb_problem *problem)
{
    (void)problem;
    return false;
}

enum fb_status fb_ref_device_compute(const struct fb_ref_inputs *inputs,
                                     struct fb_ref_tensors *values)
{
    (void)inputs;
    *values = (struct fb_ref_tensors){0};
    return FB_DEVICE;
}
