/* SPDX-License-Identifier: BSD-3-Clause
 *
 * device_kernel.h: one sequence of the reference on the device, between device.c and its kernels.
 */
#ifndef FB_REFERENCE_DEVICE_KERNEL_H
#define FB_REFERENCE_DEVICE_KERNEL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Device pointers; contiguous [h, nq, d], [hk, nk, d] and so on; lse and delta [h, nq]; slope and
 * sink [h]. Query i sees the keys lo[i] <= j < hi[i]. */
struct fb_ref_device_call {
    const double *q, *k, *v, *dout, *slope, *sink, *delta;
    double *o, *lse, *dq, *dk, *dv;
    const int64_t *lo, *hi;
    int64_t h, hk, nq, nk;
    int d, width_v;
    double scale, softcap;
};

/* Run on the default stream and wait; 0 or a cudaError_t. The backward reads lse and delta. */
int fb_ref_device_forward(const struct fb_ref_device_call *call);
int fb_ref_device_backward(const struct fb_ref_device_call *call);

#ifdef __cplusplus
}
#endif
#endif
