/* SPDX-License-Identifier: BSD-3-Clause
 *
 * cuda_naive.c: the materialised forward and backward, GEMM by GEMM.
 *
 *     S = scale Q K^T    P = softmax S    O = P V
 *     dP = dO V^T    dS = P o (dP - delta)    dV = P^T dO    dQ = scale dS K    dK = scale dS^T Q
 *
 * Work goes in chunks of key heads, so that scratch stays near 2 GiB whatever the batch; P alone is
 * whole where it is saved, [b, h, nq, nk] in the problem's type. Where the layout lets b and h be
 * counted as one, chunks run over both. The query heads of a group take turns: member r of every
 * group in a chunk is one batch of GEMMs, and dK and dV add up over r, in fp32.
 */
#include "variants/common/cuda_naive.h"

#include <stdio.h>

#include "variants/common/cuda.h"

static const int64_t chunk_bytes = (int64_t)1 << 31;

/* ---- Shape of the work --------------------------------------------------------------------------
 */

/* `batches` times `heads` key heads, `chunk` of them at a time; g query heads each. */
struct plan {
    int64_t batches, heads, chunk, g;
    int64_t pairs; /* nq nk */
    size_t element;
    int fp32;         /* the problem's type */
    int sums;         /* dk, dv add up in fp32 beside the outputs */
    size_t bytes_s;   /* of a chunk's fp32 scores, 0: they lie in saved P */
    size_t bytes_p;   /* of a chunk's P made again */
    size_t bytes_dp;  /* of a chunk's fp32 dP */
    size_t bytes_ds;  /* of a chunk's dS, 0: it replaces dP */
    size_t bytes_sum; /* of a chunk's fp32 dk and dv together */
};

/* Depends on the problem alone, so that `sizes` and the calls agree: layouts in which [b, h] is one
 * index are those that keep heads outside rows. */
static struct plan plan_of(const struct fb_cuda_naive *policy, const struct fb_problem *p)
{
    const int one = p->layout == FB_LAYOUT_BHND;
    struct plan plan = {.batches = one ? 1 : p->b,
                        .heads = one ? p->b * p->hk : p->hk,
                        .g = p->h / p->hk,
                        .pairs = p->nq * p->nk,
                        .fp32 = p->dtype == FB_FP32,
                        .element = p->dtype == FB_FP32 ? 4 : 2};
    const size_t pair = policy->saves_p ? 4 + plan.element : 8 + 2 * plan.element;
    int64_t chunk = chunk_bytes / (int64_t)pair / plan.pairs;
    plan.chunk = chunk < 1 ? 1 : chunk < plan.heads ? chunk : plan.heads;
    const size_t entries = (size_t)(plan.chunk * plan.pairs);
    plan.sums = !plan.fp32 && plan.g > 1;
    plan.bytes_s = policy->saves_p && plan.fp32 ? 0 : fb_cuda_aligned(4 * entries);
    plan.bytes_p = policy->saves_p || plan.fp32 ? 0 : fb_cuda_aligned(plan.element * entries);
    plan.bytes_dp = fb_cuda_aligned(4 * entries);
    plan.bytes_ds = plan.fp32 ? 0 : fb_cuda_aligned(plan.element * entries);
    plan.bytes_sum =
        plan.sums ? fb_cuda_aligned(4 * (size_t)(plan.chunk * p->nk * (p->d + p->dv))) : 0;
    return plan;
}

static size_t delta_bytes(const struct fb_problem *p)
{
    return fb_cuda_aligned(4 * (size_t)(p->b * p->h * p->nq));
}

const char *fb_cuda_naive_why_not(const struct fb_variant *self, const struct fb_problem *p,
                                  const struct fb_numerics *n)
{
    static char why[80];
    const struct fb_cuda_naive *policy = self->family;
    (void)n;
    if (p->nq == 0 || p->nk == 0)
        return "nq, nk: must be 1 or more";
    if (p->nq <= policy->most_rows && p->nk <= policy->most_rows)
        return NULL;
    snprintf(why, sizeof why, "nq, nk: must be %lld or less", (long long)policy->most_rows);
    return why;
}

/* The forward's scores and the backward's matrices share the workspace. Where P is saved in fp32,
 * scores are made in its place. */
