/* SPDX-License-Identifier: BSD-3-Clause
 *
 * blocks.h: the reference on a device, block after block.
 */
#ifndef FB_VERIFY_DEVICE_BLOCKS_H
#define FB_VERIFY_DEVICE_BLOCKS_H

#include "verify/device/kernel.h"

/* o and lse, and the gradients where there is a dout. 0, or what failed. */
int fb_ref_device_run(const struct fb_ref_device_call *call);

#endif
