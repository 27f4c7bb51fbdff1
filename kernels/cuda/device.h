/* SPDX-License-Identifier: BSD-3-Clause
 *
 * device.h: the CUDA device of this process and what it can do, for who chooses tiles by it or must
 * say why it cannot run. The device is the first that CUDA shows (CUDA_VISIBLE_DEVICES chooses).
 */
#ifndef FB_KERNELS_CUDA_DEVICE_H
#define FB_KERNELS_CUDA_DEVICE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct fb_cuda_device {
    int ordinal; /* -1: there is none, and `why` says why */
    int major, minor;
    int sms;
    size_t l2_bytes;
    size_t shared_bytes; /* a block may have after asking for it */
    size_t memory_bytes;
    char name[256];
    char bus[32]; /* PCI address, "0000:1B:00.0" */
    char why[300];
};

/* Looked at once; starts no context. Never NULL. */
const struct fb_cuda_device *fb_cuda_device(void);

/* Does code compiled for `archs`, "75,80,90+PTX" as configured, run on capability major.minor? Code
 * for X.Y runs on X.Z with Z >= Y; PTX of X.Y on all from X.Y on; with a letter, "90a", on exactly
 * that. */
int fb_cuda_archs_serve(const char *archs, int major, int minor);

/* NULL when the device has capability `least` (80 is 8.0) or, unless it is to be exact, a later
 * one, and this program holds code for it; else the reason, one line. */
const char *fb_cuda_why_not(int least, int exact);

#ifdef __cplusplus
}
#endif
#endif
