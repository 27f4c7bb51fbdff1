/* SPDX-License-Identifier: BSD-3-Clause
 *
 * emulate.c: what a kernel would write if its declared roundings were its only errors: double
 * arithmetic with casts where the numerics say so. The judge compares error norms with it, so that
 * data on which roundings are correlated (repeated tokens, uniform attention) are judged as fairly
 * as random ones.
 */
#include <math.h>
#include <string.h>

#include "reference/internal.h"

static uint64_t scramble(uint64_t x)
{
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

/* bf16 with the 45 bits that a double has beyond it raised by `raise` and cut off: 0 truncates, a
 * uniform one rounds stochastically. */
static double cut_bf16(double x, uint64_t raise)
{
    const uint64_t beyond = ((uint64_t)1 << 45) - 1;
    uint64_t pattern;
    memcpy(&pattern, &x, sizeof pattern);
    pattern += raise & beyond;
    pattern &= ~beyond;
    memcpy(&x, &pattern, sizeof x);
    return x;
}

/* One rounding of an accumulator at the end of a tile. The stochastic one draws its bits from the
 * value itself, so that it needs no state and repeats. Compensated sums are exact here. */
static double round_acc(enum fb_acc acc, double x)
{
    uint64_t pattern;
    memcpy(&pattern, &x, sizeof pattern);
    switch (acc) {
    case FB_ACC_FP32:
        return fb_ref_round(FB_REF_TO_FP32, x);
    case FB_ACC_BF16:
        return fb_ref_round(FB_REF_TO_BF16, x);
    case FB_ACC_BF16_STOCHASTIC:
        return cut_bf16(x, scramble(pattern));
    case FB_ACC_BF16_TRUNCATE:
        return cut_bf16(x, 0);
    case FB_ACC_FP16:
        return fb_ref_round(FB_REF_TO_FP16, x);
    case FB_ACC_FP32_KAHAN:
    case FB_ACC_BF16_KAHAN:
    case FB_ACC_FP64:
        break;
    }
    return x;
}

void fb_ref_emulate_finish(const struct fb_ref_group *g, enum fb_acc acc, double *out, int64_t n)
{
    for (int64_t c = 0; c < n; c++) {
        if (acc == FB_ACC_BF16_KAHAN)
            out[c] = fb_ref_round(FB_REF_TO_BF16, out[c]);
        out[c] = fb_ref_round(g->want->casts->output, out[c]);
    }
}

/* p_ij with the lse that the backward reads. */
static double p_of(const struct fb_ref_row *row, const struct fb_ref_pair *pair)
{
    return row->lse_cast == row->lse ? pair->p : pair->p * exp(row->lse - row->lse_cast);
}

void fb_ref_o_emulate(const struct fb_ref_group *g, int64_t head, const struct fb_ref_pair *pairs,
                      int64_t count, double *o)
{
    const struct fb_ref_casts *casts = g->want->casts;
    (void)head;
    for (int64_t n = 0; n < count; n++) {
        double p = fb_ref_round(casts->p_ds, pairs[n].p * pairs[n].f);
        fb_ref_axpy(g->dv, p, fb_ref_v(g, pairs[n].j), o);
    }
    fb_ref_emulate_finish(g, FB_ACC_FP64, o, g->dv);
}

static double delta_of(const struct fb_ref_group *g, const double *dout, const double *o)
{
    double delta = 0;
    for (int64_t c = 0; c < g->dv; c++)
        delta += dout[c] * fb_ref_round(g->want->casts->output, o[c]);
    return delta;
}

/* The forward may have rounded p as it is, or against the largest of the row, or of some keys of
 * it. The largest itself is then 1 and exact in one row after the other, or with dropout off by the
 * same in all of them. Of the first two the one that is further off stands for all. */
static double delta_made(const struct fb_ref_group *g, const struct fb_ref_row *row, double exact,
                         const double *dout, const double *o, const double *emulated,
                         const struct fb_ref_pair *pairs, int64_t count)
{
    double as_it_is = delta_of(g, dout, emulated), scaled = delta_of(g, dout, o);
    for (int64_t n = 0; n < count; n++) {
        double f = pairs[n].f, p = pairs[n].p * f;
        if (f > 0)
            scaled +=
                (fb_ref_round(g->want->casts->p_ds, p * row->sum) / row->sum - p) * pairs[n].dp / f;
    }
    return fabs(scaled - exact) > fabs(as_it_is - exact) ? scaled : as_it_is;
}

void fb_ref_row_cast(const struct fb_ref_group *g, int64_t head, int64_t i, const double *o,
                     const double *emulated, const struct fb_ref_pair *pairs, int64_t count)
{
    const struct fb_ref_casts *casts = g->want->casts;
    struct fb_ref_row *row = fb_ref_row(g, head, i);
    const double *dout = fb_ref_dout(g, head, i);
    const double dlse = g->dlse[head * g->nq + i];
    row->lse_cast = fb_ref_round(casts->lse, row->lse);
    row->delta_cast = 0;
    if (casts->recomputed)
        for (int64_t n = 0; n < count; n++)
            row->delta_cast += p_of(row, &pairs[n]) * pairs[n].dp;
    else if (emulated)
        row->delta_cast = delta_made(g, row, row->delta + dlse, dout, o, emulated, pairs, count);
    else
        row->delta_cast = delta_of(g, dout, o);
    row->delta_cast = fb_ref_round(casts->delta, row->delta_cast - dlse);
}

static double ds_of(const struct fb_ref_group *g, const struct fb_ref_row *row,
                    const struct fb_ref_pair *pair)
{
    double ds = p_of(row, pair) * (pair->dp - row->delta_cast) * pair->g;
    return fb_ref_round(g->want->casts->p_ds, ds);
}

/* Ends a tile: the accumulator takes the tile's sum and is rounded, in units of what it stands for:
 * sums may be scaled after all, where a large scale has made more of what fp16 has lost. */
static void end_tile(enum fb_acc acc, int64_t n, double unit, double *out, double *tile)
{
    for (int64_t c = 0; c < n; c++) {
        out[c] = round_acc(acc, (out[c] + tile[c]) / unit) * unit;
        tile[c] = 0;
    }
}

static double unit_of(const struct fb_ref_group *g)
{
    return fmax(1, fabs(g->in->problem->scale));
}

static bool tile_ends(int64_t rows, int64_t at, int64_t next)
{
    return rows > 0 && at / rows != next / rows;
}

void fb_ref_dq_emulate(const struct fb_ref_group *g, int64_t head, const struct fb_ref_pair *pairs,
                       int64_t count, double *dq, double *tile)
{
    const struct fb_ref_casts *casts = g->want->casts;
    memset(tile, 0, (size_t)g->d * sizeof *tile);
    for (int64_t n = 0; n < count; n++) {
        const struct fb_ref_row *row = fb_ref_row(g, head, pairs[n].i);
        double ds = ds_of(g, row, &pairs[n]) * g->in->problem->scale;
        fb_ref_axpy(g->d, ds, fb_ref_k(g, pairs[n].j), tile);
        if (n + 1 == count || tile_ends(casts->bn, pairs[n].j, pairs[n + 1].j))
            end_tile(casts->dq, g->d, unit_of(g), dq, tile);
    }
}

void fb_ref_dkv_emulate(const struct fb_ref_group *g, int64_t head, const struct fb_ref_pair *pairs,
                        int64_t count, double *dk, double *dv, double *tiles)
{
    const struct fb_ref_casts *casts = g->want->casts;
    double *dk_tile = tiles, *dv_tile = tiles + g->d;
    memset(tiles, 0, (size_t)(g->d + g->dv) * sizeof *tiles);
    for (int64_t n = 0; n < count; n++) {
        const struct fb_ref_pair *pair = &pairs[n];
        const struct fb_ref_row *row = fb_ref_row(g, head, pair->i);
        double p = fb_ref_round(casts->p_ds, p_of(row, pair) * pair->f);
        fb_ref_axpy(g->d, ds_of(g, row, pair) * g->in->problem->scale, fb_ref_q(g, head, pair->i),
                    dk_tile);
        fb_ref_axpy(g->dv, p, fb_ref_dout(g, head, pair->i), dv_tile);
        if (n + 1 == count || tile_ends(casts->bm, pair->i, pairs[n + 1].i)) {
            end_tile(casts->dkv, g->d, unit_of(g), dk, dk_tile);
            end_tile(casts->dkv, g->dv, 1, dv, dv_tile);
        }
    }
}
