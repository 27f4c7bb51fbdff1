/* SPDX-License-Identifier: BSD-3-Clause
 *
 * float_kernel.h: a small attention kernel in fp32 as a GPU would do it: tiles, narrow operands, an
 * unnormalised forward, delta from the rounded o, any order of key tiles; and the classic mistakes,
 * to see that the judge catches them. Shares nothing with the reference.
 */
#ifndef FB_TESTS_VERIFY_FLOAT_KERNEL_H
#define FB_TESTS_VERIFY_FLOAT_KERNEL_H

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/half.h"
#include "core/problem.h"
#include "flashback.h"

enum mutation {
    MUT_NONE,
    MUT_DROP_LAST_KEY, /* backward: the last key of every row is not seen */
    MUT_TOPLEFT,       /* backward: causal aligned top-left */
    MUT_LEAK,          /* backward: one key beyond the mask is seen */
    MUT_STRICT,        /* backward: one key within the mask is not */
    MUT_WINDOW,        /* backward: the window begins one key late */
    MUT_NO_DELTA,      /* delta is 0 */
    MUT_TILE_DELTA,    /* delta is summed over the current key tile alone */
    MUT_NO_LSE,        /* p = exp(s - max) */
    MUT_LOG2,          /* lse read as if it were of base 2 */
    MUT_DK_UNSCALED,   /* dk lacks the scale */
    MUT_DQ_TWICE,      /* dq has the scale twice */
    MUT_SCALE,         /* scale is 1 % too large in the backward */
    MUT_LOST_TILE,     /* one tile's contribution to dq is lost */
    MUT_GQA_LAST,      /* dk, dv of a group are those of its last head */
    MUT_GQA_MOD,       /* query head h reads key head h mod hk */
    MUT_SOFTCAP,       /* derivative of the softcap missing */
    MUT_ONE_NAN,       /* one NaN in dq */
    MUT_ONE_FLIP,      /* one element of dv has the wrong sign */
    MUT_SWAP,          /* dk and dv swapped */
    MUT_ZERO,          /* nothing is written: zeros */
    MUT_COUNT
};

struct float_kernel {
    struct fb_numerics numerics; /* what it does */
    int64_t bm, bn;
    bool descending;     /* key tiles from the last to the first */
    bool late;           /* forward: p against the maximum of half of the keys, if 2^8 suffice */
    const uint8_t *keep; /* [b, h, nq, nk], 1 is kept; NULL without dropout */
    bool factor_last;    /* p is rounded before the factor of dropout, not after */
    enum mutation mutation;
};

static float fk_narrow(enum fb_dtype dtype, float x)
{
    if (dtype == FB_BF16)
        return fb_bf16_to_float(fb_double_to_bf16((double)x));
    return dtype == FB_FP16 ? fb_fp16_to_float(fb_double_to_fp16((double)x)) : x;
}

static float fk_acc(enum fb_acc acc, float x)
{
    uint32_t bits;
    switch (acc) {
    case FB_ACC_BF16:
        return fk_narrow(FB_BF16, x);
    case FB_ACC_FP16:
        return fk_narrow(FB_FP16, x);
    case FB_ACC_BF16_STOCHASTIC:
    case FB_ACC_BF16_TRUNCATE:
        memcpy(&bits, &x, sizeof bits);
        if (acc == FB_ACC_BF16_STOCHASTIC)
            bits += (uint32_t)rand() & 0xFFFF;
        bits &= 0xFFFF0000;
        memcpy(&x, &bits, sizeof bits);
        return x;
    default:
        return x;
    }
}

/* Everything one (batch, query head) needs, in fp32. */
struct fk_head {
    const struct fb_problem *p;
    const struct float_kernel *how;
    int64_t b, h, hk;
    float sink; /* -inf: none */
    float *q, *k, *v, *dout, *o, *lse, *max, *delta;
};

static float *fk_load(const struct fb_tensor *t, int64_t b, int64_t h)
{
    float *to = malloc((size_t)(t->shape[2] * t->shape[3] + 1) * sizeof *to);
    for (int64_t n = 0; n < t->shape[2]; n++)
        for (int64_t d = 0; d < t->shape[3]; d++)
            to[n * t->shape[3] + d] = (float)fb_element_read(
                t->data, t->dtype, b * t->stride[0] + h * t->stride[1] + n * t->stride[2] + d);
    return to;
}

static void fk_store(const struct fb_tensor *t, int64_t b, int64_t h, const float *from)
{
    for (int64_t n = 0; n < t->shape[2]; n++)
        for (int64_t d = 0; d < t->shape[3]; d++)
            fb_element_write(t->data, t->dtype,
                             b * t->stride[0] + h * t->stride[1] + n * t->stride[2] + d,
                             from[n * t->shape[3] + d]);
}

