/* SPDX-License-Identifier: BSD-3-Clause
 *
 * device.c: brings one sequence after the other onto the device, and its rows back.
 */
#include "reference/device.h"

#include <cuda_runtime_api.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reference/device_kernel.h"
#include "reference/internal.h"

bool fb_ref_device_offers(const struct fb_problem *p)
{
    int devices = 0;
    bool known = p->bias == FB_BIAS_NONE && p->dropout == 0 && p->h <= 65535;
    bool found = known && cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0;
    cudaGetLastError();
    return found;
}

/* ---- Arrays of one sequence ---------------------------------------------------------------------
 */

/* What goes there and what comes back, in doubles but for LO and HI; each on both sides. */
enum array { Q, K, V, DOUT, DELTA, SLOPE, SINK, LO, HI, O, LSE, DQ, DK, DV, ARRAYS };

struct place {
    double *device[ARRAYS], *host[ARRAYS];
    int64_t count[ARRAYS]; /* of the sequence at hand */
    bool backward;
};

/* Sequence s: its place in the tensors and its lengths. */
struct part {
    int64_t batch, q_first, k_first, nq, nk;
};

static void set_counts(struct place *p, const struct fb_problem *problem, int64_t nq, int64_t nk)
{
    const int64_t rows = problem->h * nq, keys = problem->hk * nk;
    const int64_t gradients = p->backward ? 1 : 0;
    const int64_t counts[ARRAYS] = {[Q] = rows * problem->d,
                                    [K] = keys * problem->d,
                                    [V] = keys * problem->dv,
                                    [DOUT] = gradients * rows * problem->dv,
                                    [DELTA] = gradients * rows,
                                    [SLOPE] = problem->h,
                                    [SINK] = problem->h,
                                    [LO] = nq,
                                    [HI] = nq,
                                    [O] = rows * problem->dv,
                                    [LSE] = rows,
                                    [DQ] = gradients * rows * problem->d,
                                    [DK] = gradients * keys * problem->d,
                                    [DV] = gradients * keys * problem->dv};
    memcpy(p->count, counts, sizeof counts);
}

static bool make_room(struct place *p, const struct fb_problem *problem)
{
    set_counts(p, problem, problem->nq, problem->nk);
    for (int a = 0; a < ARRAYS; a++) {
        const size_t bytes = (size_t)(p->count[a] + 1) * 8;
        p->host[a] = malloc(bytes);
        if (!p->host[a] || cudaMalloc((void **)&p->device[a], bytes) != cudaSuccess)
            return false;
    }
    return true;
}

static void free_room(struct place *p)
{
    for (int a = 0; a < ARRAYS; a++) {
        cudaFree(p->device[a]);
        free(p->host[a]);
    }
    cudaGetLastError();
}

static bool send(struct place *p, enum array first, enum array last)
{
    bool sent = true;
    for (int a = first; a <= (int)last && sent; a++)
        sent = cudaMemcpy(p->device[a], p->host[a], (size_t)p->count[a] * 8,
                          cudaMemcpyHostToDevice) == cudaSuccess;
    return sent;
}

static bool fetch(struct place *p, enum array first, enum array last)
{
    bool fetched = true;
    for (int a = first; a <= (int)last && fetched; a++)
        fetched = cudaMemcpy(p->host[a], p->device[a], (size_t)p->count[a] * 8,
                             cudaMemcpyDeviceToHost) == cudaSuccess;
    return fetched;
}

/* ---- Inputs -------------------------------------------------------------------------------------
 */

/* Heads of a tensor, rows first .. first + n, next to each other as doubles. */
static void gather(const struct fb_ref_view *view, const struct part *part, int64_t heads,
                   int64_t first, int64_t n, int64_t width, double *out)
{
#pragma omp parallel for schedule(static)
    for (int64_t head = 0; head < heads; head++)
        fb_ref_gather(view, part->batch, head, first, n, width, out + head * n * width);
}

