/* SPDX-License-Identifier: BSD-3-Clause
 *
 * pair.c: all that the mathematics says about one (query, key) pair.
 */
#include <math.h>

#include "reference/internal.h"
#include "reference/philox.h"

void fb_ref_axpy(int64_t n, double a, const double *restrict x, double *restrict y)
{
#pragma omp simd
    for (int64_t c = 0; c < n; c++)
        y[c] += a * x[c];
}

void fb_ref_axpy_size(int64_t n, double a, const double *restrict x, double *restrict y)
{
#pragma omp simd
    for (int64_t c = 0; c < n; c++)
        y[c] += a * fabs(x[c]);
}

double fb_ref_dot(int64_t n, const double *a, const double *b, double *size)
{
    double sum = 0, sizes = 0;
    if (!size) {
#pragma omp simd reduction(+ : sum)
        for (int64_t c = 0; c < n; c++)
            sum += a[c] * b[c];
        return sum;
    }
#pragma omp simd reduction(+ : sum, sizes)
    for (int64_t c = 0; c < n; c++) {
        double product = a[c] * b[c];
        sum += product;
        sizes += fabs(product);
    }
    *size = sizes;
    return sum;
}

/* The score s_ij and what its derivative needs. Sizes are for the error analysis alone. */
static void score(const struct fb_ref_group *g, int64_t head, struct fb_ref_pair *pair, bool sizes)
{
    const struct fb_problem *problem = g->in->problem;
    double *size = sizes ? &pair->qk_size : NULL;
    double r =
        problem->scale * fb_ref_dot(g->d, fb_ref_q(g, head, pair->i), fb_ref_k(g, pair->j), size);
    pair->tanh = 0;
    pair->g = 1;
    if (problem->softcap != 0) {
        pair->tanh = tanh(r / problem->softcap);
        pair->g = 1 - pair->tanh * pair->tanh;
        r = problem->softcap * pair->tanh;
    }
    double bias = 0, distance = 0;
    if (g->in->bias.data) {
        int64_t bias_b = g->in->bias.shape[0] == 1 ? 0 : g->batch;
        int64_t bias_h = g->in->bias.shape[1] == 1 ? 0 : g->head0 + head;
        bias = fb_ref_read(&g->in->bias, bias_b, bias_h, pair->i, pair->j);
    }
    if (g->slope[head] != 0)
        distance = g->slope[head] * fabs((double)(pair->i + g->nk - g->nq - pair->j));
    pair->s = r + bias - distance;
    if (sizes) {
        pair->qk_size *= fabs(problem->scale);
        /* -inf masks exactly: nothing is rounded where it is added */
        pair->s_size = fabs(r) + (isinf(bias) ? 0 : fabs(bias)) + fabs(distance);
    }
}

static double dropout_factor(const struct fb_ref_group *g, int64_t head, int64_t i, int64_t j)
{
    const struct fb_problem *problem = g->in->problem;
    if (problem->dropout == 0)
        return 1;
    int64_t entry = ((g->batch * problem->h + g->head0 + head) * problem->nq + i) * problem->nk + j;
    bool keep = g->in->keep ? g->in->keep[entry] : fb_ref_philox_keep(problem, entry);
    return keep ? 1 / (1 - problem->dropout) : 0;
}

static void complete(const struct fb_ref_group *g, int64_t head, struct fb_ref_pair *pair)
{
    const struct fb_ref_row *row = fb_ref_row(g, head, pair->i);
    score(g, head, pair, true);
    pair->f = dropout_factor(g, head, pair->i, pair->j);
    pair->p = row->sum > 0 ? exp(pair->s - row->max) / row->sum : 0;
    pair->dp = pair->dp_size = pair->ds = 0;
    if (!g->in->dout.data)
        return;
    const double *dout = fb_ref_dout(g, head, pair->i);
    pair->dp = pair->f * fb_ref_dot(g->dv, dout, fb_ref_v(g, pair->j), &pair->dp_size);
    pair->dp_size *= pair->f;
    pair->ds = pair->p * (pair->dp - row->delta);
}

int64_t fb_ref_scores_of_query(const struct fb_ref_group *g, int64_t head, int64_t i,
                               struct fb_ref_pair *pairs)
{
    int64_t count = g->hi[i] - g->lo[i];
    for (int64_t n = 0; n < count; n++) {
        pairs[n].i = i;
        pairs[n].j = g->lo[i] + n;
        score(g, head, &pairs[n], false);
        pairs[n].f = dropout_factor(g, head, i, pairs[n].j);
    }
    return count;
}

int64_t fb_ref_pairs_of_query(const struct fb_ref_group *g, int64_t head, int64_t i,
                              struct fb_ref_pair *pairs)
{
    int64_t count = g->hi[i] - g->lo[i];
    for (int64_t n = 0; n < count; n++) {
        pairs[n].i = i;
        pairs[n].j = g->lo[i] + n;
        complete(g, head, &pairs[n]);
    }
    return count;
}

int64_t fb_ref_pairs_of_key(const struct fb_ref_group *g, int64_t head, int64_t j,
                            struct fb_ref_pair *pairs)
{
    int64_t count = 0;
    for (int64_t i = 0; i < g->nq; i++)
        if (g->lo[i] <= j && j < g->hi[i]) {
            pairs[count].i = i;
            pairs[count].j = j;
            complete(g, head, &pairs[count]);
            count++;
        }
    return count;
}
