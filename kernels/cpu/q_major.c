/* SPDX-License-Identifier: BSD-3-Clause
 *
 * q_major.c: the mirror of kv_major.c: a task owns up to 512 queries of one head and their dQ, and
 * walks over blocks of 64 keys. Nothing is shared between tasks, so dQ is one sum in one order:
 * deterministic for any number of threads, at the price of making S and dP a second time.
 *
 *     for each tile of queries (a task)        Q, dO into scratch; dQ = 0
 *         for each block of 64 keys that some row sees      K, K^T, V^T into scratch
 *             for each 64 of the queries
 *                 S = Q K^T, dP = dO V^T                      2 GEMMs
 *                 P = exp(scale S - lse), dS = P (dP - delta)
 *                 dQ += dS K                                  1 GEMM
 *         store dQ
 *
 * The two-kernel split is that of Triton's fused-attention tutorial and of FlexAttention. Large
 * query tiles amortise the transposes of K and V: 64 x 2 d elements moved for 512 x 64 x 6 d flops.
 * L2 budget, d = 128: Q, dO, dQ at 256 KiB each. L1: tile.h.
 *
 * An accumulator other than fp32 rounds once a block of 64 keys (or once a key).
 *
 * With the aim DELTA the last GEMM is left out and delta_i = sum_j p_ij dp_ij is summed in fp32:
 * the delta that cancels exactly with the dp it is taken from.
 */
#include "kernels/cpu/q_major.h"

#include <string.h>

#include "kernels/cpu/acc.h"
#include "kernels/cpu/terms.h"
#include "kernels/cpu/tile.h"

struct scratch {
    float *q, *dout, *dq; /* the task's queries */
    union fb_cpu_cell *cells;
    float *k, *v, *k_panels, *v_panels; /* a block of keys */
    float *s, *dp;
    float *f, *g; /* of score terms, for the block */
};

struct place {
    struct fb_cpu_seq seq;
    int64_t h, first, end;    /* the task's queries */
    struct fb_cpu_span block; /* of keys */
    int64_t row, rows;        /* 64 of the queries */
};

int64_t fb_cpu_q_tile(const struct fb_cpu_job *job)
{
    const int64_t wanted = job->b * job->h >= 8 ? 4 : 8;
    const int64_t width = fb_cpu_width(fb_cpu_max(job->d, job->dv));
    int64_t tile = width > 128 ? 256 : 512;
    while (tile > FB_CPU_QUERY_TILE && job->nq < wanted * tile)
        tile /= 2;
    return tile;
}

static void scratch_layout(struct fb_cpu_arena *arena, const struct fb_cpu_q *q, struct scratch *s)
{
    const struct fb_cpu_job *job = q->job;
    const int64_t d = fb_cpu_width(job->d), dv = fb_cpu_width(job->dv);
    const bool gradient = q->aim == FB_CPU_Q_GRADIENT;
    const bool cells = gradient && job->acc_dq != FB_CPU_ACC_FP32;
    s->q = fb_cpu_take_floats(arena, q->tile * d);
    s->dout = fb_cpu_take_floats(arena, q->tile * dv);
    s->dq = fb_cpu_take_floats(arena, gradient ? q->tile * d : 0);
    s->cells = fb_cpu_take(arena, cells ? q->tile * job->d : 0, sizeof *s->cells);
    s->k = fb_cpu_take_floats(arena, FB_CPU_KEY_BLOCK * d);
    s->v = fb_cpu_take_floats(arena, FB_CPU_KEY_BLOCK * dv);
    s->k_panels = fb_cpu_take_floats(arena, fb_cpu_packed(FB_CPU_KEY_BLOCK, job->d));
    s->v_panels = fb_cpu_take_floats(arena, fb_cpu_packed(FB_CPU_KEY_BLOCK, job->dv));
    s->s = fb_cpu_take_floats(arena, FB_CPU_QUERY_TILE * FB_CPU_BLOCK_LD);
    s->dp = fb_cpu_take_floats(arena, FB_CPU_QUERY_TILE * FB_CPU_BLOCK_LD);
    fb_cpu_terms_layout(arena, job, FB_CPU_QUERY_TILE * FB_CPU_BLOCK_LD, &s->f, &s->g);
}

void fb_cpu_q_layout(struct fb_cpu_arena *arena, const struct fb_cpu_job *job,
                     const struct fb_cpu_rows *rows, enum fb_cpu_q_aim aim, struct fb_cpu_q *q)
{
    struct fb_cpu_arena one = {0};
    struct scratch unused;
    *q = (struct fb_cpu_q){.job = job, .rows = rows, .aim = aim, .ops = fb_cpu_ops()};
    q->tile = fb_cpu_q_tile(job);
    q->tiles = fb_cpu_tiles(job->nq, q->tile);
    q->slots = fb_cpu_slots(job, job->b * job->h * q->tiles);
    scratch_layout(&one, q, &unused);
    q->scratch_bytes = one.used;
    q->scratch = fb_cpu_take(arena, q->slots, one.used);
}

