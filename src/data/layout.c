/* SPDX-License-Identifier: BSD-3-Clause */
#include "data/layout.h"

#include <string.h>

#include "core/problem.h"
#include "core/status.h"

struct fb_tensor *fb_layout_tensor(struct fb_args *args, enum fb_buffer buffer)
{
    struct fb_tensor *const tensors[FB_BUFFER_COUNT] = {
        [FB_BUFFER_Q] = &args->q,         [FB_BUFFER_K] = &args->k,
        [FB_BUFFER_V] = &args->v,         [FB_BUFFER_O] = &args->o,
        [FB_BUFFER_LSE] = &args->lse,     [FB_BUFFER_DOUT] = &args->dout,
        [FB_BUFFER_DQ] = &args->dq,       [FB_BUFFER_DK] = &args->dk,
        [FB_BUFFER_DV] = &args->dv,       [FB_BUFFER_DLSE] = &args->dlse,
        [FB_BUFFER_BIAS] = &args->bias,   [FB_BUFFER_DBIAS] = &args->dbias,
        [FB_BUFFER_SINK] = &args->sink,   [FB_BUFFER_DSINK] = &args->dsink,
        [FB_BUFFER_ALIBI] = &args->alibi,
    };
    return tensors[buffer];
}

/* Multiplies into *product; false when it leaves 62 bits, so that a sum of two still fits. */
static bool multiply(int64_t *product, int64_t factor)
{
    return !__builtin_mul_overflow(*product, factor, product) && *product < INT64_MAX / 2;
}

static bool fits(const int64_t shape[4], int64_t width)
{
    int64_t bytes = 8;
    return multiply(&bytes, shape[0]) && multiply(&bytes, shape[1]) && multiply(&bytes, shape[2]) &&
           multiply(&bytes, width);
}

struct layout {
    const struct fb_problem *problem;
    struct fb_args *args;
    struct fb_place *place;
    int64_t gap;
    bool too_large;
};

/* One tensor in a block of its own, memory order [b, h, n] or [b, n, h]. */
static void own_block(struct layout *l, enum fb_buffer buffer, enum fb_dtype dtype, int64_t b,
                      int64_t h, int64_t n, int64_t d, bool heads_inside, int64_t gap)
{
    struct fb_tensor *t = fb_layout_tensor(l->args, buffer);
    const int64_t shape[4] = {b, h, n, d}, row = d + gap;
    l->too_large |= !fits(shape, row);
    if (l->too_large)
        return;
    memcpy(t->shape, shape, sizeof shape);
    t->dtype = dtype;
    t->stride[0] = h * n * row;
    t->stride[1] = heads_inside ? row : n * row;
    t->stride[2] = heads_inside ? h * row : row;
    t->stride[3] = 1;
    l->place[buffer] =
        (struct fb_place){.bytes = (uint64_t)(b * h * n * row) * fb_dtype_bytes(dtype),
                          .rows = b * h * n,
                          .width = d,
                          .gap = gap};
}

/* q, k and v as slices of one [b, n, h + 2 hk, w] block, w the larger head size. */
static void packed_block(struct layout *l, int64_t b, int64_t n)
{
    const struct fb_problem *p = l->problem;
    const int64_t wide = p->d > p->dv ? p->d : p->dv, row = wide + l->gap;
    const int64_t heads = p->h + 2 * p->hk, shape[4] = {b, heads, n, wide};
    const enum fb_buffer buffers[] = {FB_BUFFER_Q, FB_BUFFER_K, FB_BUFFER_V};
    const int64_t count[] = {p->h, p->hk, p->hk}, width[] = {p->d, p->d, p->dv};
    l->too_large |= !fits(shape, row);
    for (int i = 0, first = 0; i < 3 && !l->too_large; first += (int)count[i++]) {
        struct fb_tensor *t = fb_layout_tensor(l->args, buffers[i]);
        *t = (struct fb_tensor){.dtype = p->dtype,
                                .shape = {b, count[i], n, width[i]},
                                .stride = {n * heads * row, row, heads * row, 1}};
        l->place[buffers[i]] = (struct fb_place){.offset = first * row};
    }
    l->place[FB_BUFFER_Q].bytes = (uint64_t)(b * n * heads * row) * fb_dtype_bytes(p->dtype);
    l->place[FB_BUFFER_Q].rows = b * n * heads;
    l->place[FB_BUFFER_Q].width = wide;
    l->place[FB_BUFFER_Q].gap = l->gap;
}

