/* SPDX-License-Identifier: BSD-3-Clause
 *
 * attention.c: the graphs, in the order of the equations:
 *
 *     forward     s = scale q k^T, masked     lse = max + log sum exp(s - max)     o = p v
 *     backward    delta = rowsum(dout * o)    p = exp(s - lse)   dv = p^T dout   dp = dout v^T
 *                 ds = scale p (dp - delta)   dk = ds^T q        dq = ds k
 *
 * k and v are declared transposed, [b, hk, d, nk], for the matmuls that need them so; a transpose
 * is a reshape with swapped strides. With fewer key heads, dk and dv come out for every query head,
 * in the type of the tensors, and are summed over the group. Three things look idle and are not:
 * delta is multiplied by 1 (without it the engines never write it), dq goes through dq_accum and an
 * identity (merged, execution fails), and the transposed p and ds have the tensors' type.
 */
#include "kernels/cudnn/attention.h"

#include <math.h>

struct build {
    struct fb_cudnn_graph *g;
    const struct fb_cudnn_attention *a;
    cudnnDataType_t io;
    struct fb_cudnn_dims scores; /* [b, h, nq, nk] */
    struct fb_cudnn_dims row;    /* [b, h, nq, 1] */
};

static struct fb_cudnn_dims contiguous(int64_t b, int64_t h, int64_t n, int64_t d)
{
    return (struct fb_cudnn_dims){{b, h, n, d}, {h * n * d, n * d, d, 1}};
}

static struct fb_cudnn_dims transposed(struct fb_cudnn_dims dims)
{
    int64_t dim = dims.dim[2], stride = dims.stride[2];
    dims.dim[2] = dims.dim[3];
    dims.stride[2] = dims.stride[3];
    dims.dim[3] = dim;
    dims.stride[3] = stride;
    return dims;
}

static struct build start(struct fb_cudnn_graph *graph, const struct fb_cudnn_attention *a)
{
    return (struct build){.g = graph,
                          .a = a,
                          .io = a->bf16 ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_HALF,
                          .scores = contiguous(a->b, a->h, a->nq, a->nk),
                          .row = contiguous(a->b, a->h, a->nq, 1)};
}

/* Shape and strides of a tensor that the caller holds. */
static struct fb_cudnn_dims given(const struct build *m, enum fb_cudnn_role role)
{
    const struct fb_cudnn_attention *a = m->a;
    const bool key =
        role == FB_CUDNN_K || role == FB_CUDNN_V || role == FB_CUDNN_DK || role == FB_CUDNN_DV;
    const bool value =
        role == FB_CUDNN_V || role == FB_CUDNN_DV || role == FB_CUDNN_O || role == FB_CUDNN_DOUT;
    const int64_t *s = a->stride[role];
    return (struct fb_cudnn_dims){{a->b, key ? a->hk : a->h, key ? a->nk : a->nq,
                                   role == FB_CUDNN_LSE ? 1
                                   : value              ? a->dv
                                                        : a->d},
                                  {s[0], s[1], s[2], 1}};
}

static cudnnBackendDescriptor_t real(struct build *m, enum fb_cudnn_role role,
                                     struct fb_cudnn_dims dims)
{
    const bool fp32 = role == FB_CUDNN_LSE || role == FB_CUDNN_DELTA || role == FB_CUDNN_DQ_ACCUM;
    return fb_cudnn_real(m->g, role + 1, fp32 ? CUDNN_DATA_FLOAT : m->io, &dims);
}

static cudnnBackendDescriptor_t held(struct build *m, enum fb_cudnn_role role)
{
    return real(m, role, given(m, role));
}

/* ---- Small operations: the result is virtual and fp32 -------------------------------------- */

static cudnnBackendDescriptor_t apply(struct build *m, cudnnPointwiseMode_t mode,
                                      cudnnBackendDescriptor_t x, cudnnBackendDescriptor_t b,
                                      const struct fb_cudnn_dims *dims)
{
    const struct fb_cudnn_pointwise op = {.mode = mode,
                                          .precision = CUDNN_DATA_FLOAT,
                                          .x = x,
                                          .b = b,
                                          .y = fb_cudnn_virtual(m->g, CUDNN_DATA_FLOAT, dims)};
    return fb_cudnn_pointwise(m->g, &op);
}

