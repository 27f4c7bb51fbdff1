/* SPDX-License-Identifier: BSD-3-Clause
 *
 * terms.h: what a block of scores goes through beside the softmax where a problem has more terms
 * than scale q k^T. Main loops with such a job call these around `scores` or `online`, on tiles
 * that are still in L1; a plain job never comes here, so that its loops stay as they are.
 *
 *     before    s = cap tanh(scale s / cap) + bias - slope |i + nk - nq - j|, g = 1 - tanh^2
 *               f = 0 or 1 / (1 - dropout), dp = f dp
 *     scores    p = exp(s - lse), ds = p (dp - delta)            unrounded
 *     after     dbias += ds, ds = g ds, p = f p                  rounded as operands
 *
 * and the gradient of the sink, which is a sum over rows.
 */
#ifndef FB_CPU_TERMS_H
#define FB_CPU_TERMS_H

#include "kernels/cpu/arena.h"
#include "kernels/cpu/job.h"
#include "kernels/cpu/hot/ops.h"
#include "kernels/cpu/rows.h"

/* A block: rows x n scores of one head, and what belongs to them. */
struct fb_cpu_block {
    const struct fb_cpu_seq *seq;
    int64_t h;         /* query head */
    int64_t row, rows; /* queries */
    int64_t key, n;    /* keys */
    int64_t ld;        /* row length of all four */
    float *s, *dp;     /* dp NULL: a forward, or only p is wanted */
    float *f, *g; /* scratch: factors of dropout, derivative of the softcap; g NULL: unwanted */
};

/* Room for f and g where the job needs them. */
void fb_cpu_terms_layout(struct fb_cpu_arena *arena, const struct fb_cpu_job *job, int64_t count,
                         float **f, float **g);

/* Of dropout: f, and dp = f dp. */
void fb_cpu_terms_drop(const struct fb_cpu_ops *ops, const struct fb_cpu_job *job,
                       const struct fb_cpu_block *block);

/* All of "before". Gives the scale that is left to be applied: 1 where s is final. */
float fb_cpu_terms_before(const struct fb_cpu_ops *ops, const struct fb_cpu_job *job,
                          const struct fb_cpu_block *block);

/* dp holds ds now. */
void fb_cpu_terms_after(const struct fb_cpu_ops *ops, const struct fb_cpu_job *job,
                        const struct fb_cpu_block *block, enum fb_cpu_type round);

/* Adds ds to the gradient of the bias. The caller sees to it that nobody else adds to the same
 * entries, and that they are added in one order. Before `after`. */
void fb_cpu_terms_bias(const struct fb_cpu_ops *ops, const struct fb_cpu_job *job,
                       const struct fb_cpu_block *block);

/* Zeroes columns [begin, end) of the gradient of the bias for batches [b, b_end) and query heads
 * [h, h_end); where a bias is shared, one slot stands for all. */
void fb_cpu_terms_bias_clear(const struct fb_cpu_job *job, int64_t b, int64_t b_end, int64_t h,
                             int64_t h_end, int64_t begin, int64_t end);

/* What the rows of one head and sequence add to the gradient of its sink:
 * -sum exp(sink - sub) mul delta. */
double fb_cpu_terms_sink(float sink, const float *sub, const float *mul, const float *delta,
                         int64_t rows);

/* The gradient of the sinks, from finished rows. One head after the other, sequences in order. */
void fb_cpu_terms_sinks(const struct fb_cpu_job *job, const struct fb_cpu_rows *rows);

#endif
