/* SPDX-License-Identifier: BSD-3-Clause
 *
 * trap.h: mistakes on a device, for the negative controls. Callable from C.
 */
#ifndef FB_KERNELS_SIMT_TRAP_H
#define FB_KERNELS_SIMT_TRAP_H

#include "kernels/simt/simt.h"

#ifdef __cplusplus
extern "C" {
#endif

/* FB_SIMT_KEYS_ADD_Q with additions that are not atomic. Head sizes up to 64. */
int fb_simt_trap_racy(const struct fb_simt_call *call, void *stream);

/* A launch of 2048 threads a block, twice what any device takes; nobody looks at the error. */
void fb_simt_trap_launch(void *stream);

#ifdef __cplusplus
}
#endif
#endif
