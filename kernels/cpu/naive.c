/* SPDX-License-Identifier: BSD-3-Clause
 *
 * naive.c: attention as a framework without a fused kernel computes it: S = Q K^T as a matrix in
 * memory, softmax over its rows, O = P V; backward dP = dO V^T, dS = P (dP - delta), and dQ, dK, dV
 * as three more GEMMs. The BLAS does the GEMMs on whole matrices; the softmax and its gradient are
 * one pass each.
 *
 * P is kept by the forward (cpu-naive) in the type that ps declares, which is the problem's dtype
 * unless ps=fp32: n^2 elements a head, what the word "quadratic" in every FlashAttention paper
 * refers to. Or it is made again (cpu-naive-recompute): then one GEMM and one exponential a score
 * more, and the matrix is in the workspace.
 *
 * What limits: GEMMs run at the BLAS's speed for large matrices, so the distance to it is memory:
 * at n = 4096 a matrix has 64 MiB, and a backward reads or writes such a matrix some nine times
 * (S, P, dP, dS as operands, results and in passes), with no use for a causal mask: masked scores
 * are computed and thrown away.
 *
 * Threads: one key head each when there are at least as many as threads, with the BLAS told to use
 * one; else heads one after the other, with threads inside the BLAS and inside the passes.
 *
 * Deterministic: a head is one sequence of GEMMs. (The bits of a GEMM may depend on how many
 * threads the BLAS uses, not on the run.) Accumulators are the BLAS's, fp32.
 */
#include "kernels/cpu/naive.h"

#include <math.h>

#include "kernels/cpu/bits.h"
#include "kernels/cpu/blas.h"
#include "kernels/cpu/tile.h"

/* Scratch of one slot: one query head and its key head as fp32, and two score matrices. */
struct scratch {
    float *q, *k, *v, *o, *dout, *dq, *dk, *dv;
    float *s, *dp;
    float *max, *sum, *delta;
};

struct head {
    const struct fb_cpu_naive *naive;
    struct scratch s;
    int64_t b, h, hk;
    int threads; /* for the passes over rows */
    const float *p;
    int64_t ldp;
    struct fb_cpu_tickets tickets;
};

size_t fb_cpu_naive_saved(const struct fb_cpu_job *job)
{
    return (size_t)(job->b * job->h * job->nq * job->nk) * (job->ps == FB_CPU_FP32 ? 4 : 2);
}

static void scratch_layout(struct fb_cpu_arena *arena, const struct fb_cpu_job *job,
                           struct scratch *s)
{
    const int64_t d = fb_cpu_width(job->d), dv = fb_cpu_width(job->dv);
    s->q = fb_cpu_take_floats(arena, job->nq * d);
    s->k = fb_cpu_take_floats(arena, job->nk * d);
    s->v = fb_cpu_take_floats(arena, job->nk * dv);
    s->o = fb_cpu_take_floats(arena, job->nq * dv);
    s->dout = fb_cpu_take_floats(arena, job->nq * dv);
    s->dq = fb_cpu_take_floats(arena, job->nq * d);
    s->dk = fb_cpu_take_floats(arena, job->nk * d);
    s->dv = fb_cpu_take_floats(arena, job->nk * dv);
    s->s = fb_cpu_take_floats(arena, job->nq * fb_cpu_width(job->nk));
    s->dp = fb_cpu_take_floats(arena, job->nq * fb_cpu_width(job->nk));
    s->max = fb_cpu_take_floats(arena, job->nq);
    s->sum = fb_cpu_take_floats(arena, job->nq);
    s->delta = fb_cpu_take_floats(arena, job->nq);
}

void fb_cpu_naive_layout(struct fb_cpu_arena *arena, const struct fb_cpu_job *job, void *p,
                         struct fb_cpu_naive *naive)
{
    struct fb_cpu_arena one = {0};
    struct scratch unused;
    *naive = (struct fb_cpu_naive){.job = job, .ops = fb_cpu_ops(), .p = p};
    naive->slots = fb_cpu_slots(job, job->b * job->hk);
    scratch_layout(&one, job, &unused);
    naive->scratch_bytes = one.used;
    naive->scratch = fb_cpu_take(arena, naive->slots, one.used);
}