static cudnnBackendDescriptor_t on_scores(struct build *m, cudnnPointwiseMode_t mode,
                                          cudnnBackendDescriptor_t x, cudnnBackendDescriptor_t b)
{
    return apply(m, mode, x, b, &m->scores);
}

static cudnnBackendDescriptor_t score_matmul(struct build *m, cudnnBackendDescriptor_t x,
                                             cudnnBackendDescriptor_t y)
{
    return fb_cudnn_matmul(m->g, x, y, fb_cudnn_virtual(m->g, CUDNN_DATA_FLOAT, &m->scores));
}

/* ---- Masks --------------------------------------------------------------------------------- */

/* An operation on matrices of the scores' shape whose result has that type. */
static cudnnBackendDescriptor_t on_indices(struct build *m, struct fb_cudnn_pointwise op,
                                           cudnnDataType_t type)
{
    op.y = fb_cudnn_virtual(m->g, type, &m->scores);
    return fb_cudnn_pointwise(m->g, &op);
}

static cudnnBackendDescriptor_t index_of(struct build *m, cudnnBackendDescriptor_t scores,
                                         int64_t axis)
{
    const struct fb_cudnn_pointwise op = {.mode = CUDNN_POINTWISE_GEN_INDEX,
                                          .precision = CUDNN_DATA_FLOAT,
                                          .axis = axis,
                                          .x = scores};
    return on_indices(m, op, CUDNN_DATA_INT32);
}

static cudnnBackendDescriptor_t keep_where(struct build *m, cudnnBackendDescriptor_t scores,
                                           cudnnPointwiseMode_t comparison,
                                           cudnnBackendDescriptor_t x, cudnnBackendDescriptor_t b)
{
    const struct fb_cudnn_pointwise compare = {
        .mode = comparison, .precision = CUDNN_DATA_BOOLEAN, .x = x, .b = b};
    const struct fb_cudnn_pointwise choose = {.mode = CUDNN_POINTWISE_BINARY_SELECT,
                                              .precision = CUDNN_DATA_FLOAT,
                                              .x = scores,
                                              .b = fb_cudnn_float(m->g, -INFINITY),
                                              .select = on_indices(m, compare, CUDNN_DATA_BOOLEAN)};
    return on_indices(m, choose, CUDNN_DATA_FLOAT);
}

/* Keeps row + right >= column. */
static cudnnBackendDescriptor_t mask_right(struct build *m, cudnnBackendDescriptor_t scores)
{
    if (m->a->right == FB_CUDNN_OPEN)
        return scores;
    cudnnBackendDescriptor_t row = index_of(m, scores, 2), column = index_of(m, scores, 3);
    if (m->a->right) {
        const struct fb_cudnn_pointwise shift = {.mode = CUDNN_POINTWISE_ADD,
                                                 .precision = CUDNN_DATA_INT32,
                                                 .x = row,
                                                 .b = fb_cudnn_int(m->g, (int32_t)m->a->right)};
        row = on_indices(m, shift, CUDNN_DATA_INT32);
    }
    return keep_where(m, scores, CUDNN_POINTWISE_CMP_GE, row, column);
}

/* Keeps column + left + 1 > row; the sum is fp32, exact up to 2^24. */
static cudnnBackendDescriptor_t mask_left(struct build *m, cudnnBackendDescriptor_t scores)
{
    if (m->a->left == FB_CUDNN_OPEN)
        return scores;
    cudnnBackendDescriptor_t row = index_of(m, scores, 2), column = index_of(m, scores, 3);
    const struct fb_cudnn_pointwise shift = {.mode = CUDNN_POINTWISE_ADD,
                                             .precision = CUDNN_DATA_FLOAT,
                                             .x = column,
                                             .b = fb_cudnn_float(m->g, (float)(m->a->left + 1))};
    column = on_indices(m, shift, CUDNN_DATA_FLOAT);
    return keep_where(m, scores, CUDNN_POINTWISE_CMP_GT, column, row);
}

