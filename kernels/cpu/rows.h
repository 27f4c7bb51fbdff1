/* SPDX-License-Identifier: BSD-3-Clause
 *
 * rows.h: what the backward needs to know of each query row before it touches a score: the number
 * taken from scale s before the exponential, and delta. One small pass over o and dout ("delta" in
 * the phases), 1/(2.5 n) of the work of the whole.
 */
#ifndef FB_CPU_ROWS_H
#define FB_CPU_ROWS_H

#include "kernels/cpu/arena.h"
#include "kernels/cpu/job.h"

/* Contiguous [b, h, nq]: p = exp(scale s - sub) mul, ds = p (dp - delta). */
struct fb_cpu_rows {
    float *sub;   /* lse as the backward reads it, or the row maximum */
    float *mul;   /* NULL: 1; with the row maximum: 1 / the row sum */
    float *delta; /* rowsum(dout o) in fp32, rounded to bf16 if so declared; or sum p dp */
    float *tiles; /* scratch of the pass: o and dout as fp32 */
    int slots;
};

void fb_cpu_rows_layout(struct fb_cpu_arena *arena, const struct fb_cpu_job *job,
                        struct fb_cpu_rows *rows);

/* Fills sub, mul and, unless it is to be recomputed (q_major.h does that), delta. */
void fb_cpu_rows_compute(const struct fb_cpu_job *job, const struct fb_cpu_rows *rows);

#endif
