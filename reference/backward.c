/* SPDX-License-Identifier: BSD-3-Clause
 *
 * backward.c: the gradients, one row at a time, from the pairs of that row.
 */
#include <math.h>

#include "reference/internal.h"

void fb_ref_dq_row(const struct fb_ref_group *g, const struct fb_ref_pair *pairs, int64_t count,
                   double *dq)
{
    double scale = g->in->problem->scale;
    for (int64_t n = 0; n < count; n++)
        fb_ref_axpy(g->d, scale * pairs[n].ds * pairs[n].g, fb_ref_k(g, pairs[n].j), dq);
}

void fb_ref_dkv_row(const struct fb_ref_group *g, int64_t head, const struct fb_ref_pair *pairs,
                    int64_t count, double *dk, double *dv)
{
    double scale = g->in->problem->scale;
    for (int64_t n = 0; n < count; n++) {
        const struct fb_ref_pair *pair = &pairs[n];
        fb_ref_axpy(g->d, scale * pair->ds * pair->g, fb_ref_q(g, head, pair->i), dk);
        fb_ref_axpy(g->dv, pair->p * pair->f, fb_ref_dout(g, head, pair->i), dv);
    }
}

double *fb_ref_dbias_at(const struct fb_ref_group *g, int64_t head, int64_t i, double *dbias)
{
    const int64_t *shape = g->in->bias.shape;
    int64_t b = shape[0] == 1 ? 0 : g->batch;
    int64_t h = shape[1] == 1 ? 0 : g->head0 + head;
    return dbias + ((b * shape[1] + h) * shape[2] + i) * shape[3];
}

void fb_ref_dbias_row(const struct fb_ref_group *g, int64_t head, const struct fb_ref_pair *pairs,
                      int64_t count, double *dbias)
{
    for (int64_t n = 0; n < count; n++)
        fb_ref_dbias_at(g, head, pairs[n].i, dbias)[pairs[n].j] += pairs[n].ds;
}

double fb_ref_dsink_head(const struct fb_ref_group *g, int64_t head)
{
    double dsink = 0;
    for (int64_t i = 0; i < g->nq; i++) {
        const struct fb_ref_row *row = fb_ref_row(g, head, i);
        if (row->sum > 0)
            dsink -= exp(g->sink[head] - row->lse) * row->delta;
    }
    return dsink;
}
