/* SPDX-License-Identifier: BSD-3-Clause
 *
 * naive.h: the materialised baseline: whole score matrices, GEMMs by the BLAS. See naive.c.
 */
#ifndef FB_CPU_NAIVE_H
#define FB_CPU_NAIVE_H

#include "kernels/cpu/arena.h"
#include "kernels/cpu/job.h"
#include "kernels/cpu/hot/ops.h"
#include "kernels/cpu/threads.h"

struct fb_cpu_naive {
    const struct fb_cpu_job *job;
    const struct fb_cpu_ops *ops;
    void *p;       /* of fb_cpu_naive_type, kept by the forward; NULL: made again */
    float *g;      /* the derivative of the softcap, kept beside p where there is one */
    double *sinks; /* [b, h]: what every sequence adds to the gradient of a sink */
    int slots;
    char *scratch;
    size_t scratch_bytes; /* of one slot */
    struct fb_cpu_tickets tickets;
};

/* What p is kept in: job->ps; fp32 with a bias, whose gradient shows every p alone. */
static inline enum fb_cpu_type fb_cpu_naive_type(const struct fb_cpu_job *job)
{
    return job->terms.bias ? FB_CPU_FP32 : job->ps;
}

/* Bytes of what the forward keeps: p [h, nq, nk] of one sequence after the other, then g. */
size_t fb_cpu_naive_saved(const struct fb_cpu_job *job);

/* saved: the block of that size, or NULL. */
void fb_cpu_naive_layout(struct fb_cpu_arena *arena, const struct fb_cpu_job *job, void *saved,
                         struct fb_cpu_naive *naive);
void fb_cpu_naive_forward(struct fb_cpu_naive *naive);
void fb_cpu_naive_backward(struct fb_cpu_naive *naive);

#endif