/* ---- Passes over rows: 64 at a time, in the threads of this head -------------------------------
 */

static void softmax_rows(const struct head *at, int64_t row, int64_t rows)
{
    const struct fb_cpu_job *job = at->naive->job;
    const struct scratch *s = &at->s;
    const int64_t ld = fb_cpu_width(job->nk);
    for (int64_t r = row; r < row + rows; r++) {
        s->max[r] = -INFINITY;
        s->sum[r] = 0;
    }
    at->naive->ops->online(&(struct fb_cpu_online){.rows = rows,
                                                   .n = job->nk,
                                                   .ld = ld,
                                                   .lo = row + job->lo,
                                                   .hi = row + job->hi,
                                                   .scale = job->scale,
                                                   .s = s->s + row * ld,
                                                   .max = s->max + row,
                                                   .sum = s->sum + row,
                                                   .o = s->o});
    at->naive->ops->divide(s->s + row * ld, ld, s->sum + row, rows);
    for (int64_t r = row; r < row + rows; r++) {
        float *lse = fb_cpu_row(&job->lse, at->b, at->h, r);
        *lse = (float)((double)s->max[r] + log((double)s->sum[r]));
    }
    if (at->naive->p) {
        const int64_t line = ((at->b * job->h + at->h) * job->nq + row) * job->nk;
        at->naive->ops->store((char *)at->naive->p + line * (job->ps == FB_CPU_FP32 ? 4 : 2),
                              job->ps, job->nk, s->s + row * ld, ld, rows, job->nk, 1.0f);
    }
}

/* delta where it is made from o; with sub, the lse as it is read. */
static void delta_rows(const struct head *at, int64_t row, int64_t rows)
{
    const struct fb_cpu_job *job = at->naive->job;
    const struct scratch *s = &at->s;
    const int64_t ld = fb_cpu_width(job->dv);
    if (job->delta != FB_CPU_DELTA_RECOMPUTED)
        at->naive->ops->dots(s->delta + row, s->o + row * ld, ld, s->dout + row * ld, ld, rows,
                             job->dv, false);
    for (int64_t r = row; r < row + rows; r++) {
        const float lse = *(const float *)fb_cpu_row(&job->lse, at->b, at->h, r);
        s->max[r] = job->lse_bf16 ? fb_cpu_round_bf16(lse) : lse;
        if (job->delta == FB_CPU_DELTA_BF16)
            s->delta[r] = fb_cpu_round_bf16(s->delta[r]);
    }
}

/* From P in memory. */
static void gradient_rows(const struct head *at, int64_t row, int64_t rows)
{
    const struct fb_cpu_job *job = at->naive->job;
    const struct scratch *s = &at->s;
    const int64_t ld = fb_cpu_width(job->nk);
    if (job->delta == FB_CPU_DELTA_RECOMPUTED)
        at->naive->ops->dots(s->delta + row, at->p + row * at->ldp, at->ldp, s->dp + row * ld, ld,
                             rows, job->nk, false);
    at->naive->ops->gradient(s->dp + row * ld, ld, at->p + row * at->ldp, at->ldp, s->delta + row,
                             rows, job->nk, job->ps);
}

/* From S: P and dS in one pass, or, where delta needs P first, in two. */
static void score_rows(const struct head *at, int64_t row, int64_t rows)
{
    const struct fb_cpu_job *job = at->naive->job;
    const struct scratch *s = &at->s;
    const int64_t ld = fb_cpu_width(job->nk);
    const bool delta_first = job->delta == FB_CPU_DELTA_RECOMPUTED;
    at->naive->ops->scores(&(struct fb_cpu_scores){.rows = rows,
                                                   .n = job->nk,
                                                   .ld = ld,
                                                   .lo = row + job->lo,
                                                   .hi = row + job->hi,
                                                   .scale = job->scale,
                                                   .round = job->ps,
                                                   .s = s->s + row * ld,
                                                   .dp = delta_first ? NULL : s->dp + row * ld,
                                                   .sub = s->max + row,
                                                   .delta = s->delta + row});
    if (delta_first)
        gradient_rows(at, row, rows);
}

