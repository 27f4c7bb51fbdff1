/* SPDX-License-Identifier: BSD-3-Clause
 *
 * forward.c: one row of o, with its lse and delta.
 */
#include <math.h>
#include <string.h>

#include "reference/internal.h"

static void softmax_of_row(const struct fb_ref_group *g, int64_t head,
                           const struct fb_ref_pair *pairs, int64_t count, struct fb_ref_row *row)
{
    row->max = g->sink[head];
    for (int64_t n = 0; n < count; n++)
        row->max = fmax(row->max, pairs[n].s);
    if (row->max == -INFINITY)
        return; /* every key is masked by a bias of -inf: as if there were none */
    row->sum = exp(g->sink[head] - row->max);
    for (int64_t n = 0; n < count; n++)
        row->sum += exp(pairs[n].s - row->max);
    row->lse = row->max + log(row->sum);
}

static void delta_of_row(const struct fb_ref_group *g, int64_t head, int64_t i, const double *o,
                         struct fb_ref_row *row)
{
    row->delta = row->dout_o_size = row->dout_o_lost = 0;
    if (!g->in->dout.data)
        return;
    const double *dout = fb_ref_dout(g, head, i);
    const double floor = g->want->roundings ? g->want->roundings->output_floor : 0;
    row->delta = fb_ref_dot(g->dv, dout, o, &row->dout_o_size);
    row->delta -= g->dlse[head * g->nq + i];
    for (int64_t c = 0; c < g->dv && floor > 0; c++) {
        double lost = dout[c] * fmin(floor, fabs(o[c]));
        row->dout_o_lost += lost * lost;
    }
    row->dout_o_lost = sqrt(row->dout_o_lost);
}

/* p = exp(s - lse) / 1: the maximum stands for the lse, and the sum for the rest. */
void fb_ref_known_row(struct fb_ref_group *g, int64_t head, int64_t i, double *o)
{
    struct fb_ref_row *row = fb_ref_row(g, head, i);
    const int64_t flat = g->q_row0 + head * g->q_head_rows + i;
    const double lse = g->in->known_lse[flat];
    memcpy(o, g->in->known_o + flat * g->dv, (size_t)g->dv * sizeof *o);
    *row = (struct fb_ref_row){.max = lse, .sum = lse == -INFINITY ? 0 : 1, .lse = lse};
    if (row->sum > 0)
        delta_of_row(g, head, i, o, row);
}

void fb_ref_forward_row(struct fb_ref_group *g, int64_t head, int64_t i, struct fb_ref_pair *pairs,
                        double *o)
{
    struct fb_ref_row *row = fb_ref_row(g, head, i);
    int64_t count = fb_ref_scores_of_query(g, head, i, pairs);
    for (int64_t c = 0; c < g->dv; c++)
        o[c] = 0;
    *row = (struct fb_ref_row){.max = -INFINITY, .sum = 0, .lse = -INFINITY};
    if (count == 0)
        return;
    softmax_of_row(g, head, pairs, count, row);
    if (row->sum == 0)
        return;
    for (int64_t n = 0; n < count; n++) {
        double p = exp(pairs[n].s - row->max) / row->sum;
        fb_ref_axpy(g->dv, p * pairs[n].f, fb_ref_v(g, pairs[n].j), o);
    }
    delta_of_row(g, head, i, o, row);
}
