/* SPDX-License-Identifier: BSD-3-Clause
 *
 * naive_rows.c: softmax and its gradient over whole rows of score matrices in memory. Every pass
 * reads or writes one to four matrices once and is bound by that.
 */
#include "kernels/cpu/naive_rows.h"

#include <math.h>

#include "kernels/cpu/hot/bits.h"
#include "kernels/cpu/terms.h"
#include "kernels/cpu/tile.h"

struct pass {
    struct fb_cpu_naive_head *head;
    void (*rows)(const struct fb_cpu_naive_head *, int64_t row, int64_t rows);
};

static void pass_work(void *argument, int slot)
{
    const struct pass *pass = argument;
    const int64_t nq = pass->head->seq.nq;
    (void)slot;
    for (int64_t t; (t = fb_cpu_ticket(&pass->head->tickets)) >= 0;) {
        const int64_t row = t * FB_CPU_QUERY_TILE;
        pass->rows(pass->head, row, fb_cpu_min(FB_CPU_QUERY_TILE, nq - row));
    }
}

void fb_cpu_naive_over_rows(struct fb_cpu_naive_head *at,
                            void (*rows)(const struct fb_cpu_naive_head *, int64_t row,
                                         int64_t rows))
{
    struct pass pass = {at, rows};
    fb_cpu_tickets_init(&at->tickets, fb_cpu_tiles(at->seq.nq, FB_CPU_QUERY_TILE));
    fb_cpu_parallel(at->threads, pass_work, &pass);
}

/* These rows as a block of score terms. */
static struct fb_cpu_block block_of(const struct fb_cpu_naive_head *at, int64_t row, int64_t rows)
{
    const struct fb_cpu_naive_scratch *s = &at->s;
    const int64_t ld = fb_cpu_width(at->naive->job->nk), first = row * ld;
    return (struct fb_cpu_block){.seq = &at->seq,
                                 .h = at->h,
                                 .row = row,
                                 .rows = rows,
                                 .n = at->seq.nk,
                                 .ld = ld,
                                 .s = s->s + first,
                                 .dp = s->dp + first,
                                 .f = s->f + first,
                                 .g = s->g + first};
}

/* ---- Forward ------------------------------------------------------------------------------------
 */

static void save_rows(const struct fb_cpu_naive_head *at, int64_t row, int64_t rows)
{
    const struct fb_cpu_naive *naive = at->naive;
    const int64_t ld = fb_cpu_width(naive->job->nk), nk = at->seq.nk;
    const int64_t entry = fb_cpu_naive_entry(at) + row * nk;
    const enum fb_cpu_type type = fb_cpu_naive_type(naive->job);
    naive->ops->store((char *)naive->p + entry * (type == FB_CPU_FP32 ? 4 : 2), type, nk,
                      at->s.s + row * ld, ld, rows, nk, 1.0f);
    if (naive->g)
        naive->ops->store(naive->g + entry, FB_CPU_FP32, nk, at->s.g + row * ld, ld, rows, nk,
                          1.0f);
}

/* A row without keys has no softmax, sink or not. */
static void store_lse(const struct fb_cpu_naive_head *at, int64_t row, int64_t rows)
{
    const struct fb_cpu_naive_scratch *s = &at->s;
    for (int64_t r = row; r < row + rows; r++) {
        const struct fb_cpu_span seen = fb_cpu_keys(&at->seq, r, r + 1);
        float *lse = fb_cpu_row(&at->naive->job->lse, at->seq.batch, at->h, at->seq.q_row + r);
        *lse =
            seen.begin < seen.end ? (float)((double)s->max[r] + log((double)s->sum[r])) : -INFINITY;
    }
}

void fb_cpu_naive_softmax(const struct fb_cpu_naive_head *at, int64_t row, int64_t rows)
{
    const struct fb_cpu_job *job = at->naive->job;
    const struct fb_cpu_ops *ops = at->naive->ops;
    const struct fb_cpu_naive_scratch *s = &at->s;
    const int64_t ld = fb_cpu_width(job->nk);
    const float *sink = job->terms.sink ? fb_cpu_row(&job->terms.sink_values, 0, at->h, 0) : NULL;
    struct fb_cpu_block block = block_of(at, row, rows);
    block.dp = NULL;
    for (int64_t r = row; r < row + rows; r++) {
        s->max[r] = sink ? *sink : -INFINITY;
        s->sum[r] = s->max[r] == -INFINITY ? 0 : 1;
    }
    const float scale = job->terms.any ? fb_cpu_terms_before(ops, job, &block) : job->scale;
    ops->online(&(struct fb_cpu_online){.rows = rows,
                                        .n = at->seq.nk,
                                        .ld = ld,
                                        .lo = row + at->seq.lo,
                                        .hi = row + at->seq.hi,
                                        .scale = scale,
                                        .s = s->s + row * ld,
                                        .max = s->max + row,
                                        .sum = s->sum + row,
                                        .o = s->o});
    ops->divide(s->s + row * ld, ld, s->sum + row, rows);
    store_lse(at, row, rows);
    if (at->naive->p)
        save_rows(at, row, rows);
    if (job->terms.any)
        fb_cpu_terms_after(ops, job, &block, FB_CPU_FP32);
}

