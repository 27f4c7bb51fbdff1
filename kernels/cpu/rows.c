/* SPDX-License-Identifier: BSD-3-Clause
 *
 * rows.c: lse and delta of every query row, tile by tile of 64 rows. Bound by reading o and dout
 * once. Deterministic: a row is one sum in one order.
 */
#include "kernels/cpu/rows.h"

#include "kernels/cpu/hot/bits.h"
#include "kernels/cpu/hot/ops.h"
#include "kernels/cpu/threads.h"
#include "kernels/cpu/tile.h"

struct pass {
    const struct fb_cpu_job *job;
    const struct fb_cpu_rows *rows;
    const struct fb_cpu_ops *ops;
    struct fb_cpu_tickets tickets;
};

void fb_cpu_rows_layout(struct fb_cpu_arena *arena, const struct fb_cpu_job *job,
                        struct fb_cpu_rows *rows)
{
    const int64_t count = fb_cpu_lines(job);
    const int64_t tasks = job->b * job->h * fb_cpu_tiles(job->nq, FB_CPU_QUERY_TILE);
    rows->slots = fb_cpu_slots(job, tasks);
    rows->sub = fb_cpu_take_floats(arena, count);
    rows->mul = job->row_max ? fb_cpu_take_floats(arena, count) : NULL;
    rows->delta = fb_cpu_take_floats(arena, count);
    rows->tiles =
        fb_cpu_take_floats(arena, 2 * rows->slots * FB_CPU_QUERY_TILE * fb_cpu_width(job->dv));
}

/* Rows [row, row + count) of one head. */
struct place {
    struct fb_cpu_seq seq;
    int64_t h, row, count;
};

static void normalisers(const struct pass *pass, const struct place *at)
{
    const struct fb_cpu_job *job = pass->job;
    const struct fb_cpu_rows *rows = pass->rows;
    const int64_t line = fb_cpu_line(job, &at->seq, at->h, at->row);
    for (int64_t i = 0; i < at->count; i++) {
        if (rows->mul) {
            const float sum = job->row_sum[line + i];
            rows->sub[line + i] = fb_cpu_sub(job->row_max[line + i]);
            rows->mul[line + i] = sum > 0 ? 1.0f / sum : 0.0f;
        } else {
            const float lse = *(const float *)fb_cpu_row(&job->lse, at->seq.batch, at->h,
                                                         at->seq.q_row + at->row + i);
            rows->sub[line + i] = fb_cpu_sub(job->lse_bf16 ? fb_cpu_round_bf16(lse) : lse);
        }
    }
}

void fb_cpu_rows_less_dlse(const struct fb_cpu_job *job, const struct fb_cpu_seq *seq, int64_t h,
                           int64_t row, int64_t count, float *delta)
{
    for (int64_t r = 0; job->terms.dlse && r < count; r++)
        delta[r] -=
            *(const float *)fb_cpu_row(&job->terms.grad_lse, seq->batch, h, seq->q_row + row + r);
}

static void deltas(const struct pass *pass, int slot, const struct place *at)
{
    const struct fb_cpu_job *job = pass->job;
    const int64_t ld = fb_cpu_width(job->dv), row = at->seq.q_row + at->row;
    float *o = pass->rows->tiles + 2 * slot * FB_CPU_QUERY_TILE * ld;
    float *dout = o + FB_CPU_QUERY_TILE * ld;
    float *delta = pass->rows->delta + fb_cpu_line(job, &at->seq, at->h, at->row);
    fb_cpu_tile_load(pass->ops, o, &job->o, at->seq.batch, at->h, row, at->count, job->dv);
    fb_cpu_tile_load(pass->ops, dout, &job->dout, at->seq.batch, at->h, row, at->count, job->dv);
    pass->ops->dots(delta, o, ld, dout, ld, at->count, job->dv, false);
    fb_cpu_rows_less_dlse(job, &at->seq, at->h, at->row, at->count, delta);
    if (job->delta == FB_CPU_DELTA_BF16)
        for (int64_t r = 0; r < at->count; r++)
            delta[r] = fb_cpu_round_bf16(delta[r]);
}

static void work(void *argument, int slot)
{
    struct pass *pass = argument;
    const struct fb_cpu_job *job = pass->job;
    const int64_t tiles = fb_cpu_tiles(job->nq, FB_CPU_QUERY_TILE);
    for (int64_t t; (t = fb_cpu_ticket(&pass->tickets)) >= 0;) {
        struct place at = {.seq = fb_cpu_seq(job, t / tiles / job->h),
                           .h = t / tiles % job->h,
                           .row = t % tiles * FB_CPU_QUERY_TILE};
        at.count = fb_cpu_min(FB_CPU_QUERY_TILE, at.seq.nq - at.row);
        if (at.count <= 0) /* a shorter sequence than the longest */
            continue;
        normalisers(pass, &at);
        if (job->delta != FB_CPU_DELTA_RECOMPUTED)
            deltas(pass, slot, &at);
    }
}

void fb_cpu_rows_compute(const struct fb_cpu_job *job, const struct fb_cpu_rows *rows)
{
    struct pass pass = {.job = job, .rows = rows, .ops = fb_cpu_ops()};
    fb_cpu_tickets_init(&pass.tickets, job->b * job->h * fb_cpu_tiles(job->nq, FB_CPU_QUERY_TILE));
    fb_cpu_parallel(rows->slots, work, &pass);
}