static void load_keys(const struct fb_cpu_q *q, const struct scratch *s, const struct place *at)
{
    const struct fb_cpu_job *job = q->job;
    const int64_t hk = at->h / (job->h / job->hk), n = at->block.end - at->block.begin;
    const int64_t row = at->seq.k_row + at->block.begin;
    fb_cpu_tile_load(q->ops, s->k, &job->k, at->seq.batch, hk, row, n, job->d);
    q->ops->pack(s->k_panels, s->k, fb_cpu_width(job->d), n, job->d);
    fb_cpu_tile_load(q->ops, s->v, &job->v, at->seq.batch, hk, row, n, job->dv);
    q->ops->pack(s->v_panels, s->v, fb_cpu_width(job->dv), n, job->dv);
}

/* The same through score terms. Where p alone is wanted its dropout factors go into p, not dp. */
static void block_terms(const struct fb_cpu_q *q, const struct scratch *s, const struct place *at,
                        struct fb_cpu_scores *scores)
{
    const struct fb_cpu_block block = {.seq = &at->seq,
                                       .h = at->h,
                                       .row = at->row,
                                       .rows = at->rows,
                                       .key = at->block.begin,
                                       .n = scores->n,
                                       .ld = FB_CPU_BLOCK_LD,
                                       .s = s->s,
                                       .dp = scores->dp,
                                       .f = s->f,
                                       .g = scores->dp ? s->g : NULL};
    const enum fb_cpu_type round = scores->round;
    scores->round = FB_CPU_FP32;
    scores->scale = fb_cpu_terms_before(q->ops, q->job, &block);
    q->ops->scores(scores);
    fb_cpu_terms_after(q->ops, q->job, &block, round);
}

/* s becomes p; dp becomes ds when the gradient is wanted. */
static void block_scores(const struct fb_cpu_q *q, const struct scratch *s, const struct place *at)
{
    const struct fb_cpu_job *job = q->job;
    const int64_t n = at->block.end - at->block.begin, in = at->row - at->first;
    const int64_t line = fb_cpu_line(job, &at->seq, at->h, at->row);
    const bool gradient = q->aim == FB_CPU_Q_GRADIENT;
    struct fb_cpu_scores scores = {.rows = at->rows,
                                   .n = n,
                                   .ld = FB_CPU_BLOCK_LD,
                                   .lo = at->row + at->seq.lo - at->block.begin,
                                   .hi = at->row + at->seq.hi - at->block.begin,
                                   .scale = job->scale,
                                   .round = gradient ? job->ps : FB_CPU_FP32,
                                   .s = s->s,
                                   .dp = gradient ? s->dp : NULL,
                                   .sub = q->rows->sub + line,
                                   .mul = q->rows->mul ? q->rows->mul + line : NULL,
                                   .delta = gradient ? q->rows->delta + line : NULL};
    fb_cpu_tile_scores(q->ops, s->s, s->q + in * fb_cpu_width(job->d), s->k_panels, at->rows, n,
                       job->d);
    fb_cpu_tile_scores(q->ops, s->dp, s->dout + in * fb_cpu_width(job->dv), s->v_panels, at->rows,
                       n, job->dv);
    if (job->terms.any)
        block_terms(q, s, at, &scores);
    else
        q->ops->scores(&scores);
}

static void add_to_cells(const struct fb_cpu_q *q, const struct scratch *s, const struct place *at)
{
    const struct fb_cpu_job *job = q->job;
    const int64_t in = at->row - at->first, ld = fb_cpu_width(job->d);
    const int64_t n = at->block.end - at->block.begin;
    const uint64_t position = (uint64_t)(fb_cpu_line(job, &at->seq, at->h, at->row) * job->d);
    if (job->round_row) {
        fb_cpu_acc_products(job->acc_dq, s->cells + in * job->d, s->dp, FB_CPU_BLOCK_LD, 1, s->k,
                            ld, at->rows, job->d, n, position, (uint64_t)at->block.begin);
    } else {
        fb_cpu_tile_across(q->ops, s->dq, s->dp, s->k, at->rows, n, job->d, false);
        fb_cpu_acc_add(job->acc_dq, s->cells + in * job->d, s->dq, ld, at->rows, job->d, position,
                       (uint64_t)at->block.begin);
    }
}

