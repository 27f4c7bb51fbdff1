/* SPDX-License-Identifier: BSD-3-Clause
 *
 * naive.c: attention as a framework without a fused kernel computes it: S = Q K^T as a matrix in
 * memory, softmax over its rows, O = P V; backward dP = dO V^T, dS = P (dP - delta), and dQ, dK, dV
 * as three more GEMMs. The BLAS does the GEMMs on whole matrices; the softmax and its gradient are
 * one pass each.
 *
 * P is kept by the forward (cpu-naive) in the type that ps declares, which is the problem's dtype
 * unless ps=fp32, and in fp32 where there is a bias: n^2 elements a head, what the word "quadratic"
 * in every FlashAttention paper refers to. Or it is made again (cpu-naive-recompute): then one GEMM
 * and one exponential a score more, and the matrix is in the workspace.
 *
 * What limits: GEMMs run at the BLAS's speed for large matrices, so the distance to it is memory:
 * at n = 4096 a matrix has 64 MiB, and a backward reads or writes such a matrix some nine times
 * (S, P, dP, dS as operands, results and in passes), with no use for a causal mask: masked scores
 * are computed and thrown away.
 *
 * Score terms change rows before and after the softmax (terms.h). With a softcap the forward keeps
 * its derivative beside P, fp32, as autograd keeps the output of the tanh; dropout draws its mask
 * again. A window saves nothing either.
 *
 * Threads: one key head each when there are at least as many as threads, with the BLAS told to use
 * one; else, and where a bias is shared and its gradient must be added to in one order, heads one
 * after the other, with threads inside the BLAS and inside the passes.
 *
 * Deterministic: a head is one sequence of GEMMs. (The bits of a GEMM may depend on how many
 * threads the BLAS uses, not on the run.) Accumulators are the BLAS's, fp32.
 */
#include "kernels/cpu/naive.h"

#include "kernels/cpu/blas.h"
#include "kernels/cpu/naive_rows.h"
#include "kernels/cpu/terms.h"
#include "kernels/cpu/tile.h"

static size_t p_bytes(const struct fb_cpu_job *job)
{
    return (size_t)(job->h * job->entries) * (fb_cpu_naive_type(job) == FB_CPU_FP32 ? 4 : 2);
}

/* g behind p, on a cache line of its own. */
static size_t g_offset(const struct fb_cpu_job *job)
{
    return (p_bytes(job) + 63) / 64 * 64;
}

size_t fb_cpu_naive_saved(const struct fb_cpu_job *job)
{
    if (job->terms.softcap == 0)
        return p_bytes(job);
    return g_offset(job) + (size_t)(job->h * job->entries) * sizeof(float);
}

static void scratch_layout(struct fb_cpu_arena *arena, const struct fb_cpu_job *job,
                           struct fb_cpu_naive_scratch *s)
{
    const int64_t d = fb_cpu_width(job->d), dv = fb_cpu_width(job->dv);
    const int64_t scores = job->nq * fb_cpu_width(job->nk);
    s->q = fb_cpu_take_floats(arena, job->nq * d);
    s->k = fb_cpu_take_floats(arena, job->nk * d);
    s->v = fb_cpu_take_floats(arena, job->nk * dv);
    s->o = fb_cpu_take_floats(arena, job->nq * dv);
    s->dout = fb_cpu_take_floats(arena, job->nq * dv);
    s->dq = fb_cpu_take_floats(arena, job->nq * d);
    s->dk = fb_cpu_take_floats(arena, job->nk * d);
    s->dv = fb_cpu_take_floats(arena, job->nk * dv);
    s->s = fb_cpu_take_floats(arena, scores);
    s->dp = fb_cpu_take_floats(arena, scores);
    fb_cpu_terms_layout(arena, job, scores, &s->f, &s->g);
    s->max = fb_cpu_take_floats(arena, job->nq);
    s->sum = fb_cpu_take_floats(arena, job->nq);
    s->delta = fb_cpu_take_floats(arena, job->nq);
}