static void extras(struct layout *l, int64_t b, int64_t rows)
{
    const struct fb_problem *p = l->problem;
    const int64_t bias_b = p->bias == FB_BIAS_FULL || p->bias == FB_BIAS_BATCH ? p->b : 1;
    const int64_t bias_h = p->bias == FB_BIAS_FULL || p->bias == FB_BIAS_HEAD ? p->h : 1;
    if (p->dlse)
        own_block(l, FB_BUFFER_DLSE, FB_FP32, b, p->h, rows, 1, false, 0);
    if (p->bias) {
        own_block(l, FB_BUFFER_BIAS, FB_FP32, bias_b, bias_h, p->nq, p->nk, false, 0);
        own_block(l, FB_BUFFER_DBIAS, FB_FP32, bias_b, bias_h, p->nq, p->nk, false, 0);
    }
    if (p->sink) {
        own_block(l, FB_BUFFER_SINK, FB_FP32, 1, p->h, 1, 1, false, 0);
        own_block(l, FB_BUFFER_DSINK, FB_FP32, 1, p->h, 1, 1, false, 0);
    }
    if (p->alibi)
        own_block(l, FB_BUFFER_ALIBI, FB_FP32, 1, p->h, 1, 1, false, 0);
}

/* dout as one row, seen at every [b, h, n]. */
static void expand_dout(struct layout *l)
{
    struct fb_tensor *t = &l->args->dout;
    t->stride[0] = t->stride[1] = t->stride[2] = 0;
    l->place[FB_BUFFER_DOUT] = (struct fb_place){
        .bytes = (uint64_t)t->shape[3] * fb_dtype_bytes(t->dtype), .rows = 1, .width = t->shape[3]};
}

enum fb_status fb_layout_make(struct fb_args *args, struct fb_place place[FB_BUFFER_COUNT],
                              const struct fb_problem *p, int64_t row_gap)
{
    const bool packed = p->qlens || p->klens, inside = p->layout == FB_LAYOUT_BNHD;
    const int64_t b = packed ? 1 : p->b;
    const int64_t rows = packed ? fb_problem_rows_q(p) : p->nq;
    const int64_t keys = packed ? fb_problem_rows_k(p) : p->nk;
    struct layout l = {.problem = p, .args = args, .place = place, .gap = row_gap};

    memset(place, 0, FB_BUFFER_COUNT * sizeof *place);
    if (p->layout == FB_LAYOUT_PACKED_QKV) {
        packed_block(&l, b, rows);
    } else {
        own_block(&l, FB_BUFFER_Q, p->dtype, b, p->h, rows, p->d, inside, row_gap);
        own_block(&l, FB_BUFFER_K, p->dtype, b, p->hk, keys, p->d, inside, row_gap);
        own_block(&l, FB_BUFFER_V, p->dtype, b, p->hk, keys, p->dv, inside, row_gap);
    }
    own_block(&l, FB_BUFFER_O, p->dtype, b, p->h, rows, p->dv, inside, row_gap);
    own_block(&l, FB_BUFFER_LSE, FB_FP32, b, p->h, rows, 1, false, 0);
    own_block(&l, FB_BUFFER_DOUT, p->dtype, b, p->h, rows, p->dv, inside, row_gap);
    own_block(&l, FB_BUFFER_DQ, p->dtype, b, p->h, rows, p->d, inside, row_gap);
    own_block(&l, FB_BUFFER_DK, p->dtype, b, p->hk, keys, p->d, inside, row_gap);
    own_block(&l, FB_BUFFER_DV, p->dtype, b, p->hk, keys, p->dv, inside, row_gap);
    extras(&l, b, rows);
    if (l.too_large)
        return fb_fail(FB_REFUSED, "a tensor of this problem has more than 2^62 bytes");
    if (p->layout == FB_LAYOUT_EXPANDED_DOUT)
        expand_dout(&l);
    return FB_OK;
}