/* ---- Forward ------------------------------------------------------------------------------- */

static void forward(struct build *m)
{
    struct fb_cudnn_graph *g = m->g;
    struct fb_cudnn_dims k = given(m, FB_CUDNN_K);
    cudnnBackendDescriptor_t s =
        score_matmul(m, held(m, FB_CUDNN_Q), real(m, FB_CUDNN_K, transposed(k)));
    s = on_scores(m, CUDNN_POINTWISE_MUL, s, fb_cudnn_float(g, (float)m->a->scale));
    s = mask_left(m, mask_right(m, s));
    cudnnBackendDescriptor_t max = fb_cudnn_reduce(g, CUDNN_REDUCE_TENSOR_MAX, s,
                                                   fb_cudnn_virtual(g, CUDNN_DATA_FLOAT, &m->row));
    cudnnBackendDescriptor_t e = on_scores(m, CUDNN_POINTWISE_SUB, s, max);
    e = on_scores(m, CUDNN_POINTWISE_EXP, e, NULL);
    cudnnBackendDescriptor_t sum = fb_cudnn_reduce(g, CUDNN_REDUCE_TENSOR_ADD, e,
                                                   fb_cudnn_virtual(g, CUDNN_DATA_FLOAT, &m->row));
    const struct fb_cudnn_pointwise lse = {.mode = CUDNN_POINTWISE_ADD,
                                           .precision = CUDNN_DATA_FLOAT,
                                           .x = max,
                                           .b = apply(m, CUDNN_POINTWISE_LOG, sum, NULL, &m->row),
                                           .y = held(m, FB_CUDNN_LSE)};
    fb_cudnn_pointwise(g, &lse);
    const struct fb_cudnn_pointwise p = {.mode = CUDNN_POINTWISE_DIV,
                                         .precision = CUDNN_DATA_FLOAT,
                                         .x = e,
                                         .b = sum,
                                         .y = fb_cudnn_virtual(g, m->io, &m->scores)};
    fb_cudnn_matmul(g, fb_cudnn_pointwise(g, &p), held(m, FB_CUDNN_V), held(m, FB_CUDNN_O));
}

/* ---- Backward ------------------------------------------------------------------------------ */

static cudnnBackendDescriptor_t delta(struct build *m, cudnnBackendDescriptor_t dout)
{
    const struct fb_cudnn_attention *a = m->a;
    const struct fb_cudnn_dims product = contiguous(a->b, a->h, a->nq, a->dv);
    cudnnBackendDescriptor_t x = apply(m, CUDNN_POINTWISE_MUL, dout, held(m, FB_CUDNN_O), &product);
    const struct fb_cudnn_pointwise times_one = {
        .mode = CUDNN_POINTWISE_MUL,
        .precision = CUDNN_DATA_FLOAT,
        .x = fb_cudnn_reduce(m->g, CUDNN_REDUCE_TENSOR_ADD, x,
                             fb_cudnn_virtual(m->g, CUDNN_DATA_FLOAT, &m->row)),
        .b = fb_cudnn_float(m->g, 1),
        .y = real(m, FB_CUDNN_DELTA, m->row)};
    return fb_cudnn_pointwise(m->g, &times_one);
}

/* x^T y into dk or dv, x a matrix of scores. */
static void key_gradient(struct build *m, cudnnBackendDescriptor_t x, cudnnBackendDescriptor_t y,
                         enum fb_cudnn_role role)
{
    struct fb_cudnn_graph *g = m->g;
    const struct fb_cudnn_dims turned = transposed(m->scores), dims = given(m, role);
    const struct fb_cudnn_dims heads = contiguous(m->a->b, m->a->h, m->a->nk, dims.dim[3]);
    cudnnBackendDescriptor_t xt = fb_cudnn_reshape(g, x, fb_cudnn_virtual(g, m->io, &turned));
    if (m->a->h == m->a->hk) {
        fb_cudnn_matmul(g, xt, y, real(m, role, dims));
        return;
    }
    cudnnBackendDescriptor_t all = fb_cudnn_matmul(g, xt, y, fb_cudnn_virtual(g, m->io, &heads));
    fb_cudnn_reduce(g, CUDNN_REDUCE_TENSOR_ADD, all, real(m, role, dims));
}

