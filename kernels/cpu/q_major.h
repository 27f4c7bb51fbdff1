/* SPDX-License-Identifier: BSD-3-Clause
 *
 * q_major.h: the query-major loop of the backward: dQ (3 GEMMs), or delta as the sum of p dp over
 * the keys (2 GEMMs). See q_major.c.
 */
#ifndef FB_CPU_Q_MAJOR_H
#define FB_CPU_Q_MAJOR_H

#include "kernels/cpu/arena.h"
#include "kernels/cpu/job.h"
#include "kernels/cpu/hot/ops.h"
#include "kernels/cpu/rows.h"
#include "kernels/cpu/threads.h"

enum fb_cpu_q_aim { FB_CPU_Q_GRADIENT, FB_CPU_Q_DELTA };

struct fb_cpu_q {
    const struct fb_cpu_job *job;
    const struct fb_cpu_rows *rows;
    enum fb_cpu_q_aim aim;
    const struct fb_cpu_ops *ops;
    int64_t tile, tiles; /* rows of a task's queries; tasks a head */
    int slots;
    char *scratch;
    size_t scratch_bytes; /* of one slot */
    struct fb_cpu_tickets tickets;
};

/* Rows of queries that a task owns; depends on the sizes alone. */
int64_t fb_cpu_q_tile(const struct fb_cpu_job *job);

void fb_cpu_q_layout(struct fb_cpu_arena *arena, const struct fb_cpu_job *job,
                     const struct fb_cpu_rows *rows, enum fb_cpu_q_aim aim, struct fb_cpu_q *q);

/* Writes grad_q, or rows->delta. */
void fb_cpu_q_run(struct fb_cpu_q *q);

#endif
