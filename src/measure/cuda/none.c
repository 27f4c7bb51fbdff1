/* SPDX-License-Identifier: BSD-3-Clause
 *
 * none.c: what the harness says about CUDA when it was built without.
 */
#include "core/status.h"
#include "measure/cuda/device.h"

enum fb_status fb_cuda_open(struct fb_device **device)
{
    *device = NULL;
    return fb_fail(FB_REFUSED, "this program was built without CUDA");
}
