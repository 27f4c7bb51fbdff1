/* SPDX-License-Identifier: BSD-3-Clause
 *
 * rows.c: lse and delta of every query row, tile by tile of 64 rows. Bound by reading o and dout
 * once. Deterministic: a row is one sum in one order.
 */
#include "kernels/cpu/rows.h"

#include "kernels/cpu/bits.h"
#include "kernels/cpu/ops.h"
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
    const int64_t count = job->b * job->h * job->nq;
    const int64_t tasks = job->b * job->h * fb_cpu_tiles(job->nq, FB_CPU_QUERY_TILE);
    rows->slots = fb_cpu_slots(job, tasks);
    rows->sub = fb_cpu_take_floats(arena, count);
    rows->mul = job->row_max ? fb_cpu_take_floats(arena, count) : NULL;
    rows->delta = fb_cpu_take_floats(arena, count);
    rows->tiles =
        fb_cpu_take_floats(arena, 2 * rows->slots * FB_CPU_QUERY_TILE * fb_cpu_width(job->dv));
}

static void normalisers(const struct pass *pass, int64_t b, int64_t h, int64_t row, int64_t end)
{
    const struct fb_cpu_job *job = pass->job;
    const struct fb_cpu_rows *rows = pass->rows;
    for (int64_t i = row, at = (b * job->h + h) * job->nq + row; i < end; i++, at++) {
        if (rows->mul) {
            rows->sub[at] = job->row_max[at];
            rows->mul[at] = 1.0f / job->row_sum[at];
        } else {
            const float lse = *(const float *)fb_cpu_row(&job->lse, b, h, i);
            rows->sub[at] = job->lse_bf16 ? fb_cpu_round_bf16(lse) : lse;
        }
    }
}

static void deltas(const struct pass *pass, int slot, int64_t b, int64_t h, int64_t row,
                   int64_t count)
{
    const struct fb_cpu_job *job = pass->job;
    const int64_t ld = fb_cpu_width(job->dv);
    float *o = pass->rows->tiles + 2 * slot * FB_CPU_QUERY_TILE * ld;
    float *dout = o + FB_CPU_QUERY_TILE * ld;
    float *delta = pass->rows->delta + (b * job->h + h) * job->nq + row;
    fb_cpu_tile_load(pass->ops, o, &job->o, b, h, row, count, job->dv);
    fb_cpu_tile_load(pass->ops, dout, &job->dout, b, h, row, count, job->dv);
    pass->ops->dots(delta, o, ld, dout, ld, count, job->dv, false);
    if (job->delta == FB_CPU_DELTA_BF16)
        for (int64_t r = 0; r < count; r++)
            delta[r] = fb_cpu_round_bf16(delta[r]);
}

static void work(void *argument, int slot)
{
    struct pass *pass = argument;
    const struct fb_cpu_job *job = pass->job;
    const int64_t tiles = fb_cpu_tiles(job->nq, FB_CPU_QUERY_TILE);
    for (int64_t t; (t = fb_cpu_ticket(&pass->tickets)) >= 0;) {
        const int64_t head = t / tiles, row = t % tiles * FB_CPU_QUERY_TILE;
        const int64_t count = fb_cpu_min(FB_CPU_QUERY_TILE, job->nq - row);
        normalisers(pass, head / job->h, head % job->h, row, row + count);
        if (job->delta != FB_CPU_DELTA_RECOMPUTED)
            deltas(pass, slot, head / job->h, head % job->h, row, count);
    }
}

void fb_cpu_rows_compute(const struct fb_cpu_job *job, const struct fb_cpu_rows *rows)
{
    struct pass pass = {.job = job, .rows = rows, .ops = fb_cpu_ops()};
    fb_cpu_tickets_init(&pass.tickets, job->b * job->h * fb_cpu_tiles(job->nq, FB_CPU_QUERY_TILE));
    fb_cpu_parallel(rows->slots, work, &pass);
}
