/* SPDX-License-Identifier: BSD-3-Clause
 *
 * sm90.cu: host code of the sm90 variants: their limits, and how a call of the harness
 * becomes a call of the kernels. Tensor maps are encoded at each call and travel as launch
 * parameters, so a variant has no state.
 */
#include <cuda_runtime.h>
#include <stdio.h>

#include "variants/common/cuda.h"
#include "variants/common/sm90.h"

namespace {

constexpr int64_t most_rows = 1 << 30;    /* a coordinate of the copy engine is 32 bits wide */
constexpr int64_t most_heads = 32767;     /* a grid has at most 65535 in y and z */
constexpr int64_t most_tiles = 1LL << 30; /* CTAs of 64 rows in one launch */

const struct fb_sm90_kernels *find(const struct fb_variant *self, int64_t d)
{
    for (auto *sizes = (const struct fb_sm90_size *)self->family; sizes->d; sizes++)
        if (sizes->d == d && sizes->kernels->backward)
            return sizes->kernels;
    return NULL;
}

/* What the copy engine takes: 16-byte aligned base and strides. Names the tensor that is not so. */
enum fb_status view(struct fb_context *ctx, const char *name, const struct fb_tensor &t,
                    fb::tensor4 *out)
{
    bool fine = (uintptr_t)t.data % 16 == 0 && t.stride[3] == 1;
    for (int i = 0; i < 3; i++)
        fine &= t.shape[i] <= 1 || (t.stride[i] > 0 && t.stride[i] % 8 == 0);
    if (!fine) {
        ctx->explain(ctx, "%s: base and strides must be positive multiples of 16 bytes", name);
        return FB_REFUSED;
    }
    *out = {t.data,          (int)t.shape[0], (int)t.shape[1], (int)t.shape[2],
            (int)t.shape[3], t.stride[0],     t.stride[1],     t.stride[2]};
    return FB_OK;
}

void mark(void *owner, const char *phase)
{
    struct fb_context *ctx = (struct fb_context *)owner;
    ctx->phase(ctx, phase);
}

void call_fill(fb::sm90_call *call, struct fb_context *ctx, const struct fb_args *a)
{
    const struct fb_problem *p = a->problem;

    call->lse = (float *)a->lse.data;
    call->lse_batch = a->lse.stride[0];
    call->lse_head = a->lse.stride[1];
    call->lse_row = a->lse.stride[2];
    call->offset = p->mask == FB_MASK_CAUSAL ? (int)(p->nk - p->nq) : 0;
    call->scale = (float)p->scale;
    call->workspace = a->workspace;
    call->stream = (cudaStream_t)ctx->stream;
    call->mark = mark, call->owner = ctx;
}

/* The tensors of a pass; FB_REFUSED where one cannot be had by the copy engine. */
enum fb_status views(fb::sm90_call *call, struct fb_context *ctx, const struct fb_args *a,
                     bool backward)
{
    struct {
        const char *name;
        const struct fb_tensor &from;
        fb::tensor4 *to;
    } list[] = {{"q", a->q, &call->q},    {"k", a->k, &call->k},          {"v", a->v, &call->v},
                {"o", a->o, &call->o},    {"dout", a->dout, &call->dout}, {"dq", a->dq, &call->dq},
                {"dk", a->dk, &call->dk}, {"dv", a->dv, &call->dv}};

    for (int i = 0; i < (backward ? 8 : 4); i++) {
        enum fb_status status = view(ctx, list[i].name, list[i].from, list[i].to);
        if (status != FB_OK)
            return status;
    }
    return FB_OK;
}

/* One element a thread: what a tensor is when there is nothing to compute it from. */
template <class T>
__global__ void fill(T *data, int64_t count, int64_t h, int64_t n, int64_t d, int64_t stride_b,
                     int64_t stride_h, int64_t stride_n, T value)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        data[i / (h * n * d) * stride_b + i / (n * d) % h * stride_h + i / d % n * stride_n +
             i % d] = value;
}