static void query_gradient(struct build *m, cudnnBackendDescriptor_t ds,
                           cudnnBackendDescriptor_t kt)
{
    struct fb_cudnn_graph *g = m->g;
    const struct fb_cudnn_attention *a = m->a;
    const struct fb_cudnn_dims dims = given(m, FB_CUDNN_K);
    cudnnBackendDescriptor_t k = fb_cudnn_reshape(g, kt, fb_cudnn_virtual(g, m->io, &dims));
    if (a->pass == FB_CUDNN_BACKWARD_DETERMINISTIC) {
        fb_cudnn_matmul(g, ds, k, held(m, FB_CUDNN_DQ));
        return;
    }
    cudnnBackendDescriptor_t sum =
        fb_cudnn_matmul(g, ds, k, real(m, FB_CUDNN_DQ_ACCUM, contiguous(a->b, a->h, a->nq, a->d)));
    const struct fb_cudnn_pointwise convert = {.mode = CUDNN_POINTWISE_IDENTITY,
                                               .precision = CUDNN_DATA_FLOAT,
                                               .x = sum,
                                               .y = held(m, FB_CUDNN_DQ)};
    fb_cudnn_pointwise(g, &convert);
}

static void backward(struct build *m)
{
    struct fb_cudnn_graph *g = m->g;
    const struct fb_cudnn_dims k = given(m, FB_CUDNN_K), v = given(m, FB_CUDNN_V);
    cudnnBackendDescriptor_t q = held(m, FB_CUDNN_Q), dout = held(m, FB_CUDNN_DOUT);
    cudnnBackendDescriptor_t kt = real(m, FB_CUDNN_K, transposed(k));
    cudnnBackendDescriptor_t vt = real(m, FB_CUDNN_V, transposed(v));
    cudnnBackendDescriptor_t scale = fb_cudnn_float(g, (float)m->a->scale);
    cudnnBackendDescriptor_t d = delta(m, dout);
    cudnnBackendDescriptor_t p = score_matmul(m, q, kt);
    p = on_scores(m, CUDNN_POINTWISE_MUL, p, scale);
    p = on_scores(m, CUDNN_POINTWISE_SUB, p, held(m, FB_CUDNN_LSE));
    p = on_scores(m, CUDNN_POINTWISE_EXP, mask_left(m, mask_right(m, p)), NULL);
    key_gradient(m, p, dout, FB_CUDNN_DV);
    cudnnBackendDescriptor_t ds = score_matmul(m, dout, vt);
    ds = on_scores(m, CUDNN_POINTWISE_SUB, ds, d);
    ds = on_scores(m, CUDNN_POINTWISE_MUL, ds, p);
    ds = on_scores(m, CUDNN_POINTWISE_MUL, ds, scale);
    key_gradient(m, ds, q, FB_CUDNN_DK);
    query_gradient(m, ds, kt);
}

void fb_cudnn_attention_build(struct fb_cudnn_graph *graph, const struct fb_cudnn_attention *what)
{
    struct build m = start(graph, what);
    if (what->pass == FB_CUDNN_FORWARD)
        forward(&m);
    else
        backward(&m);
}

bool fb_cudnn_attention_uses(const struct fb_cudnn_attention *what, enum fb_cudnn_role role)
{
    if (what->pass == FB_CUDNN_FORWARD)
        return role <= FB_CUDNN_LSE;
    return role != FB_CUDNN_DQ_ACCUM || what->pass == FB_CUDNN_BACKWARD;
}