/* P as it was saved, to fp32. */
static void load_rows(const struct head *at, int64_t row, int64_t rows)
{
    const struct fb_cpu_job *job = at->naive->job;
    const int64_t ld = fb_cpu_width(job->nk);
    const int64_t line = ((at->b * job->h + at->h) * job->nq + row) * job->nk;
    at->naive->ops->load(at->s.s + row * ld, ld, (const uint16_t *)at->naive->p + line, job->ps,
                         job->nk, rows, job->nk);
}

struct pass {
    struct head *head;
    void (*rows)(const struct head *, int64_t row, int64_t rows);
};

static void pass_work(void *argument, int slot)
{
    const struct pass *pass = argument;
    const int64_t nq = pass->head->naive->job->nq;
    (void)slot;
    for (int64_t t; (t = fb_cpu_ticket(&pass->head->tickets)) >= 0;) {
        const int64_t row = t * FB_CPU_QUERY_TILE;
        pass->rows(pass->head, row, fb_cpu_min(FB_CPU_QUERY_TILE, nq - row));
    }
}

static void over_rows(struct head *at, void (*rows)(const struct head *, int64_t, int64_t))
{
    struct pass pass = {at, rows};
    fb_cpu_tickets_init(&at->tickets, fb_cpu_tiles(at->naive->job->nq, FB_CPU_QUERY_TILE));
    fb_cpu_parallel(at->threads, pass_work, &pass);
}

/* ---- GEMMs -------------------------------------------------------------------------------------
 */

/* block[nq][nk] = a[nq][k] b[nk][k]^T */
static void scores_gemm(const struct head *at, float *block, const float *a, const float *b,
                        int64_t k)
{
    const struct fb_cpu_job *job = at->naive->job;
    fb_cpu_blas_gemm(&(struct fb_cpu_blas_gemm){.m = job->nq,
                                                .n = job->nk,
                                                .k = k,
                                                .a = a,
                                                .b = b,
                                                .c = block,
                                                .lda = fb_cpu_width(k),
                                                .ldb = fb_cpu_width(k),
                                                .ldc = fb_cpu_width(job->nk),
                                                .bt = true});
}

/* c[nk][k] (+)= block[nq][nk]^T b[nq][k] */
static void down_gemm(const struct head *at, float *c, const float *block, int64_t ld,
                      const float *b, int64_t k, bool add)
{
    const struct fb_cpu_job *job = at->naive->job;
    fb_cpu_blas_gemm(&(struct fb_cpu_blas_gemm){.m = job->nk,
                                                .n = k,
                                                .k = job->nq,
                                                .a = block,
                                                .b = b,
                                                .c = c,
                                                .lda = ld,
                                                .ldb = fb_cpu_width(k),
                                                .ldc = fb_cpu_width(k),
                                                .at = true,
                                                .add = add});
}

/* c[nq][k] = block[nq][nk] b[nk][k] */
static void across_gemm(const struct head *at, float *c, const float *block, const float *b,
                        int64_t k)
{
    const struct fb_cpu_job *job = at->naive->job;
    fb_cpu_blas_gemm(&(struct fb_cpu_blas_gemm){.m = job->nq,
                                                .n = k,
                                                .k = job->nk,
                                                .a = block,
                                                .b = b,
                                                .c = c,
                                                .lda = fb_cpu_width(job->nk),
                                                .ldb = fb_cpu_width(k),
                                                .ldc = fb_cpu_width(k)});
}

/* ---- Heads -------------------------------------------------------------------------------------
 */

static void forward_head(struct head *at)
{
    const struct fb_cpu_job *job = at->naive->job;
    const struct fb_cpu_ops *ops = at->naive->ops;
    const struct scratch *s = &at->s;
    fb_cpu_tile_load(ops, s->q, &job->q, at->b, at->h, 0, job->nq, job->d);
    scores_gemm(at, s->s, s->q, s->k, job->d);
    over_rows(at, softmax_rows);
    across_gemm(at, s->o, s->s, s->v, job->dv);
    fb_cpu_tile_store(ops, &job->o, at->b, at->h, 0, s->o, job->nq, job->dv, 1.0f);
}

