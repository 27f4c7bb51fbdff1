/* SPDX-License-Identifier: BSD-3-Clause
 *
 * device.c: brings one sequence after the other onto the device, or as many of one length as fit a
 * bound, and the rows back.
 */
#include "verify/device/device.h"

#include <cuda_runtime_api.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/dense/cublas.h"
#include "reference/internal.h"
#include "verify/device/blocks.h"

/* Doubles that a block of scores, and that the queries of sequences taken together, may hold; one
 * row and one sequence may exceed it. */
#define ROOM ((int64_t)1 << 25)

/* The grid's second dimension, over which key heads lie. */
#define MOST_KEY_HEADS 65535

bool fb_ref_device_offers(const struct fb_problem *p)
{
    int devices = 0;
    bool known = p->bias == FB_BIAS_NONE && p->dropout == 0 && p->hk <= MOST_KEY_HEADS;
    bool found = known && cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0;
    cudaGetLastError();
    return found && !fb_cublas_why_not();
}

/* ---- Arrays -------------------------------------------------------------------------------------
 */

/* Doubles, but for LO and HI. Those up to HI are made on the host, those from O on by the device.
 */
enum array { Q, K, V, DOUT, DLSE, SLOPE, SINK, LO, HI, O, LSE, DQ, DK, DV, SCORES, P, DP, ARRAYS };

struct place {
    double *device[ARRAYS], *host[HI + 1];
    int64_t count[ARRAYS]; /* of the sequences at hand */
    int64_t room;          /* of SCORES, P and DP */
    bool backward;
    void *cublas;
};

/* Sequences batch .. batch + batches - 1: their place in the tensors and their lengths. */
struct part {
    int64_t batch, batches, q_first, k_first, nq, nk;
};

