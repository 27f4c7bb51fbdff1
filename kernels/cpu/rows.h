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

/* One number a line (fb_cpu_line): p = exp(s - sub) mul, ds = p (dp - delta). */
struct fb_cpu_rows {
    float *sub;   /* lse as the backward reads it, or the row maximum; +inf where either is -inf */
    float *mul;   /* NULL: 1; with the row maximum: 1 / the row sum, or 0 */
    float *delta; /* rowsum(dout o) - dlse in fp32, rounded to bf16 if so declared; or sum p dp */
    float *tiles; /* scratch of the pass: o and dout as fp32 */
    int slots;
};

void fb_cpu_rows_layout(struct fb_cpu_arena *arena, const struct fb_cpu_job *job,
                        struct fb_cpu_rows *rows);

/* The number that stands for a row's lse or maximum in exp(s - sub): where it is -inf nothing was
 * seen, and every p must be 0. */
static inline float fb_cpu_sub(float value)
{
    return value == -__builtin_inff() ? __builtin_inff() : value;
}

/* Fills sub, mul and, unless it is to be recomputed (q_major.h does that), delta. */
void fb_cpu_rows_compute(const struct fb_cpu_job *job, const struct fb_cpu_rows *rows);

/* delta -= dlse for `count` rows from `row` on, where the loss depends on lse. */
void fb_cpu_rows_less_dlse(const struct fb_cpu_job *job, const struct fb_cpu_seq *seq, int64_t h,
                           int64_t row, int64_t count, float *delta);

#endif
