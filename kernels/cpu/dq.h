/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dq.h: the dQ sums of the key-major variants, in the workspace: one copy of [lines, d] or
 * several. fp32 sums, or cells where another accumulator is declared (acc.h).
 */
#ifndef FB_CPU_DQ_H
#define FB_CPU_DQ_H

#include "kernels/cpu/acc.h"
#include "kernels/cpu/arena.h"
#include "kernels/cpu/kv_major.h"

struct fb_cpu_dq {
    const struct fb_cpu_job *job;
    int64_t copies;
    float *sums;              /* [copies, lines, d] with an fp32 accumulator, else NULL */
    union fb_cpu_cell *cells; /* the same with any other */
    float *tiles;             /* scratch of the last pass */
    const struct fb_cpu_ops *ops;
    int slots;
};

void fb_cpu_dq_layout(struct fb_cpu_arena *arena, const struct fb_cpu_job *job, int64_t copies,
                      struct fb_cpu_dq *dq);

void fb_cpu_dq_clear(const struct fb_cpu_dq *dq);

/* Element that row tile->row of a copy starts at. */
int64_t fb_cpu_dq_at(const struct fb_cpu_dq *dq, int64_t copy, const struct fb_cpu_dq_tile *tile);

/* Adds the tile to a copy, rounding once. The caller sees to it that nobody else does so now. */
void fb_cpu_dq_add(const struct fb_cpu_dq *dq, int64_t copy, const struct fb_cpu_dq_tile *tile);

/* grad_q = scale * (copy 0 + copy 1 + ...), in that order, in the accumulator's type. */
void fb_cpu_dq_store(const struct fb_cpu_dq *dq);

#endif
