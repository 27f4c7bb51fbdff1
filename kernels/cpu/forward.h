/* SPDX-License-Identifier: BSD-3-Clause
 *
 * forward.h: the forward that all CPU variants but the materialised ones share.
 */
#ifndef FB_CPU_FORWARD_H
#define FB_CPU_FORWARD_H

#include "kernels/cpu/arena.h"
#include "kernels/cpu/job.h"
#include "kernels/cpu/hot/ops.h"
#include "kernels/cpu/threads.h"

struct fb_cpu_forward {
    const struct fb_cpu_job *job;
    const struct fb_cpu_ops *ops;
    int64_t tile, tiles; /* rows of a task's queries; tasks a head */
    int slots;
    char *scratch;
    size_t scratch_bytes; /* of one slot */
    struct fb_cpu_tickets tickets;
};

void fb_cpu_forward_layout(struct fb_cpu_arena *arena, const struct fb_cpu_job *job,
                           struct fb_cpu_forward *forward);

/* Writes o and lse, and the row maxima and sums where the job has room for them. */
void fb_cpu_forward_run(struct fb_cpu_forward *forward);

#endif