template <class T>
cudaError_t fill_tensor(const struct fb_tensor &t, T value, cudaStream_t stream)
{
    int64_t count = t.shape[0] * t.shape[1] * t.shape[2] * t.shape[3];

    if (count == 0)
        return cudaSuccess;
    fill<<<(unsigned)((count + 255) / 256), 256, 0, stream>>>((T *)t.data, count, t.shape[1],
                                                              t.shape[2], t.shape[3], t.stride[0],
                                                              t.stride[1], t.stride[2], value);
    return cudaGetLastError();
}

bool is_empty(const struct fb_problem *p)
{
    return p->b == 0 || p->h == 0 || p->nq == 0 || p->nk == 0;
}

} // namespace

const char *fb_sm90_why_not(const struct fb_variant *self, const struct fb_problem *p,
                            const struct fb_numerics *)
{
    const int64_t longer = p->nq > p->nk ? p->nq : p->nk;

    if (!find(self, p->d))
        return "d: this program was built without it (--with-head-dims)";
    if (p->b > most_heads || p->h > most_heads)
        return "b, h: must be 32767 or less";
    if (longer > most_rows || p->b * p->h * ((longer + 63) / 64) > most_tiles)
        return "n: must be 2^30 or less, and 2^36 rows of all heads together";
    return NULL;
}

enum fb_status fb_sm90_sizes(const struct fb_variant *self, const struct fb_problem *p,
                             const struct fb_numerics *, size_t *saved, size_t *workspace)
{
    const struct fb_sm90_kernels *kernels = find(self, p->d);

    if (!kernels)
        return FB_REFUSED;
    *saved = 0;
    *workspace = is_empty(p) ? 0 : kernels->workspace(p);
    return FB_OK;
}

void fb_sm90_describe(const struct fb_variant *self, const struct fb_problem *p,
                      const struct fb_numerics *, struct fb_description *what)
{
    const struct fb_sm90_kernels *kernels = find(self, p->d);

    if (!kernels)
        return;
    what->bm = kernels->query_rows(p), what->bn = kernels->key_rows;
    snprintf(what->text, sizeof what->text, "%dx%d%s", (int)what->bm, (int)what->bn,
             kernels->form(p));
}

enum fb_status fb_sm90_forward(const struct fb_variant *, struct fb_context *ctx, void *,
                               const struct fb_args *a)
{
    fb::sm90_call call = {};
    enum fb_status status;

    if (is_empty(a->problem)) {
        cudaError_t error = fill_tensor(a->o, (uint16_t)0, (cudaStream_t)ctx->stream);
        if (error == cudaSuccess)
            error = fill_tensor(a->lse, -INFINITY, (cudaStream_t)ctx->stream);
        return fb_cuda_check(ctx, error, "forward");
    }
    call_fill(&call, ctx, a);
    status = views(&call, ctx, a, false);
    if (status != FB_OK)
        return status;
    return fb_cuda_check(ctx, fb_sm90_forward_enqueue(a->problem, call), "forward");
}

enum fb_status fb_sm90_backward(const struct fb_variant *self, struct fb_context *ctx, void *,
                                const struct fb_args *a)
{
    const struct fb_sm90_kernels *kernels = find(self, a->problem->d);
    fb::sm90_call call = {};
    enum fb_status status;

    if (is_empty(a->problem)) {
        const struct fb_tensor *out[] = {&a->dq, &a->dk, &a->dv};
        cudaError_t error = cudaSuccess;
        for (int i = 0; i < 3 && error == cudaSuccess; i++)
            error = fill_tensor(*out[i], (uint16_t)0, (cudaStream_t)ctx->stream);
        return fb_cuda_check(ctx, error, "backward");
    }
    call_fill(&call, ctx, a);
    status = views(&call, ctx, a, true);
    if (status != FB_OK)
        return status;
    return fb_cuda_check(ctx, kernels->backward(a->problem, call), "backward");
}
