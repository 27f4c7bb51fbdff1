/* SPDX-License-Identifier: BSD-3-Clause
 *
 * cpu_key_major.c: the frame of cpu-atomic, cpu-ordered and cpu-partials.
 */
#include "variants/cpu_key_major.h"

#include "kernels/cpu/terms.h"
#include "kernels/cpu/tile.h"
#include "variants/cpu_common.h"

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
    const struct fb_cpu_dq_policy reduce = {
        .add = policy->add, .state = k, .groups = policy->copies > 1 ? policy->copies : 0};
    fb_cpu_rows_layout(arena, &k->job, &k->rows);
    if (k->job.delta == FB_CPU_DELTA_RECOMPUTED)
        fb_cpu_q_layout(arena, &k->job, &k->rows, FB_CPU_Q_DELTA, &k->recompute);
    fb_cpu_dq_layout(arena, &k->job, policy->copies, &k->dq);
    k->turns = policy->turns ? fb_cpu_take(arena, turn_count(&k->job), sizeof *k->turns) : NULL;
    fb_cpu_kv_layout(arena, &k->job, &k->rows, &reduce, &k->kv);
}

size_t fb_cpu_key_major_bytes(const struct fb_problem *problem, const struct fb_numerics *numerics,
                              const struct fb_cpu_key_major_policy *policy)
{
    struct fb_cpu_arena arena = {0};
    struct fb_cpu_key_major k = {.job = fb_cpu_job_plan(problem, numerics)};
    layout(&arena, &k, policy);
    return fb_cpu_larger(arena.used, fb_cpu_forward_bytes(&k.job));
}

enum fb_status fb_cpu_key_major_backward(struct fb_context *ctx, const struct fb_args *args,
                                         const struct fb_cpu_key_major_policy *policy)
{
    enum fb_status status = fb_cpu_ready(ctx);
    if (status != FB_OK)
        return status;
    struct fb_cpu_arena arena = {.base = args->workspace};
    struct fb_cpu_key_major k = {.job = fb_cpu_job_call(ctx, args)};
    layout(&arena, &k, policy);
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

void fb_cpu_key_major_tiles(const struct fb_problem *problem, const struct fb_numerics *numerics,
                            int64_t *bm, int64_t *bn)
{
    const struct fb_cpu_job job = fb_cpu_job_plan(problem, numerics);
    *bm = FB_CPU_QUERY_TILE;
    *bn = fb_cpu_kv_tile(&job);
}
