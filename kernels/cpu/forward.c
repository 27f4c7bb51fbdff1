/* SPDX-License-Identifier: BSD-3-Clause
 *
 * forward.c: attention forward with a streaming softmax (Milakov and Gimelshein 2018;
 * FlashAttention, Dao et al. 2022), query-major like q_major.c: a task owns up to 512 queries of
 * one head, their running maximum m, sum l and unnormalised output, and walks over blocks of 64
 * keys.
 *
 *     for each tile of queries (a task)        Q into scratch; O = 0, m = -inf, l = 0
 *         for each block of 64 keys that some row sees      K^T, V into scratch
 *             for each 64 of the queries
 *                 S = Q K^T
 *                 m' = max(m, max scale S), P = exp(scale S - m'), l = l exp(m - m') + sum P
 *                 O = O exp(m - m') + P V
 *         o = O / l, lse = m + ln l
 *
 * P stays fp32 on its way into the second GEMM, whatever the numerics say of the backward's. A row
 * that sees no key gets o = 0, lse = -inf. Score terms change S before and P after the softmax step
 * (terms.h). Deterministic. Budgets as in q_major.c.
 */
#include "kernels/cpu/forward.h"

#include <math.h>
#include <string.h>

#include "kernels/cpu/q_major.h"
#include "kernels/cpu/terms.h"
#include "kernels/cpu/tile.h"

struct scratch {
    float *q, *o, *max, *sum;    /* the task's queries */
    float *k, *k_panels, *v, *s; /* a block of keys, and of scores */
    float *factors;              /* of dropout, for the block */
};

struct place {
    struct fb_cpu_seq seq;
    int64_t h, first, end;    /* the task's queries */
    struct fb_cpu_span block; /* of keys */
    int64_t row, rows;        /* 64 of the queries */
};

static void scratch_layout(struct fb_cpu_arena *arena, const struct fb_cpu_forward *f,
                           struct scratch *s)
{
    const struct fb_cpu_job *job = f->job;
    const int64_t d = fb_cpu_width(job->d), dv = fb_cpu_width(job->dv);
    s->q = fb_cpu_take_floats(arena, f->tile * d);
    s->o = fb_cpu_take_floats(arena, f->tile * dv);
    s->max = fb_cpu_take_floats(arena, f->tile);
    s->sum = fb_cpu_take_floats(arena, f->tile);
    s->k = fb_cpu_take_floats(arena, FB_CPU_KEY_BLOCK * d);
    s->k_panels = fb_cpu_take_floats(arena, fb_cpu_packed(FB_CPU_KEY_BLOCK, job->d));
    s->v = fb_cpu_take_floats(arena, FB_CPU_KEY_BLOCK * dv);
    s->s = fb_cpu_take_floats(arena, FB_CPU_QUERY_TILE * FB_CPU_BLOCK_LD);
    s->factors =
        fb_cpu_take_floats(arena, job->terms.dropout ? FB_CPU_QUERY_TILE * FB_CPU_BLOCK_LD : 0);
}

void fb_cpu_forward_layout(struct fb_cpu_arena *arena, const struct fb_cpu_job *job,
                           struct fb_cpu_forward *f)
{
    struct fb_cpu_arena one = {0};
    struct scratch unused;
    *f = (struct fb_cpu_forward){.job = job, .ops = fb_cpu_ops()};
    f->tile = fb_cpu_q_tile(job);
    f->tiles = fb_cpu_tiles(job->nq, f->tile);
    f->slots = fb_cpu_slots(job, job->b * job->h * f->tiles);
    scratch_layout(&one, f, &unused);
    f->scratch_bytes = one.used;
    f->scratch = fb_cpu_take(arena, f->slots, one.used);
}

/* A sink is one more logit that has been seen before any key. */
static void begin(const struct fb_cpu_forward *f, const struct scratch *s, const struct place *at)
{
    const struct fb_cpu_job *job = f->job;
    const int64_t rows = at->end - at->first;
    const float *sink = job->terms.sink ? fb_cpu_row(&job->terms.sink_values, 0, at->h, 0) : NULL;
    const float max = sink ? *sink : -INFINITY;
    fb_cpu_tile_load(f->ops, s->q, &job->q, at->seq.batch, at->h, at->seq.q_row + at->first, rows,
                     job->d);
    memset(s->o, 0, (size_t)(rows * fb_cpu_width(job->dv)) * sizeof *s->o);
    for (int64_t r = 0; r < rows; r++) {
        s->max[r] = max;
        s->sum[r] = max == -INFINITY ? 0 : 1;
    }
}

static void load_keys(const struct fb_cpu_forward *f, const struct scratch *s,
                      const struct place *at)
{
    const struct fb_cpu_job *job = f->job;
    const int64_t hk = at->h / (job->h / job->hk), n = at->block.end - at->block.begin;
    const int64_t row = at->seq.k_row + at->block.begin;
    fb_cpu_tile_load(f->ops, s->k, &job->k, at->seq.batch, hk, row, n, job->d);
    f->ops->pack(s->k_panels, s->k, fb_cpu_width(job->d), n, job->d);
    fb_cpu_tile_load(f->ops, s->v, &job->v, at->seq.batch, hk, row, n, job->dv);
}

