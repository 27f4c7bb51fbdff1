/* SPDX-License-Identifier: BSD-3-Clause
 *
 * compute.c: walks the groups of a problem and asks for each wanted row. Threads take groups where
 * there are many, else rows inside a group; a row is always one thread's, so bits do not depend on
 * it.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#ifdef _OPENMP
#include <omp.h>
#endif

#include "reference/internal.h"

static int thread_number(void)
{
#ifdef _OPENMP
    return omp_get_thread_num();
#else
    return 0;
#endif
}

static int thread_count(void)
{
#ifdef _OPENMP
    return omp_get_max_threads();
#else
    return 1;
#endif
}

/* Where a flat row stands in a list, -1 if nowhere. */
static int64_t position(const int64_t *list, int64_t count, int64_t row)
{
    if (!list)
        return row;
    int64_t lo = 0, hi = count;
    while (lo < hi) {
        int64_t middle = lo + (hi - lo) / 2;
        if (list[middle] < row)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo < count && list[lo] == row ? lo : -1;
}

static int64_t query_position(const struct fb_ref_group *g, int64_t head, int64_t i)
{
    const struct fb_ref_rows *rows = &g->want->rows;
    return position(rows->q, rows->q_count, g->q_row0 + head * g->q_head_rows + i);
}

static int64_t key_position(const struct fb_ref_group *g, int64_t j)
{
    return position(g->want->rows.k, g->want->rows.k_count, g->k_row0 + j);
}

/* The gradients that query i's own pairs give. */
static void query_gradients(struct fb_ref_group *g, int64_t head, int64_t at,
                            const struct fb_ref_pair *pairs, int64_t count, double *tile)
{
    const struct fb_ref_request *want = g->want;
    struct fb_ref_tensors *values = want->values, *spread = want->spread, *em = want->emulated;
    int64_t dq = at * g->d;
    if (values)
        fb_ref_dq_row(g, pairs, count, values->dq + dq);
    if (values && values->dbias)
        fb_ref_dbias_row(g, head, pairs, count, values->dbias);
    if (spread)
        fb_ref_dq_spread(g, head, pairs, count, spread->dq + dq);
    if (spread && spread->dbias)
        fb_ref_dbias_spread(g, head, pairs, count, spread->dbias);
    if (em) {
        fb_ref_dq_emulate(g, head, pairs, count, em->dq + dq, tile);
        fb_ref_emulate_finish(g, want->casts->dq, em->dq + dq, g->d);
    }
}

/* Everything of query i: forward, row errors, and the gradients where row `at` is wanted (at >= 0;
 * otherwise only lse and delta are, for the keys' sake). */
static void query_row(struct fb_ref_group *g, int64_t head, int64_t i, int64_t at,
                      struct fb_ref_pair *pairs, double *sums)
{
    const struct fb_ref_request *want = g->want;
    struct fb_ref_tensors *values = want->values, *spread = want->spread, *em = want->emulated;
    bool recomputed = (em && want->casts->recomputed) || (spread && want->roundings->recomputed);
    bool paired = at >= 0 || recomputed;
    bool gradients = g->in->dout.data != NULL;
    double *o = sums;
    if (at < 0 && g->in->known_o)
        fb_ref_known_row(g, head, i, o);
    else
        fb_ref_forward_row(g, head, i, pairs, o);
    if (values && at >= 0) {
        memcpy(values->o + at * g->dv, o, (size_t)g->dv * sizeof *o);
        values->lse[at] = fb_ref_row(g, head, i)->lse;
    }
    int64_t count = paired ? fb_ref_pairs_of_query(g, head, i, pairs) : 0;
    if (spread)
        fb_ref_row_error(g, head, i, pairs, count);
    if (spread && at >= 0)
        fb_ref_o_spread(g, head, pairs, count, spread->o + at * g->dv, spread->lse + at);
    double *emulated = em && at >= 0 ? em->o + at * g->dv : NULL;
    if (emulated)
        fb_ref_o_emulate(g, head, pairs, count, emulated);
    if (em && gradients)
        fb_ref_row_cast(g, head, i, o, emulated, pairs, count);
    if (at >= 0 && gradients)
        query_gradients(g, head, at, pairs, count, sums + g->dv);
}

/* Everything of key j, over the query heads that read it. */
static void key_row(struct fb_ref_group *g, int64_t j, int64_t at, struct fb_ref_pair *pairs,
                    double *sums)
{
    struct fb_ref_tensors *values = g->want->values, *spread = g->want->spread;
    struct fb_ref_tensors *em = g->want->emulated;
    int64_t dk = at * g->d, dv = at * g->dv;
    for (int64_t head = 0; head < g->heads; head++) {
        int64_t count = fb_ref_pairs_of_key(g, head, j, pairs);
        if (values)
            fb_ref_dkv_row(g, head, pairs, count, values->dk + dk, values->dv + dv);
        if (spread)
            fb_ref_dkv_spread(g, head, pairs, count, spread->dk + dk, spread->dv + dv);
        if (em)
            fb_ref_dkv_emulate(g, head, pairs, count, em->dk + dk, em->dv + dv, sums);
    }
    if (em) {
        fb_ref_emulate_finish(g, g->want->casts->dkv, em->dk + dk, g->d);
        fb_ref_emulate_finish(g, g->want->casts->dkv, em->dv + dv, g->dv);
    }
}

static bool any_key_wanted(const struct fb_ref_group *g)
{
    if (!g->in->dout.data)
        return false;
    for (int64_t j = 0; j < g->nk; j++)
        if (key_position(g, j) >= 0)
            return true;
    return false;
}

static void sinks(const struct fb_ref_group *g, const struct fb_ref_request *want, double *partial)
{
    int64_t h = g->in->problem->h, b = g->in->problem->b;
    for (int64_t head = 0; head < g->heads; head++) {
        int64_t at = g->batch * h + g->head0 + head;
        if (want->values && want->values->dsink)
            partial[at] = fb_ref_dsink_head(g, head);
        if (want->spread && want->spread->dsink)
            partial[b * h + at] = fb_ref_dsink_spread(g, head);
    }
}

static void compute_group(struct fb_ref_group *g, double *sink_partial)
{
    const struct fb_ref_request *want = g->want;
    bool keys = any_key_wanted(g);
#pragma omp parallel for schedule(dynamic, 4) num_threads(g->threads) if (g->threads > 1)
    for (int64_t i = 0; i < g->nq; i++) {
        struct fb_ref_pair *pairs = g->pairs + thread_number() % g->threads * g->pair_room;
        double *sums = g->sums + thread_number() % g->threads * g->sum_room;
        for (int64_t head = 0; head < g->heads; head++) {
            int64_t at = query_position(g, head, i);
            if (at >= 0 || keys)
                query_row(g, head, i, at, pairs, sums);
        }
    }
    if (keys) {
#pragma omp parallel for schedule(dynamic, 4) num_threads(g->threads) if (g->threads > 1)
        for (int64_t j = 0; j < g->nk; j++) {
            struct fb_ref_pair *pairs = g->pairs + thread_number() % g->threads * g->pair_room;
            double *sums = g->sums + thread_number() % g->threads * g->sum_room;
            int64_t at = key_position(g, j);
            if (at >= 0)
                key_row(g, j, at, pairs, sums);
        }
    }
    if (sink_partial)
        sinks(g, want, sink_partial);
    if (want->spread)
        for (int64_t row = 0; row < g->heads * g->nq; row++)
            if (query_position(g, row / g->nq, row % g->nq) >= 0)
                g->rho = fmax(g->rho, g->rows[row].rho);
}

/* ---- The whole problem ------------------------------------------------------------------------
 */

static bool view_fits(const struct fb_ref_view *view, int64_t b, int64_t h, int64_t n, int64_t d)
{
    return view->shape[0] == b && view->shape[1] == h && view->shape[2] >= n && view->shape[3] == d;
}

static bool inputs_fit(const struct fb_ref_inputs *in)
{
    const struct fb_problem *p = in->problem;
    int64_t b = in->cu_qlens || in->cu_klens ? 1 : p->b;
    int64_t nq = in->cu_qlens ? in->cu_qlens[p->b] : p->nq;
    int64_t nk = in->cu_klens ? in->cu_klens[p->b] : p->nk;
    return (!in->cu_qlens == !in->cu_klens) && view_fits(&in->q, b, p->h, nq, p->d) &&
           view_fits(&in->k, b, p->hk, nk, p->d) && view_fits(&in->v, b, p->hk, nk, p->dv) &&
           (!in->dout.data || view_fits(&in->dout, b, p->h, nq, p->dv)) &&
           (!p->dlse || !in->dout.data || view_fits(&in->dlse, b, p->h, nq, 1)) &&
           (!p->sink || view_fits(&in->sink, 1, p->h, 1, 1));
}

static double *zeros(int64_t count)
{
    return calloc(count > 0 ? (size_t)count : 1, sizeof(double));
}

static enum fb_status allocate(const struct fb_ref_inputs *in, const struct fb_ref_rows *rows,
                               struct fb_ref_tensors *t)
{
    const struct fb_problem *p = in->problem;
    const int64_t *bias = in->bias.shape;
    memset(t, 0, sizeof *t);
    t->q_count = rows->q ? rows->q_count : in->q.shape[0] * p->h * in->q.shape[2];
    t->k_count = rows->k ? rows->k_count : in->k.shape[0] * p->hk * in->k.shape[2];
    bool all = !rows->q && !rows->k;
    t->o = zeros(t->q_count * p->dv);
    t->lse = zeros(t->q_count);
    t->dq = zeros(t->q_count * p->d);
    t->dk = zeros(t->k_count * p->d);
    t->dv = zeros(t->k_count * p->dv);
    bool ok = t->o && t->lse && t->dq && t->dk && t->dv;
    if (in->bias.data && all && ok)
        ok = (t->dbias = zeros(bias[0] * bias[1] * bias[2] * bias[3])) != NULL;
    if (p->sink && all && ok)
        ok = (t->dsink = zeros(p->h)) != NULL;
    if (!ok)
        fb_ref_free(t);
    return ok ? FB_OK : FB_NO_MEMORY;
}

void fb_ref_free(struct fb_ref_tensors *t)
{
    free(t->o);
    free(t->lse);
    free(t->dq);
    free(t->dk);
    free(t->dv);
    free(t->dbias);
    free(t->dsink);
    memset(t, 0, sizeof *t);
}

/* dsink sums over batches: in their order, from what each batch left. */
static void sum_sinks(const struct fb_problem *p, const double *partial, double *dsink)
{
    for (int64_t h = 0; h < p->h && dsink; h++)
        for (int64_t b = 0; b < p->b; b++)
            dsink[h] += partial[b * p->h + h];
}

/* As many threads as there is work for: waking them costs more than a tiny problem does, and far
 * more on a busy machine. */
static int threads_for(const struct fb_problem *p)
{
    double work =
        (double)p->b * (double)p->h * (double)p->nq * (double)p->nk * (double)(p->d + p->dv);
    return work < 1e6 ? 1 : thread_count();
}

/* Groups in parallel where they are many; with a bias always in order, since dbias may sum over
 * them. */
static enum fb_status walk(const struct fb_ref_inputs *in, const struct fb_ref_request *want,
                           double *sink_partial, double *rho)
{
    int64_t groups = in->problem->b * in->problem->hk;
    int threads = threads_for(in->problem);
    bool outer = groups >= 4 * threads && !in->bias.data;
    int workers = outer ? threads : 1;
    struct fb_ref_group *g = calloc((size_t)workers, sizeof *g);
    enum fb_status status = g ? FB_OK : FB_NO_MEMORY;
    for (int w = 0; w < workers && status == FB_OK; w++)
        status = fb_ref_group_init(&g[w], in, want, outer ? 1 : threads);
    if (status == FB_OK) {
#pragma omp parallel for schedule(dynamic) num_threads(workers) if (workers > 1)
        for (int64_t id = 0; id < groups; id++) {
            struct fb_ref_group *mine = &g[workers > 1 ? thread_number() : 0];
            fb_ref_group_load(mine, id / in->problem->hk, id % in->problem->hk);
            compute_group(mine, sink_partial);
        }
    }
    for (int w = 0; g && w < workers; w++) {
        *rho = fmax(*rho, g[w].rho);
        fb_ref_group_free(&g[w]);
    }
    free(g);
    return status;
}

enum fb_status fb_ref_compute(const struct fb_ref_inputs *in, const struct fb_ref_request *want)
{
    const struct fb_problem *p = in->problem;
    struct fb_ref_tensors *all[3] = {want->values, want->spread, want->emulated};
    double *sink_partial = NULL, rho = 0;
    enum fb_status status = inputs_fit(in) ? FB_OK : FB_USAGE;
    for (int n = 0; n < 3 && status == FB_OK; n++)
        if (all[n])
            status = allocate(in, &want->rows, all[n]);
    if (status == FB_OK && p->sink && in->dout.data) {
        sink_partial = zeros(2 * p->b * p->h);
        status = sink_partial ? FB_OK : FB_NO_MEMORY;
    }
    /* Rows that belong to no sequence see no key. */
    for (int64_t r = 0; status == FB_OK && want->values && r < want->values->q_count; r++)
        want->values->lse[r] = -INFINITY;
    if (status == FB_OK)
        status = walk(in, want, sink_partial, &rho);
    if (status == FB_OK && sink_partial && want->values)
        sum_sinks(p, sink_partial, want->values->dsink);
    if (status == FB_OK && sink_partial && want->spread)
        sum_sinks(p, sink_partial + p->b * p->h, want->spread->dsink);
    if (status == FB_OK && want->spread)
        want->spread->rho = rho;
    for (int n = 0; n < 3 && status == FB_NO_MEMORY; n++)
        if (all[n])
            fb_ref_free(all[n]);
    free(sink_partial);
    return status;
}
