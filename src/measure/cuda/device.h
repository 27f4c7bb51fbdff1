/* SPDX-License-Identifier: BSD-3-Clause
 *
 * device.h: the CUDA device as a struct fb_device. Where CUDA was not configured, none.c stands in
 * for device.c.
 */
#ifndef FB_MEASURE_CUDA_DEVICE_H
#define FB_MEASURE_CUDA_DEVICE_H

#include "flashback.h"

struct fb_device;

/* The device of this process, with a context and a stream. */
enum fb_status fb_cuda_open(struct fb_device **device);

#endif
