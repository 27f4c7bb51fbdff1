/* SPDX-License-Identifier: BSD-3-Clause
 *
 * rival.h: a second load: struct fb_device's rival.
 */
#ifndef FB_MEASURE_CUDA_RIVAL_H
#define FB_MEASURE_CUDA_RIVAL_H

#include "measure/device.h"

enum fb_status fb_cuda_rival(struct fb_device *device, struct fb_rival **rival);

#endif
