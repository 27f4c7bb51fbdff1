/* SPDX-License-Identifier: BSD-3-Clause
 *
 * job.h: what a CPU kernel is told: sizes, strided views, the mask as a few numbers, the score
 * terms, the numerics. Kernels know nothing of problems and variants; variants/common/cpu.h
 * translates.
 *
 * Sequences. A batch entry is a sequence of nq queries and nk keys. Where lengths are packed, all
 * sequences lie behind one another in one batch index of the tensors, each with its own lengths;
 * struct fb_cpu_seq says of each where it lies.
 *
 * The mask. Every mask of the language (full, causal with either alignment, a window) lets query i
 * see one interval of keys whose ends move with i, so for a sequence it is two numbers:
 *
 *     query i sees key j   when   i + lo <= j <= i + hi   (and 0 <= j < nk)
 *
 *     lo = nk - nq + left       hi = min(nk - nq + right, top)
 *
 *     full: all open      bottom-right: right = 0      top-left: top = 0
 *     window L:R: left = -L, right = min(the above, R)
 *
 * Loops take it as bounds: a tile no row of which sees a key is never visited, and inside a tile
 * each row has its own interval (hot/rows.c).
 */
#ifndef FB_CPU_JOB_H
#define FB_CPU_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum fb_cpu_type { FB_CPU_FP32, FB_CPU_BF16, FB_CPU_FP16 };

enum fb_cpu_acc {
    FB_CPU_ACC_FP32,
    FB_CPU_ACC_BF16,
    FB_CPU_ACC_BF16_STOCHASTIC,
    FB_CPU_ACC_BF16_TRUNCATE,
    FB_CPU_ACC_FP16,
    FB_CPU_ACC_FP32_KAHAN,
    FB_CPU_ACC_BF16_KAHAN,
    FB_CPU_ACC_FP64
};

enum fb_cpu_delta { FB_CPU_DELTA_FP32, FB_CPU_DELTA_BF16, FB_CPU_DELTA_RECOMPUTED };

/* An open side of the mask: far from overflow when a row number is added. */
#define FB_CPU_OPEN (INT64_MAX / 4)

/* [batch, head, row, column], strides of the first three in elements, the last 1. */
struct fb_cpu_view {
    void *data;
    int64_t stride[3];
    enum fb_cpu_type type;
};

/* What a score is made of beside scale q k^T, and what the softmax and the loss depend on beside
 * scores; all of it off on a plain problem. Presence is known when sizes are planned, data only in
 * a call. Kernels: terms.h. */
struct fb_cpu_terms {
    bool any; /* softcap, alibi, bias or dropout: blocks of scores need terms.h */
    bool alibi, bias, dropout, sink, dlse;
    bool bias_one_batch, bias_one_head;        /* the bias is shared by all batches, by all heads */
    float softcap;                             /* 0: none */
    struct fb_cpu_view slopes;                 /* [1, h, 1]: ALiBi */
    struct fb_cpu_view bias_values, grad_bias; /* [b, h, nq, nk], stride 0 where shared */
    struct fb_cpu_view sink_values, grad_sink; /* [1, h, 1] */
    struct fb_cpu_view grad_lse;               /* as lse */
    uint64_t seed, offset;                     /* of the dropout mask */
    uint32_t limit;                            /* an entry is kept when its random word is above */
    float rescale;                             /* factor of what is kept */
    const uint8_t *keep;                       /* the mask itself, [b, h, nq, nk]; NULL: drawn */
};

struct fb_cpu_job {
    int64_t b, h, hk, nq, nk; /* h is a multiple of hk; nq, nk: of the longest sequence */
    int64_t d, dv;            /* columns of q and k, and of v and o */
    int64_t left, right, top; /* the mask, see above; -FB_CPU_OPEN and FB_CPU_OPEN lift a side */
    bool packed;
    int64_t q_rows, k_rows;     /* of one head in memory: nq and nk, or those of all sequences */
    int64_t entries;            /* of one head's score matrices: the sum of nq nk */
    const int64_t *cu_q, *cu_k; /* [b + 1] where packed: where a sequence begins */
    struct fb_cpu_terms terms;
    float scale;
    int threads; /* at most fb_cpu_threads_max() */

    enum fb_cpu_type ps; /* p and ds are rounded to this before their second GEMM */
    enum fb_cpu_acc acc_dkv, acc_dq;
    enum fb_cpu_delta delta;
    bool lse_bf16;  /* lse is rounded to bf16 where the backward reads it */
    bool round_row; /* an accumulator rounds after every row, not after every tile */

