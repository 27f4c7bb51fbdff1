/* SPDX-License-Identifier: BSD-3-Clause
 *
 * cpu_common.h: what the CPU variants share: from problems and arguments to kernel jobs, the
 * refusals that hold for all of them, and the forward.
 */
#ifndef FB_VARIANTS_CPU_COMMON_H
#define FB_VARIANTS_CPU_COMMON_H

#include "flashback.h"
#include "kernels/cpu/arena.h"
#include "kernels/cpu/job.h"

/* The reason no CPU variant takes this, or NULL. */
const char *fb_cpu_refuse(const struct fb_problem *problem, const struct fb_numerics *numerics);

/* The same with what key-major variants refuse besides: they add to dQ a tile at a time. */
const char *fb_cpu_refuse_key_major(const struct fb_problem *problem,
                                    const struct fb_numerics *numerics);

/* A job without data, to plan sizes with: as many threads as there may ever be. */
struct fb_cpu_job fb_cpu_job_plan(const struct fb_problem *problem,
                                  const struct fb_numerics *numerics);

/* The job of a call. */
struct fb_cpu_job fb_cpu_job_call(struct fb_context *ctx, const struct fb_args *args);

/* FB_REFUSED with an explanation where FLASHBACK_ISA asks for what is not there. */
enum fb_status fb_cpu_ready(struct fb_context *ctx);

/* Workspace of the shared forward. */
size_t fb_cpu_forward_bytes(const struct fb_cpu_job *job);

/* fb_variant.forward of every variant that saves nothing. */
enum fb_status fb_cpu_forward_only(struct fb_context *ctx, void *state, const struct fb_args *args);

/* The shared forward for a job that is ready. */
void fb_cpu_forward_job(const struct fb_cpu_job *job, void *workspace);

static inline size_t fb_cpu_larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

#endif
