/* SPDX-License-Identifier: BSD-3-Clause
 *
 * spread.c: how far the roundings of a correct kernel can move each output, to first order. The
 * formulas are those of doc/derivation.md, "The bound, term by term"; every one is a sum of
 * |derivative| times |rounding| over the pairs that the output depends on.
 */
#include <math.h>

#include "reference/internal.h"

/* How often a sum of count terms from each of `heads` heads is rounded. */
static double tiles_of(const struct fb_ref_sum *sum, int64_t count, int64_t heads)
{
    double tiles = (double)heads;
    if (sum->tile > 0)
        tiles *= (double)((count + sum->tile - 1) / sum->tile + 1);
    return tiles;
}

/* Error of such a sum, relative to its sum of |terms|. */
static double sum_error(const struct fb_ref_sum *sum, int64_t count, int64_t heads)
{
    double tiles = tiles_of(sum, count, heads);
    double steps = tiles <= sum->stagnation ? sqrt(tiles) : tiles;
    return sum->term * sqrt((double)(count * heads)) + sum->step * steps;
}

/* Its error below the smallest normal number, where what is too small is lost each time; sums of
 * nothing but zeros stay 0. Sums are scaled before or after: the larger counts. */
static void add_floor(const struct fb_ref_sum *sum, int64_t count, double scale, int64_t n,
                      double *error)
{
    const double floor = sum->floor * tiles_of(sum, count, 1) * fmax(1, scale);
    for (int64_t c = 0; c < n && floor > 0; c++)
        error[c] += error[c] > 0 ? floor : 0;
}

/* Absolute error of the score, before the lse is subtracted. */
static double score_error(const struct fb_ref_group *g, const struct fb_ref_pair *pair)
{
    const struct fb_ref_roundings *r = g->want->roundings;
    return pair->g * r->score * pair->qk_size + r->term * pair->s_size;
}

/* Relative error of p_ij as the forward makes it. p is exactly 0 in a row whose lse is -inf. */
static double forward_rho(const struct fb_ref_group *g, const struct fb_ref_row *row,
                          const struct fb_ref_pair *pair)
{
    const struct fb_ref_roundings *r = g->want->roundings;
    if (isinf(row->lse))
        return 0;
    return score_error(g, pair) + r->lse * fabs(row->lse) + r->exponent;
}

/* What the backward adds to that when it makes p from the lse that it reads. */
static double read_error(const struct fb_ref_group *g, const struct fb_ref_row *row)
{
    return isinf(row->lse) ? 0 : g->want->roundings->lse_read * fabs(row->lse);
}

/* Relative error of p_ij as the backward makes it again. */
static double rho_of(const struct fb_ref_group *g, const struct fb_ref_row *row,
                     const struct fb_ref_pair *pair)
{
    return forward_rho(g, row, pair) + read_error(g, row);
}

/* Absolute error of g_ij, the derivative of the softcap. */
static double softcap_error(const struct fb_ref_group *g, const struct fb_ref_pair *pair)
{
    const struct fb_ref_roundings *r = g->want->roundings;
    double cap = g->in->problem->softcap;
    if (cap == 0)
        return 0;
    double argument = pair->g * r->score * pair->qk_size / fabs(cap) + r->term;
    return 2 * fabs(pair->tanh) * argument + r->term;
}

/* A value that may vanish below the smallest subnormal cannot lose more than itself. */
static double floor_error(double floor, double value)
{
    return fmin(floor, fabs(value));
}

/* Error of ds_ij g_ij as the operand of the last two GEMMs, where their sum adds sum_error. */
static double ds_error(const struct fb_ref_group *g, const struct fb_ref_row *row,
                       const struct fb_ref_pair *pair, double accumulation)
{
    const struct fb_ref_roundings *r = g->want->roundings;
    double rho = rho_of(g, row, pair);
    double factor = fabs(pair->dp - row->delta), size = pair->p * factor;
    double error = size * (rho + r->ds + accumulation);
    error += floor_error(r->p_floor, pair->p) * factor; /* ds may be made of the rounded p */
    error += pair->p * (row->delta_error + r->dp * pair->dp_size);
    return error * pair->g + size * softcap_error(g, pair) +
           floor_error(r->ds_floor, pair->ds * pair->g);
}

/* That of p_ij f_ij. The factor of dropout may come after the rounding, with the output's scale. */
static double dropout_floor(double floor, const struct fb_ref_pair *pair)
{
    return floor_error(floor * fmax(1, pair->f), pair->p * pair->f);
}

/* Error of p_ij f_ij as the operand of the GEMM for o or dv, where p is off by rho. */
static double p_error(const struct fb_ref_group *g, const struct fb_ref_pair *pair, double rho,
                      double accumulation)
{
    const struct fb_ref_roundings *r = g->want->roundings;
    double size = pair->p * pair->f;
    return size * (rho + r->p + accumulation) + dropout_floor(r->p_floor, pair);
}

/* What delta is off by for the roundings of p in the forward that made o: they share a sign where
 * p does not vary; what is lost below the smallest number is not the same from key to key. */
static double forward_p_error(const struct fb_ref_group *g, const struct fb_ref_pair *pairs,
                              int64_t count)
{
    const struct fb_ref_roundings *r = g->want->roundings;
    double sum = 0, squares = 0;
    for (int64_t n = 0; n < count && pairs; n++) {
        double f = pairs[n].f;
        double lost = f > 0 ? dropout_floor(r->p_floor, &pairs[n]) * pairs[n].dp / f : 0;
        sum += pairs[n].p * pairs[n].dp;
        squares += lost * lost;
    }
    return r->p * fabs(sum) + sqrt(squares);
}

