/* SPDX-License-Identifier: BSD-3-Clause
 *
 * group.c: brings one sequence and one key head with its query heads into doubles.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reference/internal.h"

static double *room(int64_t count)
{
    return malloc((count > 0 ? (size_t)count : 1) * sizeof(double));
}

enum fb_status fb_ref_group_init(struct fb_ref_group *g, const struct fb_ref_inputs *in,
                                 const struct fb_ref_request *want, int threads)
{
    const struct fb_problem *p = in->problem;
    int64_t heads = p->h / p->hk, longest = p->nq > p->nk ? p->nq : p->nk;
    *g = (struct fb_ref_group){.in = in, .want = want, .threads = threads, .heads = heads};
    g->d = p->d;
    g->dv = p->dv;
    g->pair_room = longest + 1;
    g->sum_room = 2 * p->dv + p->d;
    g->q = room(heads * p->nq * p->d);
    g->dout = room(heads * p->nq * p->dv);
    g->dlse = room(heads * p->nq);
    g->k = room(p->nk * p->d);
    g->v = room(p->nk * p->dv);
    g->slope = room(heads);
    g->sink = room(heads);
    g->lo = malloc((size_t)(p->nq + 1) * sizeof *g->lo);
    g->hi = malloc((size_t)(p->nq + 1) * sizeof *g->hi);
    g->rows = malloc((size_t)(heads * p->nq + 1) * sizeof *g->rows);
    g->pairs = malloc((size_t)(threads * g->pair_room) * sizeof *g->pairs);
    g->sums = room(threads * g->sum_room);
    return g->q && g->dout && g->dlse && g->k && g->v && g->slope && g->sink && g->lo && g->hi &&
                   g->rows && g->pairs && g->sums
               ? FB_OK
               : FB_NO_MEMORY;
}

void fb_ref_group_free(struct fb_ref_group *g)
{
    free(g->q);
    free(g->dout);
    free(g->dlse);
    free(g->k);
    free(g->v);
    free(g->slope);
    free(g->sink);
    free(g->lo);
    free(g->hi);
    free(g->rows);
    free(g->pairs);
    free(g->sums);
}

/* The slope of head h: from the tensor where there is one (it may be rounded), else as stated. */
static double slope_of(const struct fb_ref_inputs *in, int64_t h)
{
    const struct fb_problem *p = in->problem;
    if (p->alibi == FB_ALIBI_NONE)
        return 0;
    if (in->alibi.data)
        return fb_ref_read(&in->alibi, 0, h, 0, 0);
    if (p->alibi == FB_ALIBI_LIST)
        return p->alibi_slopes[h];
    return exp2(-8.0 * (double)(h + 1) / (double)p->h);
}

static void load_head(struct fb_ref_group *g, int64_t head, int64_t tensor_batch, int64_t first)
{
    const struct fb_ref_inputs *in = g->in;
    int64_t h = g->head0 + head;
    double *dlse = g->dlse + head * g->nq;
    fb_ref_gather(&in->q, tensor_batch, h, first, g->nq, g->d, g->q + head * g->nq * g->d);
    if (in->dout.data)
        fb_ref_gather(&in->dout, tensor_batch, h, first, g->nq, g->dv,
                      g->dout + head * g->nq * g->dv);
    memset(dlse, 0, (size_t)g->nq * sizeof *dlse);
    if (in->problem->dlse && in->dlse.data)
        fb_ref_gather(&in->dlse, tensor_batch, h, first, g->nq, 1, dlse);
    g->slope[head] = slope_of(in, h);
    g->sink[head] = in->problem->sink ? fb_ref_read(&in->sink, 0, h, 0, 0) : -INFINITY;
}

void fb_ref_group_load(struct fb_ref_group *g, int64_t batch, int64_t key_head)
{
    const struct fb_ref_inputs *in = g->in;
    bool packed = in->cu_qlens != NULL;
    int64_t tensor_batch = packed ? 0 : batch;
    int64_t q_first = packed ? in->cu_qlens[batch] : 0, k_first = packed ? in->cu_klens[batch] : 0;
    g->batch = batch;
    g->key_head = key_head;
    g->head0 = key_head * g->heads;
    g->nq = packed ? in->cu_qlens[batch + 1] - q_first : in->problem->nq;
    g->nk = packed ? in->cu_klens[batch + 1] - k_first : in->problem->nk;
    g->q_head_rows = in->q.shape[2];
    g->q_row0 = (tensor_batch * in->q.shape[1] + g->head0) * in->q.shape[2] + q_first;
    g->k_row0 = (tensor_batch * in->k.shape[1] + key_head) * in->k.shape[2] + k_first;
    fb_ref_gather(&in->k, tensor_batch, key_head, k_first, g->nk, g->d, g->k);
    fb_ref_gather(&in->v, tensor_batch, key_head, k_first, g->nk, g->dv, g->v);
    for (int64_t head = 0; head < g->heads; head++)
        load_head(g, head, tensor_batch, q_first);
    for (int64_t i = 0; i < g->nq; i++)
        fb_ref_keys(in->problem, g->nq, g->nk, i, &g->lo[i], &g->hi[i]);
}
