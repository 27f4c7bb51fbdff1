/* SPDX-License-Identifier: BSD-3-Clause
 *
 * job.h: what a CPU kernel is told: sizes, strided views, the mask as two numbers, the numerics.
 * Kernels know nothing of problems and variants; variants/cpu_common.h translates.
 *
 * The mask. Every mask of the language (full, causal with either alignment, a window) lets query i
 * see one interval of keys whose ends move with i, so it is two numbers:
 *
 *     query i sees key j   when   i + lo <= j <= i + hi   (and 0 <= j < nk)
 *
 *     full: lo, hi open      bottom-right: hi = nk - nq      top-left: hi = 0
 *     window L:R: lo = nk - nq - L, hi = min(the above, nk - nq + R)
 *
 * Loops take it as bounds: a tile no row of which sees a key is never visited, and inside a tile
 * each row has its own interval (hot_rows.c).
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

struct fb_cpu_job {
    int64_t b, h, hk, nq, nk; /* h is a multiple of hk */
    int64_t d, dv;            /* columns of q and k, and of v and o */
    int64_t lo, hi;           /* the mask, see above; -FB_CPU_OPEN and FB_CPU_OPEN lift a side */
    float scale;
    int threads; /* at most fb_cpu_threads_max() */

    enum fb_cpu_type ps; /* p and ds are rounded to this before their second GEMM */
    enum fb_cpu_acc acc_dkv, acc_dq;
    enum fb_cpu_delta delta;
    bool lse_bf16;  /* lse is rounded to bf16 where the backward reads it */
    bool round_row; /* an accumulator rounds after every row, not after every tile */

    struct fb_cpu_view q, k, v, o, lse, dout;  /* lse is fp32 with one column */
    struct fb_cpu_view grad_q, grad_k, grad_v; /* written by the backward */
    float *row_max, *row_sum;                  /* [b h nq]: p = exp(s - max) / sum; or both NULL */

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

/* Keys that some query of [begin, end) sees. Intervals of neighbouring rows move by one, so their
 * union has no holes. */
static inline struct fb_cpu_span fb_cpu_keys(const struct fb_cpu_job *job, int64_t begin,
                                             int64_t end)
{
    struct fb_cpu_span keys = {fb_cpu_max(0, begin + job->lo),
                               fb_cpu_min(job->nk, end - 1 + job->hi + 1)};
    if (job->lo > job->hi)
        keys.end = keys.begin;
    return keys;
}

static inline bool fb_cpu_meet(struct fb_cpu_span a, struct fb_cpu_span b)
{
    return fb_cpu_max(a.begin, b.begin) < fb_cpu_min(a.end, b.end);
}

#endif
