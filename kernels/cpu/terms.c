/* SPDX-License-Identifier: BSD-3-Clause
 *
 * terms.c: score terms on blocks, and the sums over rows that belong to them. The loops over scores
 * are hot/terms.c.
 */
#include "kernels/cpu/terms.h"

#include <math.h>
#include <string.h>

void fb_cpu_terms_layout(struct fb_cpu_arena *arena, const struct fb_cpu_job *job, int64_t count,
                         float **f, float **g)
{
    *f = fb_cpu_take_floats(arena, job->terms.dropout ? count : 0);
    *g = fb_cpu_take_floats(arena, job->terms.softcap != 0 ? count : 0);
}

static const float *bias_at(const struct fb_cpu_view *bias, const struct fb_cpu_block *at)
{
    return (const float *)fb_cpu_row(bias, at->seq->b, at->h, at->row) + at->key;
}

static void make_scores(const struct fb_cpu_ops *ops, const struct fb_cpu_job *job,
                        const struct fb_cpu_block *at)
{
    const struct fb_cpu_terms *t = &job->terms;
    const float *slope = t->alibi ? fb_cpu_row(&t->slopes, 0, at->h, 0) : NULL;
    ops->terms(&(struct fb_cpu_score_terms){
        .rows = at->rows,
        .n = at->n,
        .ld = at->ld,
        .scale = job->scale,
        .softcap = t->softcap,
        .slope = slope ? *slope : 0,
        .shift = at->row + at->seq->nk - at->seq->nq - at->key,
        .bias = t->bias ? bias_at(&t->bias_values, at) : NULL,
        .bias_stride = t->bias_values.stride[2],
        .s = at->s,
        .g = at->g,
    });
}

/* A mask given from outside. */
static void copy_keep(const struct fb_cpu_terms *t, const struct fb_cpu_block *at, uint64_t entry,
                      uint64_t step)
{
    for (int64_t r = 0; r < at->rows; r++)
        for (int64_t c = 0; c < at->n; c++)
            at->f[r * at->ld + c] =
                t->keep[entry + (uint64_t)r * step + (uint64_t)c] ? t->rescale : 0.0f;
}

/* f, for entries numbered over [b, h, nq, nk] of the longest sequence. */
static void make_factors(const struct fb_cpu_ops *ops, const struct fb_cpu_job *job,
                         const struct fb_cpu_block *at)
{
    const struct fb_cpu_terms *t = &job->terms;
    const int64_t line = (at->seq->b * job->h + at->h) * job->nq + at->row;
    const uint64_t entry = (uint64_t)(line * job->nk + at->key), step = (uint64_t)job->nk;
    if (t->keep)
        copy_keep(t, at, entry, step);
    else
        ops->keep(&(struct fb_cpu_keep){.rows = at->rows,
                                        .n = at->n,
                                        .ld = at->ld,
                                        .entry = entry,
                                        .step = step,
                                        .seed = t->seed,
                                        .offset = t->offset,
                                        .limit = t->limit,
                                        .rescale = t->rescale,
                                        .f = at->f});
}

void fb_cpu_terms_drop(const struct fb_cpu_ops *ops, const struct fb_cpu_job *job,
                       const struct fb_cpu_block *at)
{
    if (!job->terms.dropout)
        return;
    make_factors(ops, job, at);
    if (at->dp)
        ops->multiply(at->dp, at->f, at->ld, at->rows, at->n, FB_CPU_FP32);
}

float fb_cpu_terms_before(const struct fb_cpu_ops *ops, const struct fb_cpu_job *job,
                          const struct fb_cpu_block *at)
{
    const struct fb_cpu_terms *t = &job->terms;
    const bool scores = t->softcap != 0 || t->alibi || t->bias;
    if (scores)
        make_scores(ops, job, at);
    fb_cpu_terms_drop(ops, job, at);
    return scores ? 1.0f : job->scale;
}

void fb_cpu_terms_after(const struct fb_cpu_ops *ops, const struct fb_cpu_job *job,
                        const struct fb_cpu_block *at, enum fb_cpu_type round)
{
    const struct fb_cpu_terms *t = &job->terms;
    if (at->dp && (t->softcap != 0 || round != FB_CPU_FP32))
        ops->multiply(at->dp, t->softcap != 0 ? at->g : NULL, at->ld, at->rows, at->n, round);
    if (t->dropout || round != FB_CPU_FP32)
        ops->multiply(at->s, t->dropout ? at->f : NULL, at->ld, at->rows, at->n, round);
}

void fb_cpu_terms_bias(const struct fb_cpu_ops *ops, const struct fb_cpu_job *job,
                       const struct fb_cpu_block *at)
{
    const struct fb_cpu_view *grad = &job->terms.grad_bias;
    if (!job->terms.bias)
        return;
    float *to = (float *)fb_cpu_row(grad, at->seq->b, at->h, at->row) + at->key;
    ops->add(to, grad->stride[2], at->dp, at->ld, at->rows, at->n);
}

void fb_cpu_terms_bias_clear(const struct fb_cpu_job *job, int64_t b, int64_t b_end, int64_t h,
                             int64_t h_end, int64_t begin, int64_t end)
{
    const struct fb_cpu_terms *t = &job->terms;
    if (!t->bias || end <= begin)
        return;
    b_end = t->bias_one_batch ? b + 1 : b_end;
    const int64_t heads = t->bias_one_head ? 1 : h_end - h;
    for (; b < b_end; b++)
        for (int64_t i = 0; i < heads * job->nq; i++) {
            float *row = fb_cpu_row(&t->grad_bias, b, h + i / job->nq, i % job->nq);
            memset(row + begin, 0, (size_t)(end - begin) * sizeof *row);
        }
}

double fb_cpu_terms_sink(float sink, const float *sub, const float *mul, const float *delta,
                         int64_t rows)
{
    double sum = 0;
    for (int64_t i = 0; i < rows; i++)
        sum += exp((double)sink - (double)sub[i]) * (mul ? mul[i] : 1) * delta[i];
    return -sum;
}

void fb_cpu_terms_sinks(const struct fb_cpu_job *job, const struct fb_cpu_rows *rows)
{
    for (int64_t h = 0; job->terms.sink && h < job->h; h++) {
        const float *sink = fb_cpu_row(&job->terms.sink_values, 0, h, 0);
        float *grad = fb_cpu_row(&job->terms.grad_sink, 0, h, 0);
        double sum = 0;
        for (int64_t b = 0; b < job->b; b++) {
            const struct fb_cpu_seq seq = fb_cpu_seq(job, b);
            const int64_t line = fb_cpu_line(job, &seq, h, 0);
            sum += fb_cpu_terms_sink(*sink, rows->sub + line, rows->mul ? rows->mul + line : NULL,
                                     rows->delta + line, seq.nq);
        }
        *grad = (float)sum + 0.0f; /* no -0 */
    }
}