static void fill_heads(struct place *p, const struct fb_ref_inputs *in)
{
    const struct fb_problem *problem = in->problem;
    for (int64_t h = 0; h < problem->h; h++) {
        p->host[SINK][h] = problem->sink ? fb_ref_read(&in->sink, 0, h, 0, 0) : -INFINITY;
        p->host[SLOPE][h] = 0;
        if (problem->alibi != FB_ALIBI_NONE && in->alibi.data)
            p->host[SLOPE][h] = fb_ref_read(&in->alibi, 0, h, 0, 0);
        else if (problem->alibi == FB_ALIBI_LIST)
            p->host[SLOPE][h] = problem->alibi_slopes[h];
        else if (problem->alibi != FB_ALIBI_NONE)
            p->host[SLOPE][h] = exp2(-8.0 * (double)(h + 1) / (double)problem->h);
    }
}

static void fill_inputs(struct place *p, const struct fb_ref_inputs *in, const struct part *part)
{
    const struct fb_problem *problem = in->problem;
    int64_t *lo = (int64_t *)(void *)p->host[LO], *hi = (int64_t *)(void *)p->host[HI];
    set_counts(p, problem, part->nq, part->nk);
    for (int64_t i = 0; i < part->nq; i++)
        fb_ref_keys(problem, part->nq, part->nk, i, &lo[i], &hi[i]);
    gather(&in->q, part, problem->h, part->q_first, part->nq, problem->d, p->host[Q]);
    gather(&in->k, part, problem->hk, part->k_first, part->nk, problem->d, p->host[K]);
    gather(&in->v, part, problem->hk, part->k_first, part->nk, problem->dv, p->host[V]);
    if (p->backward)
        gather(&in->dout, part, problem->h, part->q_first, part->nq, problem->dv, p->host[DOUT]);
    fill_heads(p, in);
}

/* delta from o, on the host. */
static void fill_delta(struct place *p, const struct fb_ref_inputs *in, const struct part *part)
{
    const int64_t dv = in->problem->dv;
    const bool dlse = in->problem->dlse && in->dlse.data;
#pragma omp parallel for schedule(static)
    for (int64_t r = 0; r < in->problem->h * part->nq; r++) {
        const int64_t head = r / part->nq, i = r % part->nq;
        double delta = fb_ref_dot(dv, p->host[DOUT] + r * dv, p->host[O] + r * dv, NULL);
        if (dlse)
            delta -= fb_ref_read(&in->dlse, part->batch, head, part->q_first + i, 0);
        p->host[DELTA][r] = delta;
    }
}

/* ---- One sequence -------------------------------------------------------------------------------
 */

static struct fb_ref_device_call call_of(const struct place *p, const struct fb_problem *problem,
                                         const struct part *part)
{
    double *const *d = p->device;
    return (struct fb_ref_device_call){.q = d[Q],
                                       .k = d[K],
                                       .v = d[V],
                                       .dout = d[DOUT],
                                       .slope = d[SLOPE],
                                       .sink = d[SINK],
                                       .delta = d[DELTA],
                                       .o = d[O],
                                       .lse = d[LSE],
                                       .dq = d[DQ],
                                       .dk = d[DK],
                                       .dv = d[DV],
                                       .lo = (const int64_t *)(void *)d[LO],
                                       .hi = (const int64_t *)(void *)d[HI],
                                       .h = problem->h,
                                       .hk = problem->hk,
                                       .nq = part->nq,
                                       .nk = part->nk,
                                       .d = (int)problem->d,
                                       .width_v = (int)problem->dv,
                                       .scale = problem->scale,
                                       .softcap = problem->softcap};
}

