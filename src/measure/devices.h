/* SPDX-License-Identifier: BSD-3-Clause
 *
 * devices.h: the devices there are, and which one a backend asks for.
 */
#ifndef FB_MEASURE_DEVICES_H
#define FB_MEASURE_DEVICES_H

#include "measure/device.h"

/* What the machine says (fb_backend_why_not), then what the variant says (fb_offer_why_not). */
const char *fb_variant_why_not(const struct fb_variant *variant, const struct fb_problem *problem,
                               const struct fb_numerics *numerics);

/* The device that variants of this backend run on. FB_REFUSED when there is none, FB_DEVICE when it
 * cannot be opened. */
enum fb_status fb_device_open(const char *backend, struct fb_device **device);

#endif
