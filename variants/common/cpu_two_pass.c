/* SPDX-License-Identifier: BSD-3-Clause
 *
 * cpu_two_pass.c: delta, then the key-major loop without dQ (4 GEMMs), then the query-major loop
 * (3 GEMMs).
 */
#include "variants/common/cpu_two_pass.h"

#include <stdio.h>

#include "kernels/cpu/kv_major.h"
#include "kernels/cpu/q_major.h"
#include "kernels/cpu/terms.h"
#include "kernels/cpu/tile.h"

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

static size_t saved_rows(const struct fb_cpu_job *job)
{
    return (size_t)fb_cpu_lines(job);
}

enum fb_status fb_cpu_two_pass_sizes(const struct fb_variant *self,
                                     const struct fb_problem *problem,
                                     const struct fb_numerics *numerics, size_t *saved,
                                     size_t *workspace)
{
    const struct fb_cpu_two_pass *family = self->family;
    struct fb_cpu_job job = fb_cpu_job_plan(problem, numerics);
    struct fb_cpu_arena arena = {0};
    struct two_pass t;
    float present; /* planning asks only whether m and l are there */
    if (family->keeps_rows)
        job.row_max = job.row_sum = &present;
    layout(&arena, &job, &t);
    *saved = family->keeps_rows ? 2 * saved_rows(&job) * sizeof(float) : 0;
    *workspace = fb_cpu_larger(arena.used, fb_cpu_forward_bytes(&job));
    return FB_OK;
}

void fb_cpu_two_pass_describe(const struct fb_variant *self, const struct fb_problem *problem,
                              const struct fb_numerics *numerics, struct fb_description *what)
{
    (void)self;
    (void)problem;
    (void)numerics;
    what->bm = FB_CPU_QUERY_TILE;
    what->bn = FB_CPU_KEY_BLOCK;
    snprintf(what->text, sizeof what->text, "%dx%d", FB_CPU_QUERY_TILE, FB_CPU_KEY_BLOCK);
}

static struct fb_cpu_job job_of(const struct fb_variant *self, struct fb_context *ctx,
                                const struct fb_args *args)
{
    const struct fb_cpu_two_pass *family = self->family;
    struct fb_cpu_job job = fb_cpu_job_call(ctx, args);
    if (family->keeps_rows) {
        job.row_max = args->saved;
        job.row_sum = job.row_max + saved_rows(&job);
    }
    return job;
}

enum fb_status fb_cpu_two_pass_forward(const struct fb_variant *self, struct fb_context *ctx,
                                       void *state, const struct fb_args *args)
{
    (void)state;
    enum fb_status status = fb_cpu_ready(ctx);
    if (status != FB_OK)
        return status;
    const struct fb_cpu_job job = job_of(self, ctx, args);
    fb_cpu_forward_job(&job, args->workspace);
    return FB_OK;
}

enum fb_status fb_cpu_two_pass_backward(const struct fb_variant *self, struct fb_context *ctx,
                                        void *state, const struct fb_args *args)
{
    (void)state;
    enum fb_status status = fb_cpu_ready(ctx);
    if (status != FB_OK)
        return status;
    const struct fb_cpu_job job = job_of(self, ctx, args);
    struct fb_cpu_arena arena = {.base = args->workspace};
    struct two_pass t;
    layout(&arena, &job, &t);
    fb_cpu_phase(&job, "delta");
    fb_cpu_rows_compute(&job, &t.rows);
    if (job.delta == FB_CPU_DELTA_RECOMPUTED)
        fb_cpu_q_run(&t.recompute);
    fb_cpu_terms_sinks(&job, &t.rows);
    fb_cpu_phase(&job, "dkdv");
    fb_cpu_kv_run(&t.keys);
    fb_cpu_phase(&job, "dq");
    fb_cpu_q_run(&t.queries);
    return FB_OK;
}