static void block(const struct fb_cpu_forward *f, const struct scratch *s, const struct place *at)
{
    const struct fb_cpu_job *job = f->job;
    const int64_t n = at->block.end - at->block.begin, in = at->row - at->first;
    const int64_t ldo = fb_cpu_width(job->dv);
    const struct fb_cpu_block terms = {.seq = &at->seq,
                                       .h = at->h,
                                       .row = at->row,
                                       .rows = at->rows,
                                       .key = at->block.begin,
                                       .n = n,
                                       .ld = FB_CPU_BLOCK_LD,
                                       .s = s->s,
                                       .f = s->factors};
    fb_cpu_tile_scores(f->ops, s->s, s->q + in * fb_cpu_width(job->d), s->k_panels, at->rows, n,
                       job->d);
    const float scale = job->terms.any ? fb_cpu_terms_before(f->ops, job, &terms) : job->scale;
    f->ops->online(&(struct fb_cpu_online){.rows = at->rows,
                                           .n = n,
                                           .ld = FB_CPU_BLOCK_LD,
                                           .lo = at->row + at->seq.lo - at->block.begin,
                                           .hi = at->row + at->seq.hi - at->block.begin,
                                           .scale = scale,
                                           .s = s->s,
                                           .max = s->max + in,
                                           .sum = s->sum + in,
                                           .o = s->o + in * ldo,
                                           .ldo = ldo});
    if (job->terms.any)
        fb_cpu_terms_after(f->ops, job, &terms, FB_CPU_FP32);
    fb_cpu_tile_across(f->ops, s->o + in * ldo, s->s, s->v, at->rows, n, job->dv, true);
}

/* A row without keys has no softmax, sink or not. */
static void finish(const struct fb_cpu_forward *f, const struct scratch *s, const struct place *at)
{
    const struct fb_cpu_job *job = f->job;
    const int64_t rows = at->end - at->first, first = at->seq.q_row + at->first;
    const int64_t line = fb_cpu_line(job, &at->seq, at->h, at->first);
    f->ops->divide(s->o, fb_cpu_width(job->dv), s->sum, rows);
    fb_cpu_tile_store(f->ops, &job->o, at->seq.batch, at->h, first, s->o, rows, job->dv, 1.0f);
    for (int64_t r = 0; r < rows; r++) {
        const struct fb_cpu_span seen = fb_cpu_keys(&at->seq, at->first + r, at->first + r + 1);
        const bool any = seen.begin < seen.end;
        const float max = any ? s->max[r] : -INFINITY, sum = any ? s->sum[r] : 0;
        float *lse = fb_cpu_row(&job->lse, at->seq.batch, at->h, first + r);
        *lse = (float)((double)max + log((double)sum));
        if (job->row_max) {
            job->row_max[line + r] = max;
            job->row_sum[line + r] = sum;
        }
    }
}

static void query_tile(const struct fb_cpu_forward *f, const struct scratch *s, struct place *at)
{
    const struct fb_cpu_span seen = fb_cpu_keys(&at->seq, at->first, at->end);
    begin(f, s, at);
    for (int64_t j = seen.begin / FB_CPU_KEY_BLOCK * FB_CPU_KEY_BLOCK; j < seen.end;
         j += FB_CPU_KEY_BLOCK) {
        at->block = (struct fb_cpu_span){j, fb_cpu_min(j + FB_CPU_KEY_BLOCK, at->seq.nk)};
        load_keys(f, s, at);
        for (at->row = at->first; at->row < at->end; at->row += FB_CPU_QUERY_TILE) {
            at->rows = fb_cpu_min(FB_CPU_QUERY_TILE, at->end - at->row);
            if (fb_cpu_meet(at->block, fb_cpu_keys(&at->seq, at->row, at->row + at->rows)))
                block(f, s, at);
        }
    }
    finish(f, s, at);
}

static void work(void *argument, int slot)
{
    struct fb_cpu_forward *f = argument;
    const struct fb_cpu_job *job = f->job;
    struct fb_cpu_arena arena = {.base = f->scratch + (size_t)slot * f->scratch_bytes};
    struct scratch s;
    scratch_layout(&arena, f, &s);
    for (int64_t t; (t = fb_cpu_ticket(&f->tickets)) >= 0;) {
        const int64_t head = t / f->tiles, first = (f->tiles - 1 - t % f->tiles) * f->tile;
        struct place at = {
            .seq = fb_cpu_seq(job, head / job->h), .h = head % job->h, .first = first};
        at.end = fb_cpu_min(first + f->tile, at.seq.nq);
        if (first < at.end)
            query_tile(f, &s, &at);
    }
}

void fb_cpu_forward_run(struct fb_cpu_forward *f)
{
    fb_cpu_tickets_init(&f->tickets, f->job->b * f->job->h * f->tiles);
    fb_cpu_parallel(f->slots, work, f);
}