/* ---- Backward -----------------------------------------------------------------------------------
 */

void fb_cpu_naive_load(const struct fb_cpu_naive_head *at, int64_t row, int64_t rows)
{
    const struct fb_cpu_naive *naive = at->naive;
    const int64_t ld = fb_cpu_width(naive->job->nk), nk = at->seq.nk;
    const int64_t entry = fb_cpu_naive_entry(at) + row * nk;
    const enum fb_cpu_type type = fb_cpu_naive_type(naive->job);
    naive->ops->load(at->s.s + row * ld, ld,
                     (const char *)naive->p + entry * (type == FB_CPU_FP32 ? 4 : 2), type, nk, rows,
                     nk);
    if (naive->g)
        naive->ops->load(at->s.g + row * ld, ld, naive->g + entry, FB_CPU_FP32, nk, rows, nk);
}

void fb_cpu_naive_delta(const struct fb_cpu_naive_head *at, int64_t row, int64_t rows)
{
    const struct fb_cpu_job *job = at->naive->job;
    const struct fb_cpu_naive_scratch *s = &at->s;
    const int64_t ld = fb_cpu_width(job->dv);
    if (job->delta != FB_CPU_DELTA_RECOMPUTED) {
        at->naive->ops->dots(s->delta + row, s->o + row * ld, ld, s->dout + row * ld, ld, rows,
                             job->dv, false);
        fb_cpu_rows_less_dlse(job, &at->seq, at->h, row, rows, s->delta + row);
    }
    for (int64_t r = row; r < row + rows; r++) {
        const float lse =
            *(const float *)fb_cpu_row(&job->lse, at->seq.batch, at->h, at->seq.q_row + r);
        s->max[r] = fb_cpu_sub(job->lse_bf16 ? fb_cpu_round_bf16(lse) : lse);
        if (job->delta == FB_CPU_DELTA_BF16)
            s->delta[r] = fb_cpu_round_bf16(s->delta[r]);
    }
}

/* dS from P and dP, with delta where it is the sum of their products. */
static void make_ds(const struct fb_cpu_naive_head *at, int64_t row, int64_t rows)
{
    const struct fb_cpu_job *job = at->naive->job;
    const struct fb_cpu_naive_scratch *s = &at->s;
    const int64_t ld = fb_cpu_width(job->nk), nk = at->seq.nk;
    const float *p = at->p + row * at->ldp;
    if (job->delta == FB_CPU_DELTA_RECOMPUTED) {
        at->naive->ops->dots(s->delta + row, p, at->ldp, s->dp + row * ld, ld, rows, nk, false);
        fb_cpu_rows_less_dlse(job, &at->seq, at->h, row, rows, s->delta + row);
    }
    at->naive->ops->gradient(s->dp + row * ld, ld, p, at->ldp, s->delta + row, rows, nk,
                             job->terms.any ? FB_CPU_FP32 : job->ps);
}

static void finish_terms(const struct fb_cpu_naive_head *at, const struct fb_cpu_block *block)
{
    const struct fb_cpu_job *job = at->naive->job;
    if (!job->terms.any)
        return;
    fb_cpu_terms_bias(at->naive->ops, job, block);
    fb_cpu_terms_after(at->naive->ops, job, block, job->ps);
}

void fb_cpu_naive_gradient(const struct fb_cpu_naive_head *at, int64_t row, int64_t rows)
{
    const struct fb_cpu_block block = block_of(at, row, rows);
    fb_cpu_terms_drop(at->naive->ops, at->naive->job, &block);
    make_ds(at, row, rows);
    finish_terms(at, &block);
}

/* P and dS in one pass, or, where delta needs P first, in two. */
void fb_cpu_naive_scores(const struct fb_cpu_naive_head *at, int64_t row, int64_t rows)
{
    const struct fb_cpu_job *job = at->naive->job;
    const struct fb_cpu_naive_scratch *s = &at->s;
    const int64_t ld = fb_cpu_width(job->nk);
    const bool delta_first = job->delta == FB_CPU_DELTA_RECOMPUTED, terms = job->terms.any;
    const struct fb_cpu_block block = block_of(at, row, rows);
    const float scale = terms ? fb_cpu_terms_before(at->naive->ops, job, &block) : job->scale;
    at->naive->ops->scores(&(struct fb_cpu_scores){.rows = rows,
                                                   .n = at->seq.nk,
                                                   .ld = ld,
                                                   .lo = row + at->seq.lo,
                                                   .hi = row + at->seq.hi,
                                                   .scale = scale,
                                                   .round = terms ? FB_CPU_FP32 : job->ps,
                                                   .s = s->s + row * ld,
                                                   .dp = delta_first ? NULL : s->dp + row * ld,
                                                   .sub = s->max + row,
                                                   .delta = s->delta + row});
    if (delta_first)
        make_ds(at, row, rows);
    finish_terms(at, &block);
}
