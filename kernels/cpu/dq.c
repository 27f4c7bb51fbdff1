/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dq.c: clearing, adding to and storing the dQ sums of the key-major variants.
 */
#include "kernels/cpu/dq.h"

#include <string.h>

#include "kernels/cpu/tile.h"

struct pass {
    const struct fb_cpu_dq *dq;
    const struct fb_cpu_ops *ops;
    struct fb_cpu_tickets tickets;
};

static int64_t elements(const struct fb_cpu_job *job)
{
    return fb_cpu_lines(job) * job->d;
}

static int64_t query_tiles(const struct fb_cpu_job *job)
{
    return job->b * job->h * fb_cpu_tiles(job->nq, FB_CPU_QUERY_TILE);
}

void fb_cpu_dq_layout(struct fb_cpu_arena *arena, const struct fb_cpu_job *job, int64_t copies,
                      struct fb_cpu_dq *dq)
{
    const int64_t count = copies * elements(job);
    const bool cells = job->acc_dq != FB_CPU_ACC_FP32;
    *dq = (struct fb_cpu_dq){.job = job, .copies = copies, .ops = fb_cpu_ops()};
    dq->slots = fb_cpu_slots(job, query_tiles(job));
    dq->sums = cells ? NULL : fb_cpu_take_floats(arena, count);
    dq->cells = cells ? fb_cpu_take(arena, count, sizeof *dq->cells) : NULL;
    dq->tiles = fb_cpu_take_floats(arena, dq->slots * FB_CPU_QUERY_TILE * fb_cpu_width(job->d));
}

static void clear_share(const struct fb_cpu_dq *dq, int64_t share)
{
    const int64_t count = dq->copies * elements(dq->job);
    const int64_t begin = count * share / dq->slots, end = count * (share + 1) / dq->slots;
    if (dq->sums)
        memset(dq->sums + begin, 0, (size_t)(end - begin) * sizeof *dq->sums);
    else
        memset(dq->cells + begin, 0, (size_t)(end - begin) * sizeof *dq->cells);
}

/* As many shares as threads were asked for, by ticket: fewer threads may come. */
static void clear_work(void *argument, int slot)
{
    struct pass *pass = argument;
    (void)slot;
    for (int64_t share; (share = fb_cpu_ticket(&pass->tickets)) >= 0;)
        clear_share(pass->dq, share);
}

void fb_cpu_dq_clear(const struct fb_cpu_dq *dq)
{
    struct pass pass = {.dq = dq, .ops = dq->ops};
    fb_cpu_tickets_init(&pass.tickets, dq->slots);
    fb_cpu_parallel(dq->slots, clear_work, &pass);
}

int64_t fb_cpu_dq_at(const struct fb_cpu_dq *dq, int64_t copy, const struct fb_cpu_dq_tile *tile)
{
    const struct fb_cpu_job *job = dq->job;
    const int64_t line = fb_cpu_line(job, tile->seq, tile->h, tile->row);
    return copy * elements(job) + line * job->d;
}

void fb_cpu_dq_add(const struct fb_cpu_dq *dq, int64_t copy, const struct fb_cpu_dq_tile *tile)
{
    const int64_t at = fb_cpu_dq_at(dq, copy, tile), d = dq->job->d;
    if (dq->sums)
        dq->ops->add(dq->sums + at, d, tile->sum, tile->ld, tile->rows, d);
    else
        fb_cpu_acc_add(dq->job->acc_dq, dq->cells + at, tile->sum, tile->ld, tile->rows, d,
                       (uint64_t)at, (uint64_t)tile->key_tile);
}

/* Adds a cell's value to another's. fp64 and compensated sums hold more than a float: what is left
 * of the value is added too, so that folding is no rounding of its own. */
static void fold_cell(enum fb_cpu_acc acc, union fb_cpu_cell *to, union fb_cpu_cell from,
                      uint32_t random)
{
    const double value = fb_cpu_acc_value(acc, from);
    const float most = (float)value, rest = (float)(value - most);
    *to = fb_cpu_acc_sum(acc, *to, most, random);
    if (rest != 0)
        *to = fb_cpu_acc_sum(acc, *to, rest, random);
}

/* Adds copies 1, 2 ... to copy 0 over elements [at, at + count). */
static void fold(const struct pass *pass, int64_t at, int64_t count)
{
    const struct fb_cpu_dq *dq = pass->dq;
    const struct fb_cpu_job *job = dq->job;
    const uint64_t steps = (uint64_t)job->nk; /* past every key tile's number */
    for (int64_t copy = 1; copy < dq->copies; copy++) {
        const int64_t from = copy * elements(job) + at;
        if (dq->sums) {
            pass->ops->add(dq->sums + at, count, dq->sums + from, count, 1, count);
            continue;
        }
        for (int64_t i = 0; i < count; i++)
            fold_cell(job->acc_dq, &dq->cells[at + i], dq->cells[from + i],
                      fb_cpu_acc_random((uint64_t)(at + i), steps + (uint64_t)copy));
    }
}

static void store_tile(const struct pass *pass, int slot, const struct fb_cpu_seq *seq, int64_t h,
                       int64_t row)
{
    const struct fb_cpu_dq *dq = pass->dq;
    const struct fb_cpu_job *job = dq->job;
    const int64_t rows = fb_cpu_min(FB_CPU_QUERY_TILE, seq->nq - row), ld = fb_cpu_width(job->d);
    const int64_t at = fb_cpu_line(job, seq, h, row) * job->d;
    float *tile = dq->tiles + slot * FB_CPU_QUERY_TILE * ld;
    if (rows <= 0) /* a shorter sequence than the longest */
        return;
    fold(pass, at, rows * job->d);
    if (dq->sums)
        pass->ops->load(tile, ld, dq->sums + at, FB_CPU_FP32, job->d, rows, job->d);
    else
        fb_cpu_acc_read(job->acc_dq, tile, ld, dq->cells + at, rows, job->d);
    fb_cpu_tile_store(pass->ops, &job->grad_q, seq->batch, h, seq->q_row + row, tile, rows, job->d,
                      job->scale);
}

static void store_work(void *argument, int slot)
{
    struct pass *pass = argument;
    const struct fb_cpu_job *job = pass->dq->job;
    const int64_t tiles = fb_cpu_tiles(job->nq, FB_CPU_QUERY_TILE);
    for (int64_t t; (t = fb_cpu_ticket(&pass->tickets)) >= 0;) {
        const struct fb_cpu_seq seq = fb_cpu_seq(job, t / tiles / job->h);
        store_tile(pass, slot, &seq, t / tiles % job->h, t % tiles * FB_CPU_QUERY_TILE);
    }
}

void fb_cpu_dq_store(const struct fb_cpu_dq *dq)
{
    struct pass pass = {.dq = dq, .ops = dq->ops};
    fb_cpu_tickets_init(&pass.tickets, query_tiles(dq->job));
    fb_cpu_parallel(dq->slots, store_work, &pass);
}