/* P (or S) where the passes want it: the saved fp32 matrix itself, or fp32 in scratch. */
static void find_p(struct head *at)
{
    const struct fb_cpu_job *job = at->naive->job;
    at->p = at->s.s;
    at->ldp = fb_cpu_width(job->nk);
    if (!at->naive->p) {
        scores_gemm(at, at->s.s, at->s.q, at->s.k, job->d);
    } else if (job->ps == FB_CPU_FP32) {
        at->p = (const float *)at->naive->p + (at->b * job->h + at->h) * job->nq * job->nk;
        at->ldp = job->nk;
    } else {
        over_rows(at, load_rows);
    }
}

static void backward_head(struct head *at, bool first)
{
    const struct fb_cpu_job *job = at->naive->job;
    const struct fb_cpu_ops *ops = at->naive->ops;
    const struct scratch *s = &at->s;
    fb_cpu_tile_load(ops, s->q, &job->q, at->b, at->h, 0, job->nq, job->d);
    fb_cpu_tile_load(ops, s->o, &job->o, at->b, at->h, 0, job->nq, job->dv);
    fb_cpu_tile_load(ops, s->dout, &job->dout, at->b, at->h, 0, job->nq, job->dv);
    over_rows(at, delta_rows);
    find_p(at);
    scores_gemm(at, s->dp, s->dout, s->v, job->dv);
    over_rows(at, at->naive->p ? gradient_rows : score_rows);
    down_gemm(at, s->dv, at->p, at->ldp, s->dout, job->dv, !first);
    down_gemm(at, s->dk, s->dp, fb_cpu_width(job->nk), s->q, job->d, !first);
    across_gemm(at, s->dq, s->dp, s->k, job->d);
    fb_cpu_tile_store(ops, &job->grad_q, at->b, at->h, 0, s->dq, job->nq, job->d, job->scale);
}

static void key_head(struct head *at, bool backward)
{
    const struct fb_cpu_job *job = at->naive->job;
    const struct fb_cpu_ops *ops = at->naive->ops;
    const struct scratch *s = &at->s;
    const int64_t group = job->h / job->hk;
    fb_cpu_tile_load(ops, s->k, &job->k, at->b, at->hk, 0, job->nk, job->d);
    fb_cpu_tile_load(ops, s->v, &job->v, at->b, at->hk, 0, job->nk, job->dv);
    for (at->h = at->hk * group; at->h < (at->hk + 1) * group; at->h++) {
        if (backward)
            backward_head(at, at->h == at->hk * group);
        else
            forward_head(at);
    }
    if (!backward)
        return;
    fb_cpu_tile_store(ops, &job->grad_k, at->b, at->hk, 0, s->dk, job->nk, job->d, job->scale);
    fb_cpu_tile_store(ops, &job->grad_v, at->b, at->hk, 0, s->dv, job->nk, job->dv, 1.0f);
}

static void heads(struct fb_cpu_naive *naive, int slot, int threads, bool backward)
{
    const struct fb_cpu_job *job = naive->job;
    struct fb_cpu_arena arena = {.base = naive->scratch + (size_t)slot * naive->scratch_bytes};
    struct head at = {.naive = naive, .threads = threads};
    scratch_layout(&arena, job, &at.s);
    for (int64_t t; (t = fb_cpu_ticket(&naive->tickets)) >= 0;) {
        at.b = t / job->hk;
        at.hk = t % job->hk;
        key_head(&at, backward);
    }
}

static void forward_work(void *argument, int slot)
{
    heads(argument, slot, 1, false);
}

static void backward_work(void *argument, int slot)
{
    heads(argument, slot, 1, true);
}

static void run(struct fb_cpu_naive *naive, bool backward)
{
    const struct fb_cpu_job *job = naive->job;
    const bool by_head = job->b * job->hk >= job->threads;
    const int before = fb_cpu_blas_threads(by_head ? 1 : job->threads);
    fb_cpu_tickets_init(&naive->tickets, job->b * job->hk);
    if (by_head)
        fb_cpu_parallel(naive->slots, backward ? backward_work : forward_work, naive);
    else
        heads(naive, 0, job->threads, backward);
    fb_cpu_blas_threads(before);
}

void fb_cpu_naive_forward(struct fb_cpu_naive *naive)
{
    run(naive, false);
}

void fb_cpu_naive_backward(struct fb_cpu_naive *naive)
{
    run(naive, true);
}