void fb_ref_row_error(const struct fb_ref_group *g, int64_t head, int64_t i,
                      const struct fb_ref_pair *pairs, int64_t count)
{
    const struct fb_ref_roundings *r = g->want->roundings;
    struct fb_ref_row *row = fb_ref_row(g, head, i);
    double error = 0; /* of delta before it is rounded itself */
    double again = read_error(g, row) + sum_error(&r->sum_o, count, 1);
    row->rho = 0;
    for (int64_t n = 0; n < count && pairs; n++) {
        double rho = forward_rho(g, row, &pairs[n]);
        row->rho += pairs[n].p * rho;
        if (r->recomputed)
            error += pairs[n].p * (fabs(pairs[n].dp) * (rho + again) + r->dp * pairs[n].dp_size);
    }
    if (!r->recomputed)
        error = r->o * row->dout_o_size + row->dout_o_lost + forward_p_error(g, pairs, count);
    row->delta_error = error + r->delta * fabs(row->delta);
}

void fb_ref_o_spread(const struct fb_ref_group *g, int64_t head, const struct fb_ref_pair *pairs,
                     int64_t count, double *o, double *lse)
{
    const struct fb_ref_roundings *r = g->want->roundings;
    double accumulation = sum_error(&r->sum_o, count, 1);
    for (int64_t n = 0; n < count; n++) {
        const struct fb_ref_row *row = fb_ref_row(g, head, pairs[n].i);
        double error = p_error(g, &pairs[n], forward_rho(g, row, &pairs[n]), accumulation);
        fb_ref_axpy_size(g->dv, error, fb_ref_v(g, pairs[n].j), o);
        *lse += pairs[n].p * (score_error(g, &pairs[n]) + accumulation + r->exponent);
    }
    if (count > 0 && g->sink[head] > -INFINITY) {
        double p = exp(g->sink[head] - fb_ref_row(g, head, pairs[0].i)->lse);
        *lse += p * (r->term * fabs(g->sink[head]) + accumulation + r->exponent);
    }
}

void fb_ref_dq_spread(const struct fb_ref_group *g, int64_t head, const struct fb_ref_pair *pairs,
                      int64_t count, double *dq)
{
    double scale = fabs(g->in->problem->scale);
    double accumulation = sum_error(&g->want->roundings->sum_dq, count, 1);
    for (int64_t n = 0; n < count; n++) {
        const struct fb_ref_row *row = fb_ref_row(g, head, pairs[n].i);
        double error = ds_error(g, row, &pairs[n], accumulation);
        fb_ref_axpy_size(g->d, scale * error, fb_ref_k(g, pairs[n].j), dq);
    }
    add_floor(&g->want->roundings->sum_dq, count, scale, g->d, dq);
}

void fb_ref_dkv_spread(const struct fb_ref_group *g, int64_t head, const struct fb_ref_pair *pairs,
                       int64_t count, double *dk, double *dv)
{
    double scale = fabs(g->in->problem->scale);
    double accumulation = sum_error(&g->want->roundings->sum_dkv, count, g->heads);
    for (int64_t n = 0; n < count; n++) {
        const struct fb_ref_pair *pair = &pairs[n];
        const struct fb_ref_row *row = fb_ref_row(g, head, pair->i);
        fb_ref_axpy_size(g->d, scale * ds_error(g, row, pair, accumulation),
                         fb_ref_q(g, head, pair->i), dk);
        fb_ref_axpy_size(g->dv, p_error(g, pair, rho_of(g, row, pair), accumulation),
                         fb_ref_dout(g, head, pair->i), dv);
    }
    add_floor(&g->want->roundings->sum_dkv, count, scale, g->d, dk);
    add_floor(&g->want->roundings->sum_dkv, count, 1, g->dv, dv);
}

/* dbias is fp32 and sums over the heads and batches that share the bias. */
void fb_ref_dbias_spread(const struct fb_ref_group *g, int64_t head,
                         const struct fb_ref_pair *pairs, int64_t count, double *dbias)
{
    const struct fb_ref_roundings *r = g->want->roundings;
    const struct fb_problem *problem = g->in->problem;
    double accumulation = r->sum_o.term * sqrt((double)(problem->b * problem->h));
    for (int64_t n = 0; n < count; n++) {
        struct fb_ref_pair plain = pairs[n]; /* the bias enters after the softcap */
        const struct fb_ref_row *row = fb_ref_row(g, head, plain.i);
        double rho = rho_of(g, row, &plain);
        double error = plain.p * (fabs(plain.dp - row->delta) * (rho + r->ds + accumulation) +
                                  row->delta_error + r->dp * plain.dp_size);
        fb_ref_dbias_at(g, head, plain.i, dbias)[plain.j] += error;
    }
}

double fb_ref_dsink_spread(const struct fb_ref_group *g, int64_t head)
{
    const struct fb_ref_roundings *r = g->want->roundings;
    double accumulation = r->sum_o.term * sqrt((double)(g->nq * g->in->problem->b));
    double spread = 0;
    for (int64_t i = 0; i < g->nq; i++) {
        const struct fb_ref_row *row = fb_ref_row(g, head, i);
        if (!(row->sum > 0) || g->sink[head] == -INFINITY)
            continue;
        double p = exp(g->sink[head] - row->lse);
        double rho =
            r->term * fabs(g->sink[head]) + r->exponent + (r->lse + r->lse_read) * fabs(row->lse);
        spread += p * (fabs(row->delta) * (rho + accumulation) + row->delta_error);
    }
    return spread;
}
