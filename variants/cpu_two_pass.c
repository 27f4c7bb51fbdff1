/* SPDX-License-Identifier: BSD-3-Clause
 *
 * cpu_two_pass.c: delta, then the key-major loop without dQ (4 GEMMs), then the query-major loop
 * (3 GEMMs).
 */
#include "variants/cpu_two_pass.h"

#include "kernels/cpu/kv_major.h"
#include "kernels/cpu/q_major.h"
#include "kernels/cpu/terms.h"
#include "kernels/cpu/tile.h"
#include "variants/cpu_common.h"

struct two_pass {
    struct fb_cpu_rows rows;
    struct fb_cpu_q recompute, queries;
    struct fb_cpu_kv keys;
};

static void layout(struct fb_cpu_arena *arena, const struct fb_cpu_job *job, struct two_pass *t)
{
    const struct fb_cpu_dq_policy no_dq = {.add = NULL};
    fb_cpu_rows_layout(arena, job, &t->rows);
    if (job->delta == FB_CPU_DELTA_RECOMPUTED)
        fb_cpu_q_layout(arena, job, &t->rows, FB_CPU_Q_DELTA, &t->recompute);
    fb_cpu_kv_layout(arena, job, &t->rows, &no_dq, &t->keys);
    fb_cpu_q_layout(arena, job, &t->rows, FB_CPU_Q_GRADIENT, &t->queries);
}

size_t fb_cpu_two_pass_bytes(const struct fb_cpu_job *job)
{
    struct fb_cpu_arena arena = {0};
    struct two_pass t;
    layout(&arena, job, &t);
    return fb_cpu_larger(arena.used, fb_cpu_forward_bytes(job));
}

void fb_cpu_two_pass_backward(const struct fb_cpu_job *job, void *workspace)
{
    struct fb_cpu_arena arena = {.base = workspace};
    struct two_pass t;
    layout(&arena, job, &t);
    fb_cpu_phase(job, "delta");
    fb_cpu_rows_compute(job, &t.rows);
    if (job->delta == FB_CPU_DELTA_RECOMPUTED)
        fb_cpu_q_run(&t.recompute);
    fb_cpu_terms_sinks(job, &t.rows);
    fb_cpu_phase(job, "dkdv");
    fb_cpu_kv_run(&t.keys);
    fb_cpu_phase(job, "dq");
    fb_cpu_q_run(&t.queries);
}

void fb_cpu_two_pass_tiles(const struct fb_problem *problem, const struct fb_numerics *numerics,
                           int64_t *bm, int64_t *bn)
{
    (void)problem;
    (void)numerics;
    *bm = FB_CPU_QUERY_TILE;
    *bn = FB_CPU_KEY_BLOCK;
}