static float fk_dot(const float *a, const float *b, int64_t n)
{
    float sum[4] = {0};
    for (int64_t c = 0; c < n / 4 * 4; c += 4)
        for (int lane = 0; lane < 4; lane++)
            sum[lane] += a[c + lane] * b[c + lane];
    for (int64_t c = n / 4 * 4; c < n; c++)
        sum[0] += a[c] * b[c];
    return (sum[0] + sum[2]) + (sum[1] + sum[3]);
}

static float fk_score(const struct fk_head *x, int64_t i, int64_t j, float scale, float *slope)
{
    float s = scale * fk_dot(x->q + i * x->p->d, x->k + j * x->p->d, x->p->d);
    *slope = 1;
    if (x->p->softcap != 0) {
        float t = tanhf(s / (float)x->p->softcap);
        s = (float)x->p->softcap * t;
        *slope = 1 - t * t;
    }
    return s;
}

/* What dropout makes of p: 0 or 1 / (1 - dropout). */
static float fk_kept(const struct fk_head *x, int64_t i, int64_t j)
{
    const struct fb_problem *p = x->p;
    if (!x->how->keep)
        return 1;
    return x->how->keep[((x->b * p->h + x->h) * p->nq + i) * p->nk + j]
               ? 1 / (1 - (float)p->dropout)
               : 0;
}

/* p as an operand, times what dropout makes of it. */
static float fk_operand(const struct fk_head *x, float p, float kept)
{
    if (x->how->numerics.ps != FB_PS_IN)
        return p * kept;
    return x->how->factor_last ? fk_narrow(x->p->dtype, p) * kept
                               : fk_narrow(x->p->dtype, p * kept);
}

static void fk_forward(struct fk_head *x)
{
    const struct fb_problem *p = x->p;
    float slope;
    for (int64_t i = 0; i < p->nq; i++) {
        int64_t lo, hi;
        float max = x->sink, first = -INFINITY, *o = x->o + i * p->dv;
        fb_problem_visible(p, p->nq, p->nk, i, &lo, &hi);
        memset(o, 0, (size_t)p->dv * sizeof *o);
        for (int64_t j = lo; j <= hi; j++)
            max = fmaxf(max, fk_score(x, i, j, (float)p->scale, &slope));
        for (int64_t j = lo; j < (lo + hi) / 2 && x->how->late; j++)
            first = fmaxf(first, fk_score(x, i, j, (float)p->scale, &slope));
        max = first >= max - 5.5f ? first : max;
        float sum = isinf(x->sink) ? 0 : expf(x->sink - max);
        for (int64_t j = lo; j <= hi; j++) {
            float e = expf(fk_score(x, i, j, (float)p->scale, &slope) - max);
            sum += e;
            float narrow = fk_operand(x, e, fk_kept(x, i, j));
            for (int64_t c = 0; c < p->dv; c++)
                o[c] += narrow * x->v[j * p->dv + c];
        }
        x->max[i] = max;
        x->lse[i] = hi >= lo ? max + logf(sum) : -INFINITY;
        for (int64_t c = 0; c < p->dv; c++)
            o[c] = hi >= lo ? fk_narrow(p->dtype, o[c] / sum) : 0;
        x->delta[i] = fk_dot(o, x->dout + i * p->dv, p->dv);
        if (x->how->numerics.delta == FB_DELTA_BF16)
            x->delta[i] = fk_narrow(FB_BF16, x->delta[i]);
    }
}

/* The keys that query i sees in the backward, mutations included. */
static void fk_visible(const struct fk_head *x, int64_t i, int64_t *lo, int64_t *hi)
{
    const struct fb_problem *p = x->p;
    fb_problem_visible(p, p->nq, p->nk, i, lo, hi);
    switch (x->how->mutation) {
    case MUT_DROP_LAST_KEY:
        *hi = *hi == p->nk - 1 ? *hi - 1 : *hi;
        break;
    case MUT_TOPLEFT:
        *hi = i < p->nk - 1 ? i : p->nk - 1;
        break;
    case MUT_LEAK:
        *hi = *hi < p->nk - 1 ? *hi + 1 : *hi;
        break;
    case MUT_STRICT:
        *hi -= *hi < p->nk - 1;
        break;
    case MUT_WINDOW:
        *lo += *lo > 0;
        break;
    default:
        break;
    }
}

static float fk_p(const struct fk_head *x, int64_t i, float s)
{
    float lse = x->lse[i];
    if (x->how->numerics.lse == FB_LSE_BF16)
        lse = fk_narrow(FB_BF16, lse);
    if (x->how->mutation == MUT_NO_LSE)
        lse = x->max[i];
    if (x->how->mutation == MUT_LOG2)
        lse *= (float)M_LN2;
    return expf(s - lse);
}