enum fb_status fb_cuda_naive_sizes(const struct fb_variant *self, const struct fb_problem *p,
                                   const struct fb_numerics *n, size_t *saved, size_t *workspace)
{
    const struct fb_cuda_naive *policy = self->family;
    const struct plan plan = plan_of(policy, p);
    const size_t again = policy->saves_p ? 0 : plan.bytes_s + plan.bytes_p;
    const size_t forward = plan.bytes_s + plan.bytes_p;
    const size_t backward = delta_bytes(p) + again + plan.bytes_dp + plan.bytes_ds + plan.bytes_sum;
    *saved = policy->saves_p ? plan.element * (size_t)(p->b * p->h * plan.pairs) : 0;
    *workspace = forward > backward ? forward : backward;
    (void)n;
    return FB_OK;
}

/* ---- One chunk ----------------------------------------------------------------------------------
 */

/* A matrix a head, in a chunk. */
struct matrix {
    void *data;
    enum fb_cublas_type type;
    int64_t row, head;
};

struct work {
    const struct fb_cuda_naive *policy;
    struct fb_context *ctx;
    void *handle;
    const struct fb_args *a;
    struct plan plan;
    int64_t batch, first, count, member; /* the chunk at hand: key heads first .. first + count */
    char *scratch;                       /* of the workspace, not given out yet */
    float *delta;
};

static void *take(struct work *w, size_t bytes)
{
    void *place = w->scratch;
    w->scratch += bytes;
    return place;
}

static enum fb_cublas_type type_of(enum fb_dtype dtype)
{
    return dtype == FB_BF16 ? FB_CUBLAS_BF16 : dtype == FB_FP16 ? FB_CUBLAS_FP16 : FB_CUBLAS_FP32;
}

/* The chunk's part of a tensor with key heads, or of one with query heads: member r of each. */
static struct matrix keys_of(const struct work *w, const struct fb_tensor *t)
{
    const size_t element = t->dtype == FB_FP32 ? 4 : 2;
    const int64_t at = w->batch * t->stride[0] + w->first * t->stride[1];
    return (struct matrix){(char *)t->data + (size_t)at * element, type_of(t->dtype), t->stride[2],
                           t->stride[1]};
}

static struct matrix queries_of(const struct work *w, const struct fb_tensor *t)
{
    const size_t element = t->dtype == FB_FP32 ? 4 : 2;
    const int64_t at = w->batch * t->stride[0] + (w->first * w->plan.g + w->member) * t->stride[1];
    return (struct matrix){(char *)t->data + (size_t)at * element, type_of(t->dtype), t->stride[2],
                           w->plan.g * t->stride[1]};
}

static struct matrix scratch_matrix(const struct work *w, void *data, enum fb_cublas_type type)
{
    return (struct matrix){data, type, w->a->problem->nk, w->plan.pairs};
}

/* Index of member r of the chunk's first key head among all query heads. */
static int64_t query_head(const struct work *w)
{
    return (w->batch * w->plan.heads + w->first) * w->plan.g + w->member;
}

static struct matrix saved_p(const struct work *w)
{
    const size_t at = (size_t)(query_head(w) * w->plan.pairs) * w->plan.element;
    return (struct matrix){(char *)w->a->saved + at, type_of(w->a->problem->dtype),
                           w->a->problem->nk, w->plan.g * w->plan.pairs};
}

/* c[m, n] = alpha op(a)[m, k] op(b)[k, n] + beta c for every head of the chunk. */
static enum fb_status multiply(const struct work *w, const char *what, struct matrix c,
                               struct matrix a, int a_turned, struct matrix b, int b_turned,
                               const int64_t mnk[3], double alpha, double beta)
{
    const struct fb_cublas_gemm gemm = {.m = mnk[0],
                                        .n = mnk[1],
                                        .k = mnk[2],
                                        .batch = w->count,
                                        .a = a.data,
                                        .b = b.data,
                                        .c = c.data,
                                        .type = a.type,
                                        .type_c = c.type,
                                        .a_turned = a_turned,
                                        .b_turned = b_turned,
                                        .lda = a.row,
                                        .ldb = b.row,
                                        .ldc = c.row,
                                        .step_a = a.head,
                                        .step_b = b.head,
                                        .step_c = c.head,
                                        .alpha = alpha,
                                        .beta = beta};
    const int status = w->policy->gemm(w->handle, &gemm, w->ctx->stream);
    if (!status)
        return FB_OK;
    w->ctx->explain(w->ctx, "%s: %s (%d)", what, w->policy->words(status), status);
    return FB_DEVICE;
}