static bool run(struct place *p, const struct fb_ref_inputs *in, const struct part *part)
{
    const struct fb_ref_device_call call = call_of(p, in->problem, part);
    fill_inputs(p, in, part);
    if (!send(p, Q, DOUT) || !send(p, SLOPE, HI) || fb_ref_device_forward(&call) ||
        !fetch(p, O, LSE))
        return false;
    if (!p->backward)
        return true;
    fill_delta(p, in, part);
    return send(p, DELTA, DELTA) && !fb_ref_device_backward(&call) && fetch(p, DQ, DV);
}

/* Rows of `width` of each head to where they are counted: flat over [b, h, n] of the tensors. */
static void scatter(const double *from, double *to, int64_t heads, int64_t n, int64_t width,
                    int64_t batch, int64_t all, int64_t first)
{
    for (int64_t head = 0; head < heads && n > 0; head++)
        memcpy(to + ((batch * heads + head) * all + first) * width, from + head * n * width,
               (size_t)(n * width) * sizeof *to);
}

static void store(const struct place *p, const struct fb_ref_inputs *in, const struct part *part,
                  struct fb_ref_tensors *to)
{
    const struct fb_problem *problem = in->problem;
    const int64_t nq = in->q.shape[2], nk = in->k.shape[2], b = part->batch;
    scatter(p->host[O], to->o, problem->h, part->nq, problem->dv, b, nq, part->q_first);
    scatter(p->host[LSE], to->lse, problem->h, part->nq, 1, b, nq, part->q_first);
    if (!p->backward)
        return;
    scatter(p->host[DQ], to->dq, problem->h, part->nq, problem->d, b, nq, part->q_first);
    scatter(p->host[DK], to->dk, problem->hk, part->nk, problem->d, b, nk, part->k_first);
    scatter(p->host[DV], to->dv, problem->hk, part->nk, problem->dv, b, nk, part->k_first);
}

/* ---- The whole problem --------------------------------------------------------------------------
 */

static struct part part_of(const struct fb_ref_inputs *in, int64_t s)
{
    if (!in->cu_qlens)
        return (struct part){s, 0, 0, in->problem->nq, in->problem->nk};
    return (struct part){0, in->cu_qlens[s], in->cu_klens[s], in->cu_qlens[s + 1] - in->cu_qlens[s],
                         in->cu_klens[s + 1] - in->cu_klens[s]};
}

static double *zeros(int64_t count)
{
    return calloc((size_t)count + 1, sizeof(double));
}

static bool allocate(const struct fb_ref_inputs *in, struct fb_ref_tensors *t)
{
    const struct fb_problem *p = in->problem;
    t->q_count = in->q.shape[0] * p->h * in->q.shape[2];
    t->k_count = in->k.shape[0] * p->hk * in->k.shape[2];
    t->o = zeros(t->q_count * p->dv);
    t->lse = zeros(t->q_count);
    for (int64_t r = 0; t->lse && r < t->q_count; r++)
        t->lse[r] = -INFINITY; /* rows that belong to no sequence see no key */
    if (!t->o || !t->lse || !in->dout.data)
        return t->o && t->lse;
    t->dq = zeros(t->q_count * p->d);
    t->dk = zeros(t->k_count * p->d);
    t->dv = zeros(t->k_count * p->dv);
    return t->dq && t->dk && t->dv;
}

enum fb_status fb_ref_device_compute(const struct fb_ref_inputs *in, struct fb_ref_tensors *values)
{
    struct place place = {.backward = in->dout.data != NULL};
    enum fb_status status = FB_NO_MEMORY;
    memset(values, 0, sizeof *values);
    if (!allocate(in, values) || !make_room(&place, in->problem))
        goto out;
    status = FB_OK;
    for (int64_t s = 0; s < in->problem->b && status == FB_OK; s++) {
        const struct part part = part_of(in, s);
        if (run(&place, in, &part))
            store(&place, in, &part, values);
        else
            status = FB_DEVICE;
    }
out:
    free_room(&place);
    if (status != FB_OK)
        fb_ref_free(values);
    return status;
}
