/* SPDX-License-Identifier: BSD-3-Clause
 *
 * cpu_key_major.c: the frame of cpu-atomic, cpu-ordered and cpu-partials.
 */
#include "variants/common/cpu_key_major.h"

#include <inttypes.h>
#include <stdio.h>

#include "kernels/cpu/terms.h"
#include "kernels/cpu/tile.h"

/* Room for the tiles of one head. Packed sequences begin anywhere: the tiles of sequence b are
 * numbered from (rows before it) / 64 + b on, which no other sequence's reach. */
static int64_t head_turns(const struct fb_cpu_job *job)
{
    return job->q_rows / FB_CPU_QUERY_TILE + (job->packed ? job->b : 1);
}

static int64_t turn_count(const struct fb_cpu_job *job)
{
    return (job->packed ? 1 : job->b) * job->h * head_turns(job);
}

_Atomic int64_t *fb_cpu_key_major_turn(const struct fb_cpu_key_major *k,
                                       const struct fb_cpu_dq_tile *tile)
{
    const struct fb_cpu_seq *seq = tile->seq;
    const int64_t first = seq->q_row / FB_CPU_QUERY_TILE + (k->job.packed ? seq->b : 0);
    return &k->turns[(seq->batch * k->job.h + tile->h) * head_turns(&k->job) + first +
                     tile->row / FB_CPU_QUERY_TILE];
}

static void layout(struct fb_cpu_arena *arena, struct fb_cpu_key_major *k,
                   const struct fb_cpu_key_major_policy *policy)
{
    const int64_t copies = policy->copies ? policy->copies(&k->job) : 1;
    const struct fb_cpu_dq_policy reduce = {
        .add = policy->add, .state = k, .groups = copies > 1 ? copies : 0};
    fb_cpu_rows_layout(arena, &k->job, &k->rows);
    if (k->job.delta == FB_CPU_DELTA_RECOMPUTED)
        fb_cpu_q_layout(arena, &k->job, &k->rows, FB_CPU_Q_DELTA, &k->recompute);
    fb_cpu_dq_layout(arena, &k->job, copies, &k->dq);
    k->turns = policy->turns ? fb_cpu_take(arena, turn_count(&k->job), sizeof *k->turns) : NULL;
    fb_cpu_kv_layout(arena, &k->job, &k->rows, &reduce, &k->kv);
}

const char *fb_cpu_key_major_why_not(const struct fb_variant *self, const struct fb_problem *p,
                                     const struct fb_numerics *n)
{
    (void)self;
    (void)p;
    return n->round == FB_ROUND_ROW && n->dq != FB_ACC_FP32
               ? "round: row goes with dq=fp32, dQ is added a key tile at a time (cpu-split does "
                 "rows)"
               : NULL;
}

enum fb_status fb_cpu_key_major_sizes(const struct fb_variant *self,
                                      const struct fb_problem *problem,
                                      const struct fb_numerics *numerics, size_t *saved,
                                      size_t *workspace)
{
    struct fb_cpu_arena arena = {0};
    struct fb_cpu_key_major k = {.job = fb_cpu_job_plan(problem, numerics)};
    layout(&arena, &k, self->family);
    *saved = 0;
    *workspace = fb_cpu_larger(arena.used, fb_cpu_forward_bytes(&k.job));
    return FB_OK;
}

void fb_cpu_key_major_describe(const struct fb_variant *self, const struct fb_problem *problem,
                               const struct fb_numerics *numerics, struct fb_description *what)
{
    const struct fb_cpu_key_major_policy *policy = self->family;
    const struct fb_cpu_job job = fb_cpu_job_plan(problem, numerics);
    const int64_t copies = policy->copies ? policy->copies(&job) : 1;
    what->bm = FB_CPU_QUERY_TILE;
    what->bn = fb_cpu_kv_tile(&job);
    snprintf(what->text, sizeof what->text, "%" PRId64 "x%" PRId64, what->bm, what->bn);
    if (copies > 1)
        snprintf(what->text, sizeof what->text, "%" PRId64 "x%" PRId64 ", %" PRId64 " copies of dQ",
                 what->bm, what->bn, copies);
}

enum fb_status fb_cpu_key_major_backward(const struct fb_variant *self, struct fb_context *ctx,
                                         void *state, const struct fb_args *args)
{
    (void)state;
    enum fb_status status = fb_cpu_ready(ctx);
    if (status != FB_OK)
        return status;
    struct fb_cpu_arena arena = {.base = args->workspace};
    struct fb_cpu_key_major k = {.job = fb_cpu_job_call(ctx, args)};
    layout(&arena, &k, self->family);
    fb_cpu_phase(&k.job, "delta");
    fb_cpu_rows_compute(&k.job, &k.rows);
    if (k.job.delta == FB_CPU_DELTA_RECOMPUTED)
        fb_cpu_q_run(&k.recompute);
    fb_cpu_terms_sinks(&k.job, &k.rows);
    fb_cpu_phase(&k.job, "clear");
    fb_cpu_dq_clear(&k.dq);
    for (int64_t i = 0; k.turns && i < turn_count(&k.job); i++)
        atomic_init(&k.turns[i], 0);
    fb_cpu_phase(&k.job, "main");
    fb_cpu_kv_run(&k.kv);
    fb_cpu_phase(&k.job, "convert");
    fb_cpu_dq_store(&k.dq);
    return FB_OK;
}