static void set_counts(struct place *p, const struct fb_problem *problem, int64_t batches,
                       int64_t nq, int64_t nk)
{
    const int64_t rows = batches * problem->h * nq, keys = batches * problem->hk * nk;
    const int64_t gradients = p->backward ? 1 : 0;
    const int64_t counts[ARRAYS] = {[Q] = rows * problem->d,
                                    [K] = keys * problem->d,
                                    [V] = keys * problem->dv,
                                    [DOUT] = gradients * rows * problem->dv,
                                    [DLSE] = gradients * rows,
                                    [SLOPE] = problem->h,
                                    [SINK] = problem->h,
                                    [LO] = nq,
                                    [HI] = nq,
                                    [O] = rows * problem->dv,
                                    [LSE] = rows,
                                    [DQ] = gradients * rows * problem->d,
                                    [DK] = gradients * keys * problem->d,
                                    [DV] = gradients * keys * problem->dv,
                                    [SCORES] = p->room,
                                    [P] = p->room,
                                    [DP] = gradients * p->room};
    memcpy(p->count, counts, sizeof counts);
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* How many sequences go together: one where lengths differ. */
static int64_t batches_of(const struct fb_ref_inputs *in)
{
    const struct fb_problem *p = in->problem;
    const int64_t wide = p->h * (p->nq > p->nk ? p->nq : p->nk) * (p->d > p->dv ? p->d : p->dv);
    if (in->cu_qlens || p->b == 0)
        return 1;
    const int64_t fitting = smaller(MOST_KEY_HEADS / p->hk, wide ? ROOM / wide : p->b);
    return fitting < 1 ? 1 : smaller(fitting, p->b);
}

static bool make_room(struct place *p, const struct fb_problem *problem, int64_t batches)
{
    const int64_t row = batches * problem->hk * problem->nk;
    p->room = row > ROOM ? row : smaller(ROOM, row * problem->nq);
    p->cublas = fb_cublas_open(NULL);
    set_counts(p, problem, batches, problem->nq, problem->nk);
    for (int a = 0; a < ARRAYS; a++) {
        const size_t bytes = (size_t)(p->count[a] + 1) * 8;
        if (cudaMalloc((void **)&p->device[a], bytes) != cudaSuccess)
            return false;
        if (a <= HI && !(p->host[a] = malloc(bytes)))
            return false;
    }
    return p->cublas != NULL;
}

static void free_room(struct place *p)
{
    for (int a = 0; a < ARRAYS; a++)
        cudaFree(p->device[a]);
    for (int a = 0; a <= HI; a++)
        free(p->host[a]);
    if (p->cublas)
        fb_cublas_close(p->cublas);
    cudaGetLastError();
}

/* What the host has made to the device, and zeros where the device adds. */
static bool send(struct place *p)
{
    bool sent = true;
    for (int a = Q; a <= HI && sent; a++)
        sent = cudaMemcpy(p->device[a], p->host[a], (size_t)p->count[a] * 8,
                          cudaMemcpyHostToDevice) == cudaSuccess;
    for (int a = O; a <= DV && sent; a++)
        sent = cudaMemset(p->device[a], 0, (size_t)p->count[a] * 8) == cudaSuccess;
    return sent;
}

/* ---- Inputs -------------------------------------------------------------------------------------
 */

/* Heads of a tensor, rows first .. first + n, next to each other as doubles. */
static void gather(const struct fb_ref_view *view, const struct part *part, int64_t heads,
                   int64_t first, int64_t n, int64_t width, double *out)
{
#pragma omp parallel for schedule(static)
    for (int64_t head = 0; head < part->batches * heads; head++)
        fb_ref_gather(view, part->batch + head / heads, head % heads, first, n, width,
                      out + head * n * width);
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

static int64_t *bounds_of(struct place *p, enum array which)
{
    return (int64_t *)(void *)p->host[which];
}

static void fill_inputs(struct place *p, const struct fb_ref_inputs *in, const struct part *part)
{
    const struct fb_problem *problem = in->problem;
    set_counts(p, problem, part->batches, part->nq, part->nk);
    for (int64_t i = 0; i < part->nq; i++)
        fb_ref_keys(problem, part->nq, part->nk, i, bounds_of(p, LO) + i, bounds_of(p, HI) + i);
    gather(&in->q, part, problem->h, part->q_first, part->nq, problem->d, p->host[Q]);
    gather(&in->k, part, problem->hk, part->k_first, part->nk, problem->d, p->host[K]);
    gather(&in->v, part, problem->hk, part->k_first, part->nk, problem->dv, p->host[V]);
    fill_heads(p, in);
    if (!p->backward)
        return;
    gather(&in->dout, part, problem->h, part->q_first, part->nq, problem->dv, p->host[DOUT]);
    if (problem->dlse && in->dlse.data)
        gather(&in->dlse, part, problem->h, part->q_first, part->nq, 1, p->host[DLSE]);
    else
        memset(p->host[DLSE], 0, (size_t)p->count[DLSE] * 8);
}

/* ---- One part -----------------------------------------------------------------------------------
 */

static struct fb_ref_device_call call_of(struct place *p, const struct fb_problem *problem,
                                         const struct part *part)
{
    double *const *d = p->device;
    return (struct fb_ref_device_call){.q = d[Q],
                                       .k = d[K],
                                       .v = d[V],
                                       .dout = p->backward ? d[DOUT] : NULL,
                                       .dlse = d[DLSE],
                                       .slope = d[SLOPE],
                                       .sink = d[SINK],
                                       .o = d[O],
                                       .lse = d[LSE],
                                       .dq = d[DQ],
                                       .dk = d[DK],
                                       .dv = d[DV],
                                       .lo = (const int64_t *)(void *)d[LO],
                                       .hi = (const int64_t *)(void *)d[HI],
                                       .host_lo = bounds_of(p, LO),
                                       .host_hi = bounds_of(p, HI),
                                       .product = d[SCORES],
                                       .p = d[P],
                                       .dp = d[DP],
                                       .room = p->room,
                                       .h = problem->h,
                                       .heads = part->batches * problem->h,
                                       .key_heads = part->batches * problem->hk,
                                       .nq = part->nq,
                                       .nk = part->nk,
                                       .d = problem->d,
                                       .dv_width = problem->dv,
                                       .scale = problem->scale,
                                       .softcap = problem->softcap,
                                       .cublas = p->cublas};
}

/* Rows [heads, n, width] to where they are counted, flat over the [b, h, n] of a tensor: in one
 * piece where `all` its rows are those of a sequence. */
static bool fetch(const struct place *p, enum array which, double *to, const struct part *part,
                  int64_t heads, int64_t n, int64_t width, int64_t first, int64_t all)
{
    const int64_t pieces = n == all ? 1 : heads;
    const size_t bytes = (size_t)(part->batches * heads / pieces * n * width) * sizeof *to;
    bool fetched = true;
    for (int64_t head = 0; head < pieces && n > 0 && fetched; head++)
        fetched = cudaMemcpy(to + ((part->batch * heads + head) * all + first) * width,
                             p->device[which] + head * n * width, bytes,
                             cudaMemcpyDeviceToHost) == cudaSuccess;
    return fetched;
}

static bool fetch_all(const struct place *p, const struct fb_ref_inputs *in,
                      const struct part *part, struct fb_ref_tensors *to)
{
    const struct fb_problem *problem = in->problem;
    const int64_t h = problem->h, hk = problem->hk, nq = part->nq, nk = part->nk;
    const int64_t q = part->q_first, k = part->k_first;
    const int64_t all_q = in->q.shape[2], all_k = in->k.shape[2];
    return fetch(p, O, to->o, part, h, nq, problem->dv, q, all_q) &&
           fetch(p, LSE, to->lse, part, h, nq, 1, q, all_q) &&
           (!p->backward || (fetch(p, DQ, to->dq, part, h, nq, problem->d, q, all_q) &&
                             fetch(p, DK, to->dk, part, hk, nk, problem->d, k, all_k) &&
                             fetch(p, DV, to->dv, part, hk, nk, problem->dv, k, all_k)));
}

static bool run(struct place *p, const struct fb_ref_inputs *in, const struct part *part,
                struct fb_ref_tensors *to)
{
    const struct fb_ref_device_call call = call_of(p, in->problem, part);
    fill_inputs(p, in, part);
    return send(p) && !fb_ref_device_run(&call) && cudaDeviceSynchronize() == cudaSuccess &&
           fetch_all(p, in, part, to);
}

/* ---- The whole problem --------------------------------------------------------------------------
 */

static struct part part_of(const struct fb_ref_inputs *in, int64_t s, int64_t batches)
{
    const struct fb_problem *p = in->problem;
    if (!in->cu_qlens)
        return (struct part){s, smaller(batches, p->b - s), 0, 0, p->nq, p->nk};
    return (struct part){0,
                         1,
                         in->cu_qlens[s],
                         in->cu_klens[s],
                         in->cu_qlens[s + 1] - in->cu_qlens[s],
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
    const int64_t batches = batches_of(in);
    enum fb_status status = FB_NO_MEMORY;
    memset(values, 0, sizeof *values);
    if (!allocate(in, values) || !make_room(&place, in->problem, batches))
        goto out;
    status = FB_OK;
    for (int64_t s = 0; s < in->problem->b && status == FB_OK; s += batches) {
        const struct part part = part_of(in, s, batches);
        status = run(&place, in, &part, values) ? FB_OK : FB_DEVICE;
    }
out:
    free_room(&place);
    if (status != FB_OK)
        fb_ref_free(values);
    return status;
}