static struct fb_softmax_call softmax_of(const struct work *w, struct matrix s, struct matrix p)
{
    const struct fb_problem *problem = w->a->problem;
    const struct matrix lse = queries_of(w, &w->a->lse);
    struct fb_softmax_call call = {.heads = w->count,
                                   .nq = problem->nq,
                                   .nk = problem->nk,
                                   .element = fb_cuda_element_of(problem->dtype),
                                   .s = s.data,
                                   .head_s = s.head,
                                   .p = p.data,
                                   .head_p = p.head,
                                   .lse = lse.data,
                                   .head_lse = lse.head,
                                   .row_lse = lse.row,
                                   .delta = w->delta + query_head(w) * problem->nq,
                                   .head_delta = w->plan.g * problem->nq};
    fb_cuda_mask(problem, &call.lo, &call.hi);
    return call;
}

static enum fb_status scores(const struct work *w, struct matrix s)
{
    const struct fb_problem *p = w->a->problem;
    return multiply(w, "S = Q K^T", s, queries_of(w, &w->a->q), 0, keys_of(w, &w->a->k), 1,
                    (const int64_t[]){p->nq, p->nk, p->d}, p->scale, 0);
}

/* ---- Forward ------------------------------------------------------------------------------------
 */

static enum fb_status forward_member(const struct work *w, void *scratch_s, void *scratch_p)
{
    const struct fb_problem *p = w->a->problem;
    const enum fb_cublas_type type = type_of(p->dtype);
    struct matrix probability =
        w->policy->saves_p ? saved_p(w) : scratch_matrix(w, scratch_p, type);
    struct matrix s = w->plan.bytes_s ? scratch_matrix(w, scratch_s, FB_CUBLAS_FP32) : probability;
    if (!w->policy->saves_p && w->plan.fp32)
        probability = s;
    enum fb_status status = scores(w, s);
    if (status != FB_OK)
        return status;
    const struct fb_softmax_call call = softmax_of(w, s, probability);
    status = fb_cuda_check(w->ctx, w->policy->softmax(&call, w->ctx->stream), "softmax");
    if (status != FB_OK)
        return status;
    return multiply(w, "O = P V", queries_of(w, &w->a->o), probability, 0, keys_of(w, &w->a->v), 0,
                    (const int64_t[]){p->nq, p->dv, p->nk}, 1, 0);
}

/* Calls `one` for every chunk. */
static enum fb_status each_chunk(struct work *w, enum fb_status (*one)(struct work *w))
{
    for (w->batch = 0; w->batch < w->plan.batches; w->batch++)
        for (w->first = 0; w->first < w->plan.heads; w->first += w->plan.chunk) {
            const int64_t left = w->plan.heads - w->first;
            w->count = left < w->plan.chunk ? left : w->plan.chunk;
            enum fb_status status = one(w);
            if (status != FB_OK)
                return status;
        }
    return FB_OK;
}

static enum fb_status forward_chunk(struct work *w)
{
    char *const start = w->scratch;
    void *s = take(w, w->plan.bytes_s), *p = take(w, w->plan.bytes_p);
    enum fb_status status = FB_OK;
    for (w->member = 0; w->member < w->plan.g && status == FB_OK; w->member++)
        status = forward_member(w, s, p);
    w->scratch = start;
    return status;
}

enum fb_status fb_cuda_naive_forward(const struct fb_variant *self, struct fb_context *ctx,
                                     void *state, const struct fb_args *a)
{
    const struct fb_cuda_naive *policy = self->family;
    struct work w = {.policy = policy,
                     .ctx = ctx,
                     .handle = state,
                     .a = a,
                     .plan = plan_of(policy, a->problem),
                     .scratch = a->workspace};
    return each_chunk(&w, forward_chunk);
}

/* ---- Backward -----------------------------------------------------------------------------------
 */

struct chunk_scratch {
    void *s, *p, *dp, *ds;
    struct matrix dk, dv; /* where they add up */
};

/* P and dS of member r. */
static enum fb_status gradient(const struct work *w, const struct chunk_scratch *c,
                               struct matrix *p_out, struct matrix *ds_out)
{
    const struct fb_problem *p = w->a->problem;
    const enum fb_cublas_type type = type_of(p->dtype);
    struct matrix s = scratch_matrix(w, c->s, FB_CUBLAS_FP32);
    struct matrix dp = scratch_matrix(w, c->dp, FB_CUBLAS_FP32);
    *p_out = w->policy->saves_p ? saved_p(w) : w->plan.fp32 ? s : scratch_matrix(w, c->p, type);
    *ds_out = w->plan.fp32 ? dp : scratch_matrix(w, c->ds, type);
    enum fb_status status = w->policy->saves_p ? FB_OK : scores(w, s);
    if (status == FB_OK)
        status = multiply(w, "dP = dO V^T", dp, queries_of(w, &w->a->dout), 0, keys_of(w, &w->a->v),
                          1, (const int64_t[]){p->nq, p->nk, p->dv}, 1, 0);
    if (status != FB_OK)
        return status;
    struct fb_softmax_call call = softmax_of(w, s, *p_out);
    call.dp = dp.data;
    call.head_dp = dp.head;
    call.ds = ds_out->data;
    call.head_ds = ds_out->head;
    return fb_cuda_check(w->ctx,
                         w->policy->saves_p ? fb_softmax_gradient(&call, w->ctx->stream)
                                            : fb_softmax_gradient_again(&call, w->ctx->stream),
                         "gradient of the softmax");
}

