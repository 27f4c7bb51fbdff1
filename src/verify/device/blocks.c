/* SPDX-License-Identifier: BSD-3-Clause
 *
 * blocks.c: the equations as GEMMs in double precision, a block of query rows after the
 * other, so that the scores held are bounded. A block has all keys that its queries see, so that
 * its softmax is whole and forward and backward are one walk. Heads that share keys are taken in
 * turn, so that the sums of dk and dv run in one order.
 */
#include "verify/device/blocks.h"

#include "kernels/dense/cublas.h"

/* A matrix a key head: `data` of the first, `step` doubles from one to the next, rows `ld` apart.
 */
struct matrix {
    const double *data;
    int64_t ld, step;
};

/* The rows of the query heads that are number `member` of their groups, from `first` on. */
static struct matrix of_queries(const struct fb_ref_device_call *call,
                                const struct fb_ref_device_block *block, const double *data,
                                int64_t width)
{
    const int64_t group = call->heads / call->key_heads;
    return (struct matrix){data + (block->member * call->nq + block->first) * width, width,
                           group * call->nq * width};
}

static struct matrix of_keys(const struct fb_ref_device_call *call,
                             const struct fb_ref_device_block *block, const double *data,
                             int64_t width)
{
    return (struct matrix){data + block->from * width, width, call->nk * width};
}

static struct matrix of_scores(const struct fb_ref_device_block *block, const double *data)
{
    return (struct matrix){data, block->keys, block->rows * block->keys};
}

/* c = factor op(a) op(b) + add c for every key head, c [m, n], k terms. */
struct product {
    struct matrix a, b, c;
    int a_turned, b_turned;
    int64_t m, n, k;
    double factor, add;
};

static int multiply(const struct fb_ref_device_call *call, const struct product *p)
{
    const struct fb_cublas_gemm gemm = {.m = p->m,
                                        .n = p->n,
                                        .k = p->k,
                                        .batch = call->key_heads,
                                        .a = p->a.data,
                                        .b = p->b.data,
                                        .c = (double *)p->c.data,
                                        .type = FB_CUBLAS_FP64,
                                        .type_c = FB_CUBLAS_FP64,
                                        .a_turned = p->a_turned,
                                        .b_turned = p->b_turned,
                                        .lda = p->a.ld,
                                        .ldb = p->b.ld,
                                        .ldc = p->c.ld,
                                        .step_a = p->a.step,
                                        .step_b = p->b.step,
                                        .step_c = p->c.step,
                                        .alpha = p->factor,
                                        .beta = p->add};
    return fb_cublas_gemm(call->cublas, &gemm);
}

/* queries [rows, width] keys [keys, width]^T */
static int pairs(const struct fb_ref_device_call *call, const struct fb_ref_device_block *block,
                 const double *queries, const double *keys, int64_t width, double *out)
{
    const struct product p = {.a = of_queries(call, block, queries, width),
                              .b = of_keys(call, block, keys, width),
                              .c = of_scores(block, out),
                              .b_turned = 1,
                              .m = block->rows,
                              .n = block->keys,
                              .k = width,
                              .factor = 1};
    return multiply(call, &p);
}

/* weights [rows, keys] keys [keys, width] */
static int to_queries(const struct fb_ref_device_call *call,
                      const struct fb_ref_device_block *block, const double *weights,
                      const double *keys, int64_t width, double factor, double *out)
{
    const struct product p = {.a = of_scores(block, weights),
                              .b = of_keys(call, block, keys, width),
                              .c = of_queries(call, block, out, width),
                              .m = block->rows,
                              .n = width,
                              .k = block->keys,
                              .factor = factor};
    return multiply(call, &p);
}

/* weights [rows, keys]^T queries [rows, width], added to what is there. */
static int to_keys(const struct fb_ref_device_call *call, const struct fb_ref_device_block *block,
                   const double *weights, const double *queries, int64_t width, double factor,
                   double *out)
{
    const struct product p = {.a = of_scores(block, weights),
                              .b = of_queries(call, block, queries, width),
                              .c = of_keys(call, block, out, width),
                              .a_turned = 1,
                              .m = block->keys,
                              .n = width,
                              .k = block->rows,
                              .factor = factor,
                              .add = 1};
    return multiply(call, &p);
}

static int run_backward(const struct fb_ref_device_call *call,
                        const struct fb_ref_device_block *block)
{
    int error = pairs(call, block, call->dout, call->v, call->dv_width, call->dp);
    if (!error)
        error = to_keys(call, block, call->p, call->dout, call->dv_width, 1, call->dv);
    if (!error)
        error = fb_ref_device_gradient(call, block);
    if (!error)
        error = to_queries(call, block, call->dp, call->k, call->d, call->scale, call->dq);
    if (!error)
        error = to_keys(call, block, call->dp, call->q, call->d, call->scale, call->dk);
    return error;
}

static int run_block(const struct fb_ref_device_call *call, const struct fb_ref_device_block *block)
{
    int error = block->keys ? pairs(call, block, call->q, call->k, call->d, call->product) : 0;
    if (!error)
        error = fb_ref_device_softmax(call, block);
    if (error || !block->keys)
        return error; /* o and dq of rows without keys are 0 already */
    error = to_queries(call, block, call->p, call->v, call->dv_width, 1, call->o);
    return error || !call->dout ? error : run_backward(call, block);
}

/* As many queries from `first` on as there is room for their scores, one at least, with the keys
 * that any of them sees: under a window many rows go together. */
static struct fb_ref_device_block block_from(const struct fb_ref_device_call *call, int64_t first)
{
    struct fb_ref_device_block block = {.first = first};
    int64_t from = call->nk, end = 0;
    for (int64_t i = first; i < call->nq; i++) {
        const int64_t lo = call->host_lo[i], hi = call->host_hi[i];
        const int64_t low = lo < hi && lo < from ? lo : from;
        const int64_t high = lo < hi && hi > end ? hi : end;
        const int64_t keys = low < high ? high - low : 0;
        if (block.rows && (block.rows + 1) * keys * call->key_heads > call->room)
            break;
        from = low;
        end = high;
        block.rows++;
        block.keys = keys;
    }
    block.from = block.keys ? from : 0;
    return block;
}

int fb_ref_device_run(const struct fb_ref_device_call *call)
{
    int error = 0;
    for (int64_t first = 0; first < call->nq && !error;) {
        struct fb_ref_device_block block = block_from(call, first);
        for (; block.member < call->heads / call->key_heads && !error; block.member++)
            error = run_block(call, &block);
        first += block.rows;
    }
    return error;
}
