/* SPDX-License-Identifier: BSD-3-Clause
 *
 * scaling_host.h: fb_memory.scale and fb_memory.compare of the host's memory.
 */
#ifndef FB_MEASURE_SCALING_HOST_H
#define FB_MEASURE_SCALING_HOST_H

#include "core/memory.h"

enum fb_status fb_host_scale(const struct fb_memory *memory, const struct fb_tensor *to,
                             const struct fb_tensor *from, const struct fb_factors *factors);
enum fb_status fb_host_compare(const struct fb_memory *memory, const struct fb_tensor *got,
                               const struct fb_tensor *base, const struct fb_factors *factors,
                               struct fb_difference *difference);

#endif
