/* SPDX-License-Identifier: BSD-3-Clause
 *
 * cpu_two_pass.h: the frame of cpu-split and cpu-ml: dK and dV by key tile, then dQ by query tile.
 */
#ifndef FB_VARIANTS_CPU_TWO_PASS_H
#define FB_VARIANTS_CPU_TWO_PASS_H

#include "flashback.h"
#include "kernels/cpu/job.h"

/* Workspace of the backward and of the shared forward, whichever is more. */
size_t fb_cpu_two_pass_bytes(const struct fb_cpu_job *job);

void fb_cpu_two_pass_backward(const struct fb_cpu_job *job, void *workspace);

/* fb_variant.tiles */
void fb_cpu_two_pass_tiles(const struct fb_problem *problem, const struct fb_numerics *numerics,
                           int64_t *bm, int64_t *bn);

#endif
