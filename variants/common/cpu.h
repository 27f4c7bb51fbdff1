/* SPDX-License-Identifier: BSD-3-Clause
 *
 * cpu.h: what the CPU variants share: from problems and arguments to kernel jobs,
 * what all of them offer, and the forward.
 */
#ifndef FB_VARIANTS_COMMON_CPU_H
#define FB_VARIANTS_COMMON_CPU_H

#include "flashback.h"
#include "kernels/cpu/arena.h"
#include "kernels/cpu/job.h"

/* Every problem: members of struct fb_offer. */
#define FB_CPU_ANY_PROBLEM                                                                         \
    .dtypes = FB_ANY, .masks = FB_MASKS_KNOWN, .terms = FB_TERMS_KNOWN, .biases = FB_ANY,          \
    .layouts = FB_ANY
#define FB_CPU_ANY_NUMERICS                                                                        \
    .dkv = FB_ANY, .dq = FB_ANY, .ps = FB_ANY, .delta = FB_ANY, .lse = FB_ANY, .round = FB_ANY

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
enum fb_status fb_cpu_forward_only(const struct fb_variant *self, struct fb_context *ctx,
                                   void *state, const struct fb_args *args);

/* The shared forward for a job that is ready. */
void fb_cpu_forward_job(const struct fb_cpu_job *job, void *workspace);

static inline size_t fb_cpu_larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

#endif