    struct fb_cpu_view q, k, v, o, lse, dout;  /* lse is fp32 with one column */
    struct fb_cpu_view grad_q, grad_k, grad_v; /* written by the backward */
    float *row_max, *row_sum;                  /* [lines]: p = exp(s - max) / sum; or both NULL */

    void (*phase)(void *context, const char *name); /* NULL: nobody asks */
    void *phase_context;
};

static inline void fb_cpu_phase(const struct fb_cpu_job *job, const char *name)
{
    if (job->phase)
        job->phase(job->phase_context, name);
}

static inline int64_t fb_cpu_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t fb_cpu_max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static inline int64_t fb_cpu_tiles(int64_t rows, int64_t tile)
{
    return (rows + tile - 1) / tile;
}

static inline int64_t fb_cpu_round_up(int64_t value, int64_t multiple)
{
    return fb_cpu_tiles(value, multiple) * multiple;
}

/* Where row `row` of head `head` starts. */
static inline void *fb_cpu_row(const struct fb_cpu_view *view, int64_t batch, int64_t head,
                               int64_t row)
{
    int64_t at = batch * view->stride[0] + head * view->stride[1] + row * view->stride[2];
    return (char *)view->data + at * (view->type == FB_CPU_FP32 ? 4 : 2);
}

struct fb_cpu_span {
    int64_t begin, end; /* begin <= j < end; empty when end <= begin */
};

/* One sequence. */
struct fb_cpu_seq {
    int64_t b;            /* its number */
    int64_t nq, nk;       /* its lengths */
    int64_t batch;        /* where it lies in the views: this batch index, */
    int64_t q_row, k_row; /* from these rows on */
    int64_t lo, hi;       /* the mask, see above */
};

static inline struct fb_cpu_seq fb_cpu_seq(const struct fb_cpu_job *job, int64_t b)
{
    struct fb_cpu_seq seq = {.b = b, .nq = job->nq, .nk = job->nk, .batch = b};
    if (job->packed) {
        seq.batch = 0;
        seq.q_row = job->cu_q[b];
        seq.k_row = job->cu_k[b];
        seq.nq = job->cu_q[b + 1] - seq.q_row;
        seq.nk = job->cu_k[b + 1] - seq.k_row;
    }
    seq.lo = seq.nk - seq.nq + job->left;
    seq.hi = fb_cpu_min(seq.nk - seq.nq + job->right, job->top);
    return seq;
}

/* Query rows of all heads, and the number of one of them: arrays of one value a row are indexed by
 * it. */
static inline int64_t fb_cpu_lines(const struct fb_cpu_job *job)
{
    return (job->packed ? 1 : job->b) * job->h * job->q_rows;
}

static inline int64_t fb_cpu_line(const struct fb_cpu_job *job, const struct fb_cpu_seq *seq,
                                  int64_t head, int64_t row)
{
    return (seq->batch * job->h + head) * job->q_rows + seq->q_row + row;
}

/* The same for keys. */
static inline int64_t fb_cpu_key_line(const struct fb_cpu_job *job, const struct fb_cpu_seq *seq,
                                      int64_t head, int64_t row)
{
    return (seq->batch * job->hk + head) * job->k_rows + seq->k_row + row;
}

/* Keys that some query of [begin, end) sees. Intervals of neighbouring rows move by one, so their
 * union has no holes. */
static inline struct fb_cpu_span fb_cpu_keys(const struct fb_cpu_seq *seq, int64_t begin,
                                             int64_t end)
{
    struct fb_cpu_span keys = {fb_cpu_max(0, begin + seq->lo),
                               fb_cpu_min(seq->nk, end - 1 + seq->hi + 1)};
    if (seq->lo > seq->hi)
        keys.end = keys.begin;
    return keys;
}

/* Queries that see some key of [begin, end). */
static inline struct fb_cpu_span fb_cpu_queries(const struct fb_cpu_seq *seq, int64_t begin,
                                                int64_t end)
{
    struct fb_cpu_span queries = {fb_cpu_max(0, begin - seq->hi),
                                  fb_cpu_min(seq->nq, end - 1 - seq->lo + 1)};
    if (seq->lo > seq->hi)
        queries.end = queries.begin;
    return queries;
}

static inline bool fb_cpu_meet(struct fb_cpu_span a, struct fb_cpu_span b)
{
    return fb_cpu_max(a.begin, b.begin) < fb_cpu_min(a.end, b.end);
}

#endif