static enum fb_status backward_member(const struct work *w, const struct chunk_scratch *c)
{
    const struct fb_problem *p = w->a->problem;
    const double beta = w->member > 0;
    struct matrix probability, ds;
    enum fb_status status = gradient(w, c, &probability, &ds);
    if (status == FB_OK)
        status = multiply(w, "dV = P^T dO", c->dv, probability, 1, queries_of(w, &w->a->dout), 0,
                          (const int64_t[]){p->nk, p->dv, p->nq}, 1, beta);
    if (status == FB_OK)
        status = multiply(w, "dQ = dS K", queries_of(w, &w->a->dq), ds, 0, keys_of(w, &w->a->k), 0,
                          (const int64_t[]){p->nq, p->d, p->nk}, p->scale, 0);
    if (status == FB_OK)
        status = multiply(w, "dK = dS^T Q", c->dk, ds, 1, queries_of(w, &w->a->q), 0,
                          (const int64_t[]){p->nk, p->d, p->nq}, p->scale, beta);
    return status;
}

static enum fb_status convert(const struct work *w, struct matrix from, struct matrix to,
                              int64_t width)
{
    const struct fb_convert_call call = {.heads = w->count,
                                         .n = w->a->problem->nk,
                                         .width = width,
                                         .in = from.data,
                                         .head_in = from.head,
                                         .row_in = from.row,
                                         .element = fb_cuda_element_of(w->a->problem->dtype),
                                         .out = to.data,
                                         .head_out = to.head,
                                         .row_out = to.row};
    return fb_cuda_check(w->ctx, fb_convert_rows(&call, w->ctx->stream), "dk, dv to the dtype");
}

static enum fb_status backward_chunk(struct work *w)
{
    const struct fb_problem *p = w->a->problem;
    char *const start = w->scratch;
    const size_t again = !w->policy->saves_p;
    struct chunk_scratch c = {.s = take(w, again * w->plan.bytes_s),
                              .p = take(w, again * w->plan.bytes_p),
                              .dp = take(w, w->plan.bytes_dp),
                              .ds = take(w, w->plan.bytes_ds),
                              .dk = keys_of(w, &w->a->dk),
                              .dv = keys_of(w, &w->a->dv)};
    const struct matrix dk = c.dk, dv = c.dv;
    float *sums = take(w, w->plan.bytes_sum);
    enum fb_status status = FB_OK;
    if (w->plan.sums) {
        c.dk = (struct matrix){sums, FB_CUBLAS_FP32, p->d, p->nk * p->d};
        c.dv = (struct matrix){sums + w->plan.chunk * p->nk * p->d, FB_CUBLAS_FP32, p->dv,
                               p->nk * p->dv};
    }
    for (w->member = 0; w->member < w->plan.g && status == FB_OK; w->member++)
        status = backward_member(w, &c);
    if (status == FB_OK && w->plan.sums)
        status = convert(w, c.dk, dk, p->d);
    if (status == FB_OK && w->plan.sums)
        status = convert(w, c.dv, dv, p->dv);
    w->scratch = start;
    return status;
}

enum fb_status fb_cuda_naive_backward(const struct fb_variant *self, struct fb_context *ctx,
                                      void *state, const struct fb_args *a)
{
    const struct fb_cuda_naive *policy = self->family;
    struct work w = {.policy = policy,
                     .ctx = ctx,
                     .handle = state,
                     .a = a,
                     .plan = plan_of(policy, a->problem),
                     .delta = a->workspace,
                     .scratch = (char *)a->workspace + delta_bytes(a->problem)};
    enum fb_status status = fb_cuda_run_delta(ctx, a, w.delta);
    if (status != FB_OK)
        return status;
    ctx->phase(ctx, "main");
    return each_chunk(&w, backward_chunk);
}