static void fk_axpy(int64_t n, float a, const float *x, float *y)
{
    for (int64_t c = 0; c < n; c++)
        y[c] += a * x[c];
}

static void fk_end(enum fb_acc acc, int64_t n, float *to, float *tile)
{
    for (int64_t c = 0; c < n; c++) {
        to[c] = fk_acc(acc, to[c] + tile[c]);
        tile[c] = 0;
    }
}

/* delta of query i as this key tile takes it. */
static float fk_delta(const struct fk_head *x, int64_t i, int64_t first, int64_t end, float scale)
{
    float slope, sum = 0;
    if (x->how->mutation == MUT_NO_DELTA)
        return 0;
    if (x->how->mutation != MUT_TILE_DELTA && x->how->numerics.delta != FB_DELTA_RECOMPUTED)
        return x->delta[i];
    if (x->how->mutation != MUT_TILE_DELTA) {
        first = 0;
        end = x->p->nk;
    }
    for (int64_t j = first; j < end; j++) {
        int64_t lo, hi;
        fk_visible(x, i, &lo, &hi);
        if (j >= lo && j <= hi)
            sum += fk_kept(x, i, j) * fk_p(x, i, fk_score(x, i, j, scale, &slope)) *
                   fk_dot(x->dout + i * x->p->dv, x->v + j * x->p->dv, x->p->dv);
    }
    return sum;
}

/* One tile of keys against one tile of queries, into fp32 tile sums. */
static void fk_tile(const struct fk_head *x, int64_t i0, int64_t i1, int64_t j0, int64_t j1,
                    float *dq_tile, float *dk_tile, float *dv_tile)
{
    const struct fb_problem *p = x->p;
    float scale = (float)p->scale * (x->how->mutation == MUT_SCALE ? 1.01f : 1);
    bool narrow = x->how->numerics.ps == FB_PS_IN;
    for (int64_t i = i0; i < i1; i++) {
        int64_t lo, hi;
        fk_visible(x, i, &lo, &hi);
        if (hi < j0 || lo >= j1)
            continue;
        float delta = fk_delta(x, i, j0, j1, scale), slope;
        for (int64_t j = lo > j0 ? lo : j0; j <= hi && j < j1; j++) {
            float pij = fk_p(x, i, fk_score(x, i, j, scale, &slope));
            float dp = fk_dot(x->dout + i * p->dv, x->v + j * p->dv, p->dv);
            float kept = fk_kept(x, i, j);
            float ds = pij * (kept * dp - delta) * (x->how->mutation == MUT_SOFTCAP ? 1 : slope);
            pij = fk_operand(x, pij, kept);
            if (narrow)
                ds = fk_narrow(p->dtype, ds);
            fk_axpy(p->dv, pij, x->dout + i * p->dv, dv_tile + (j - j0) * p->dv);
            fk_axpy(p->d, ds, x->q + i * p->d, dk_tile + (j - j0) * p->d);
            fk_axpy(p->d, ds, x->k + j * p->d, dq_tile + (i - i0) * p->d);
        }
    }
}

/* All key tiles of one head. dk and dv go on from what earlier heads of the group left. */
static void fk_backward(const struct fk_head *x, float *dq, float *dk, float *dv)
{
    const struct fb_problem *p = x->p;
    const struct float_kernel *how = x->how;
    int64_t tiles = (p->nk + how->bn - 1) / how->bn;
    float *dq_tile = calloc((size_t)(how->bm * p->d), sizeof *dq_tile);
    float *dk_tile = calloc((size_t)(how->bn * p->d), sizeof *dk_tile);
    float *dv_tile = calloc((size_t)(how->bn * p->dv), sizeof *dv_tile);
    for (int64_t t = 0; t < tiles; t++) {
        int64_t j0 = (how->descending ? tiles - 1 - t : t) * how->bn;
        int64_t j1 = j0 + how->bn < p->nk ? j0 + how->bn : p->nk;
        for (int64_t i0 = 0; i0 < p->nq; i0 += how->bm) {
            int64_t i1 = i0 + how->bm < p->nq ? i0 + how->bm : p->nq;
            fk_tile(x, i0, i1, j0, j1, dq_tile, dk_tile, dv_tile);
            if (how->mutation == MUT_LOST_TILE && t == tiles / 2 && i0 == 0)
                memset(dq_tile, 0, (size_t)(how->bm * p->d) * sizeof *dq_tile);
            fk_end(how->numerics.dq, (i1 - i0) * p->d, dq + i0 * p->d, dq_tile);
            fk_end(how->numerics.dkv, (j1 - j0) * p->d, dk + j0 * p->d, dk_tile);
            fk_end(how->numerics.dkv, (j1 - j0) * p->dv, dv + j0 * p->dv, dv_tile);
        }
    }
    free(dq_tile);
    free(dk_tile);
    free(dv_tile);
}