void fb_cpu_naive_layout(struct fb_cpu_arena *arena, const struct fb_cpu_job *job, void *saved,
                         struct fb_cpu_naive *naive)
{
    struct fb_cpu_arena one = {0};
    struct fb_cpu_naive_scratch unused;
    *naive = (struct fb_cpu_naive){.job = job, .ops = fb_cpu_ops(), .p = saved};
    if (saved && job->terms.softcap != 0)
        naive->g = (float *)((char *)saved + g_offset(job));
    naive->slots = fb_cpu_slots(job, job->b * job->hk);
    naive->sinks = fb_cpu_take(arena, job->terms.sink ? job->b * job->h : 0, sizeof(double));
    scratch_layout(&one, job, &unused);
    naive->scratch_bytes = one.used;
    naive->scratch = fb_cpu_take(arena, naive->slots, one.used);
}

/* ---- GEMMs -------------------------------------------------------------------------------------
 */

/* block[nq][nk] = a[nq][k] b[nk][k]^T */
static void scores_gemm(const struct fb_cpu_naive_head *at, float *block, const float *a,
                        const float *b, int64_t k)
{
    const struct fb_cpu_job *job = at->naive->job;
    fb_cpu_blas_gemm(&(struct fb_cpu_blas_gemm){.m = at->seq.nq,
                                                .n = at->seq.nk,
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
static void down_gemm(const struct fb_cpu_naive_head *at, float *c, const float *block, int64_t ld,
                      const float *b, int64_t k, bool add)
{
    fb_cpu_blas_gemm(&(struct fb_cpu_blas_gemm){.m = at->seq.nk,
                                                .n = k,
                                                .k = at->seq.nq,
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
static void across_gemm(const struct fb_cpu_naive_head *at, float *c, const float *block,
                        const float *b, int64_t k)
{
    const struct fb_cpu_job *job = at->naive->job;
    fb_cpu_blas_gemm(&(struct fb_cpu_blas_gemm){.m = at->seq.nq,
                                                .n = k,
                                                .k = at->seq.nk,
                                                .a = block,
                                                .b = b,
                                                .c = c,
                                                .lda = fb_cpu_width(job->nk),
                                                .ldb = fb_cpu_width(k),
                                                .ldc = fb_cpu_width(k)});
}

/* ---- Heads -------------------------------------------------------------------------------------
 */

static void forward_head(struct fb_cpu_naive_head *at)
{
    const struct fb_cpu_job *job = at->naive->job;
    const struct fb_cpu_ops *ops = at->naive->ops;
    const struct fb_cpu_naive_scratch *s = &at->s;
    const struct fb_cpu_seq *seq = &at->seq;
    fb_cpu_tile_load(ops, s->q, &job->q, seq->batch, at->h, seq->q_row, seq->nq, job->d);
    scores_gemm(at, s->s, s->q, s->k, job->d);
    fb_cpu_naive_over_rows(at, fb_cpu_naive_softmax);
    across_gemm(at, s->o, s->s, s->v, job->dv);
    fb_cpu_tile_store(ops, &job->o, seq->batch, at->h, seq->q_row, s->o, seq->nq, job->dv, 1.0f);
}

/* P (or S) where the passes want it: the saved fp32 matrix itself, or fp32 in scratch. */
static void find_p(struct fb_cpu_naive_head *at)
{
    const struct fb_cpu_job *job = at->naive->job;
    const bool change = job->terms.any || job->ps != FB_CPU_FP32;
    at->p = at->s.s;
    at->ldp = fb_cpu_width(job->nk);
    if (!at->naive->p) {
        scores_gemm(at, at->s.s, at->s.q, at->s.k, job->d);
    } else if (change) {
        fb_cpu_naive_over_rows(at, fb_cpu_naive_load);
    } else {
        at->p = (const float *)at->naive->p + fb_cpu_naive_entry(at);
        at->ldp = at->seq.nk;
    }
}

static void sink_head(const struct fb_cpu_naive_head *at)
{
    const struct fb_cpu_job *job = at->naive->job;
    if (!job->terms.sink)
        return;
    const float *sink = fb_cpu_row(&job->terms.sink_values, 0, at->h, 0);
    at->naive->sinks[at->seq.b * job->h + at->h] =
        fb_cpu_terms_sink(*sink, at->s.max, NULL, at->s.delta, at->seq.nq);
}

static void backward_head(struct fb_cpu_naive_head *at, bool first)
{
    const struct fb_cpu_job *job = at->naive->job;
    const struct fb_cpu_ops *ops = at->naive->ops;
    const struct fb_cpu_naive_scratch *s = &at->s;
    const struct fb_cpu_seq *seq = &at->seq;
    fb_cpu_tile_load(ops, s->q, &job->q, seq->batch, at->h, seq->q_row, seq->nq, job->d);
    fb_cpu_tile_load(ops, s->o, &job->o, seq->batch, at->h, seq->q_row, seq->nq, job->dv);
    fb_cpu_tile_load(ops, s->dout, &job->dout, seq->batch, at->h, seq->q_row, seq->nq, job->dv);
    fb_cpu_naive_over_rows(at, fb_cpu_naive_delta);
    find_p(at);
    scores_gemm(at, s->dp, s->dout, s->v, job->dv);
    fb_cpu_naive_over_rows(at, at->naive->p ? fb_cpu_naive_gradient : fb_cpu_naive_scores);
    down_gemm(at, s->dv, at->p, at->ldp, s->dout, job->dv, !first);
    down_gemm(at, s->dk, s->dp, fb_cpu_width(job->nk), s->q, job->d, !first);
    across_gemm(at, s->dq, s->dp, s->k, job->d);
    fb_cpu_tile_store(ops, &job->grad_q, seq->batch, at->h, seq->q_row, s->dq, seq->nq, job->d,
                      job->scale);
    sink_head(at);
}

static void key_head(struct fb_cpu_naive_head *at, bool backward)
{
    const struct fb_cpu_job *job = at->naive->job;
    const struct fb_cpu_ops *ops = at->naive->ops;
    const struct fb_cpu_naive_scratch *s = &at->s;
    const struct fb_cpu_seq *seq = &at->seq;
    const int64_t group = job->h / job->hk;
    fb_cpu_tile_load(ops, s->k, &job->k, seq->batch, at->hk, seq->k_row, seq->nk, job->d);
    fb_cpu_tile_load(ops, s->v, &job->v, seq->batch, at->hk, seq->k_row, seq->nk, job->dv);
    for (at->h = at->hk * group; at->h < (at->hk + 1) * group; at->h++) {
        if (backward)
            backward_head(at, at->h == at->hk * group);
        else
            forward_head(at);
    }
    if (!backward)
        return;
    fb_cpu_tile_store(ops, &job->grad_k, seq->batch, at->hk, seq->k_row, s->dk, seq->nk, job->d,
                      job->scale);
    fb_cpu_tile_store(ops, &job->grad_v, seq->batch, at->hk, seq->k_row, s->dv, seq->nk, job->dv,
                      1.0f);
}

/* Sequences come in ascending order, so that where their saved matrices begin is a running sum. */
static void heads(struct fb_cpu_naive *naive, int slot, int threads, bool backward)
{
    const struct fb_cpu_job *job = naive->job;
    struct fb_cpu_arena arena = {.base = naive->scratch + (size_t)slot * naive->scratch_bytes};
    struct fb_cpu_naive_head at = {.naive = naive, .threads = threads};
    int64_t b = 0;
    scratch_layout(&arena, job, &at.s);
    for (int64_t t; (t = fb_cpu_ticket(&naive->tickets)) >= 0;) {
        for (; b < t / job->hk; b++) {
            const struct fb_cpu_seq passed = fb_cpu_seq(job, b);
            at.before += passed.nq * passed.nk;
        }
        at.seq = fb_cpu_seq(job, b);
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
    const struct fb_cpu_terms *t = &job->terms;
    const bool shared = backward && t->bias && (t->bias_one_batch || t->bias_one_head);
    const bool by_head = job->b * job->hk >= job->threads && !shared;
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

static void store_sinks(const struct fb_cpu_naive *naive)
{
    const struct fb_cpu_job *job = naive->job;
    for (int64_t h = 0; job->terms.sink && h < job->h; h++) {
        double sum = 0;
        for (int64_t b = 0; b < job->b; b++)
            sum += naive->sinks[b * job->h + h];
        *(float *)fb_cpu_row(&job->terms.grad_sink, 0, h, 0) = (float)sum + 0.0f;
    }
}

void fb_cpu_naive_backward(struct fb_cpu_naive *naive)
{
    const struct fb_cpu_job *job = naive->job;
    fb_cpu_terms_bias_clear(job, 0, job->b, 0, job->h, 0, job->nk);
    run(naive, true);
    store_sinks(naive);
}