static void block(const struct fb_cpu_q *q, const struct scratch *s, const struct place *at)
{
    const struct fb_cpu_job *job = q->job;
    const int64_t n = at->block.end - at->block.begin, in = at->row - at->first;
    block_scores(q, s, at);
    if (q->aim == FB_CPU_Q_DELTA)
        q->ops->dots(q->rows->delta + fb_cpu_line(job, &at->seq, at->h, at->row), s->s,
                     FB_CPU_BLOCK_LD, s->dp, FB_CPU_BLOCK_LD, at->rows, n, true);
    else if (job->acc_dq != FB_CPU_ACC_FP32)
        add_to_cells(q, s, at);
    else
        fb_cpu_tile_across(q->ops, s->dq + in * fb_cpu_width(job->d), s->dp, s->k, at->rows, n,
                           job->d, true);
}

static void begin_delta(const struct fb_cpu_q *q, const struct place *at)
{
    const int64_t rows = at->end - at->first;
    float *delta = q->rows->delta + fb_cpu_line(q->job, &at->seq, at->h, at->first);
    memset(delta, 0, (size_t)rows * sizeof *delta);
    fb_cpu_rows_less_dlse(q->job, &at->seq, at->h, at->first, rows, delta);
}

static void begin(const struct fb_cpu_q *q, const struct scratch *s, const struct place *at)
{
    const struct fb_cpu_job *job = q->job;
    const int64_t rows = at->end - at->first, first = at->seq.q_row + at->first;
    fb_cpu_tile_load(q->ops, s->q, &job->q, at->seq.batch, at->h, first, rows, job->d);
    fb_cpu_tile_load(q->ops, s->dout, &job->dout, at->seq.batch, at->h, first, rows, job->dv);
    if (q->aim == FB_CPU_Q_DELTA)
        begin_delta(q, at);
    else if (job->acc_dq != FB_CPU_ACC_FP32)
        memset(s->cells, 0, (size_t)(rows * job->d) * sizeof *s->cells);
    else
        memset(s->dq, 0, (size_t)(rows * fb_cpu_width(job->d)) * sizeof *s->dq);
}

static void finish(const struct fb_cpu_q *q, const struct scratch *s, const struct place *at)
{
    const struct fb_cpu_job *job = q->job;
    const int64_t rows = at->end - at->first;
    if (q->aim == FB_CPU_Q_DELTA)
        return;
    if (job->acc_dq != FB_CPU_ACC_FP32)
        fb_cpu_acc_read(job->acc_dq, s->dq, fb_cpu_width(job->d), s->cells, rows, job->d);
    fb_cpu_tile_store(q->ops, &job->grad_q, at->seq.batch, at->h, at->seq.q_row + at->first, s->dq,
                      rows, job->d, job->scale);
}

static void query_tile(const struct fb_cpu_q *q, const struct scratch *s, struct place *at)
{
    const struct fb_cpu_span seen = fb_cpu_keys(&at->seq, at->first, at->end);
    begin(q, s, at);
    /* Blocks begin at multiples of 64 in every task, so that roundings do not depend on it. */
    for (int64_t j = seen.begin / FB_CPU_KEY_BLOCK * FB_CPU_KEY_BLOCK; j < seen.end;
         j += FB_CPU_KEY_BLOCK) {
        at->block = (struct fb_cpu_span){j, fb_cpu_min(j + FB_CPU_KEY_BLOCK, at->seq.nk)};
        load_keys(q, s, at);
        for (at->row = at->first; at->row < at->end; at->row += FB_CPU_QUERY_TILE) {
            at->rows = fb_cpu_min(FB_CPU_QUERY_TILE, at->end - at->row);
            if (fb_cpu_meet(at->block, fb_cpu_keys(&at->seq, at->row, at->row + at->rows)))
                block(q, s, at);
        }
    }
    finish(q, s, at);
}

/* Last queries first: under a causal mask they have the most work. */
static void work(void *argument, int slot)
{
    struct fb_cpu_q *q = argument;
    const struct fb_cpu_job *job = q->job;
    struct fb_cpu_arena arena = {.base = q->scratch + (size_t)slot * q->scratch_bytes};
    struct scratch s;
    scratch_layout(&arena, q, &s);
    for (int64_t t; (t = fb_cpu_ticket(&q->tickets)) >= 0;) {
        const int64_t head = t / q->tiles, first = (q->tiles - 1 - t % q->tiles) * q->tile;
        struct place at = {
            .seq = fb_cpu_seq(job, head / job->h), .h = head % job->h, .first = first};
        at.end = fb_cpu_min(first + q->tile, at.seq.nq);
        if (first < at.end)
            query_tile(q, &s, &at);
    }
}

void fb_cpu_q_run(struct fb_cpu_q *q)
{
    fb_cpu_tickets_init(&q->tickets, q->job->b * q->job->h * q->tiles);
    fb_cpu_parallel(q->slots, work, q);
}