static void fk_scale(float *x, int64_t n, float factor)
{
    for (int64_t c = 0; c < n; c++)
        x[c] *= factor;
}

/* Spoils finished outputs, where the mutation says so. */
static void fk_spoil(const struct fb_args *a, enum mutation mutation)
{
    const struct fb_problem *p = a->problem;
    size_t bytes = fb_dtype_bytes(p->dtype);
    int64_t middle = p->b * p->h * p->nq * p->d / 2;
    int64_t last = p->b * p->hk * p->nk * p->dv - 1;
    if (mutation == MUT_ONE_NAN)
        fb_element_write(a->dq.data, p->dtype, middle, NAN);
    if (mutation == MUT_ONE_FLIP)
        fb_element_write(a->dv.data, p->dtype, last, -fb_element_read(a->dv.data, p->dtype, last));
    if (mutation == MUT_ZERO)
        memset(a->dk.data, 0, (size_t)(p->b * p->hk * p->nk * p->d) * bytes);
    if (mutation == MUT_SWAP)
        for (int64_t n = 0; n <= last; n++) {
            double dv = fb_element_read(a->dv.data, p->dtype, n);
            fb_element_write(a->dv.data, p->dtype, n, fb_element_read(a->dk.data, p->dtype, n));
            fb_element_write(a->dk.data, p->dtype, n, dv);
        }
}

static void fk_head_run(const struct fb_args *a, struct fk_head *x, float *dk, float *dv)
{
    const struct fb_problem *p = a->problem;
    float *dq = calloc((size_t)(p->nq * p->d + 1), sizeof *dq);
    x->q = fk_load(&a->q, x->b, x->h);
    x->k = fk_load(&a->k, x->b, x->hk);
    x->v = fk_load(&a->v, x->b, x->hk);
    x->dout = fk_load(&a->dout, x->b, x->h);
    x->o = malloc((size_t)(p->nq * p->dv + 1) * sizeof *x->o);
    x->lse = malloc((size_t)(3 * p->nq + 1) * sizeof *x->lse);
    x->sink = p->sink ? (float)fb_element_read(a->sink.data, a->sink.dtype, x->h) : -INFINITY;
    x->max = x->lse + p->nq;
    x->delta = x->max + p->nq;
    fk_forward(x);
    fk_store(&a->o, x->b, x->h, x->o);
    fk_store(&a->lse, x->b, x->h, x->lse);
    fk_backward(x, dq, dk, dv);
    fk_scale(dq, p->nq * p->d, (float)p->scale);
    if (x->how->mutation == MUT_DQ_TWICE)
        fk_scale(dq, p->nq * p->d, (float)p->scale);
    fk_store(&a->dq, x->b, x->h, dq);
    float *all[] = {x->q, x->k, x->v, x->dout, x->o, x->lse, dq};
    for (size_t n = 0; n < sizeof all / sizeof *all; n++)
        free(all[n]);
}

/* Forward and backward of the whole problem into a's outputs. */
static void float_kernel_run(const struct fb_args *a, const struct float_kernel *how)
{
    const struct fb_problem *p = a->problem;
    int64_t group = p->h / p->hk, dk_count = p->nk * p->d, dv_count = p->nk * p->dv;
    float *dk = malloc((size_t)(dk_count + 1) * sizeof *dk);
    float *dv = malloc((size_t)(dv_count + 1) * sizeof *dv);
    for (int64_t b = 0; b < p->b; b++)
        for (int64_t hk = 0; hk < p->hk; hk++) {
            memset(dk, 0, (size_t)dk_count * sizeof *dk);
            memset(dv, 0, (size_t)dv_count * sizeof *dv);
            for (int64_t g = 0; g < group; g++) {
                int64_t h = hk * group + g;
                struct fk_head x = {.p = p, .how = how, .b = b, .h = h, .hk = hk};
                if (how->mutation == MUT_GQA_MOD)
                    x.hk = h % p->hk;
                if (how->mutation == MUT_GQA_LAST && g == group - 1) {
                    memset(dk, 0, (size_t)dk_count * sizeof *dk);
                    memset(dv, 0, (size_t)dv_count * sizeof *dv);
                }
                fk_head_run(a, &x, dk, dv);
            }
            if (how->mutation != MUT_DK_UNSCALED)
                fk_scale(dk, dk_count, (float)p->scale);
            fk_store(&a->dk, b, hk, dk);
            fk_store(&a->dv, b, hk, dv);
        }
    free(dk);
    free(dv);
    fk_spoil(a, how->mutation);
}

#endif
