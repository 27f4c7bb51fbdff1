/* SPDX-License-Identifier: BSD-3-Clause
 *
 * naive.h: the materialised baseline: whole score matrices, GEMMs by the BLAS. See naive.c.
 */
#ifndef FB_CPU_NAIVE_H
#define FB_CPU_NAIVE_H

#include "kernels/cpu/arena.h"
#include "kernels/cpu/job.h"
#include "kernels/cpu/ops.h"
#include "kernels/cpu/threads.h"

struct fb_cpu_naive {
    const struct fb_cpu_job *job;
    const struct fb_cpu_ops *ops;
    void *p; /* [b, h, nq, nk] of the type job->ps, kept by the forward; NULL: made again */
    int slots;
    char *scratch;
    size_t scratch_bytes; /* of one slot */
    struct fb_cpu_tickets tickets;
};

/* Bytes of p. */
size_t fb_cpu_naive_saved(const struct fb_cpu_job *job);

void fb_cpu_naive_layout(struct fb_cpu_arena *arena, const struct fb_cpu_job *job, void *p,
                         struct fb_cpu_naive *naive);
void fb_cpu_naive_forward(struct fb_cpu_naive *naive);
void fb_cpu_naive_backward(struct fb_cpu_naive *naive);

#endif
