/* SPDX-License-Identifier: BSD-3-Clause
 *
 * sm90_common.cu: host code of the sm90 variants: what they refuse, and how a call of the harness
 * becomes a call of the kernels. Tensor maps are encoded at each call and travel as launch
 * parameters, so a variant has no state.
 */
#include <cuda_runtime.h>

#include "kernels/cuda/device.h"
#include "variants/cuda_common.h"
#include "variants/sm90_common.h"

namespace {

constexpr int64_t most_rows = 1 << 30;    /* a coordinate of the copy engine is 32 bits wide */
constexpr int64_t most_heads = 32767;     /* a grid has at most 65535 in y and z */
constexpr int64_t most_tiles = 1LL << 30; /* CTAs of 64 rows in one launch */

const struct fb_sm90_kernels *find(const struct fb_sm90_size *sizes, int64_t d)
{
    for (; sizes->d; sizes++)
        if (sizes->d == d && sizes->kernels->backward)
            return sizes->kernels;
    return NULL;
}

const char *refuse_terms(const struct fb_problem *p)
{
    if (p->window_left != FB_OPEN || p->window_right != FB_OPEN)
        return "window: none is offered";
    if (p->softcap != 0)
        return "softcap: none is offered";
    if (p->alibi != FB_ALIBI_NONE)
        return "alibi: none is offered";
    if (p->bias != FB_BIAS_NONE)
        return "bias: none is offered";
    if (p->dropout > 0)
        return "dropout: none is offered";
    if (p->sink)
        return "sink: not offered";
    if (p->dlse)
        return "dlse: not offered";
    return NULL;
}

const char *refuse_sizes(const struct fb_problem *p)
{
    if (p->qlens || p->klens)
        return "qlens, klens: packed lengths are not offered";
    if (p->layout == FB_LAYOUT_EXPANDED_DOUT)
        return "layout=expanded-dout: the copy engine takes no stride of 0";
    if (p->b > most_heads || p->h > most_heads)
        return "b, h: at most 32767";
    if (p->nq > most_rows || p->nk > most_rows ||
        p->b * p->h * (((p->nq > p->nk ? p->nq : p->nk) + 63) / 64) > most_tiles)
        return "n: at most 2^30, and 2^36 rows of all heads together";
    return NULL;
}

const char *refuse_numerics(const struct fb_numerics *n)
{
    if (n->dkv != FB_ACC_FP32 || n->dq != FB_ACC_FP32)
        return "numerics: only dkv=fp32,dq=fp32";
    if (n->ps != FB_PS_IN)
        return "numerics: only ps=in";
    if (n->delta != FB_DELTA_FP32 || n->lse != FB_LSE_FP32)
        return "numerics: only delta=fp32,lse=fp32";
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

const char *fb_sm90_refuse(const struct fb_sm90_size *sizes, bool wide, const struct fb_problem *p,
                           const struct fb_numerics *n)
{
    const char *why;

    if (p->dtype != FB_BF16 && p->dtype != FB_FP16)
        return "dtype: only bf16 and fp16";
    if (p->d != 64 && p->d != 128 && !(wide && p->d == 256))
        return wide ? "d: only 64, 128 and 256" : "d: only 64 and 128";
    if (p->dv != p->d)
        return "dv: only dv = d";
    if (!find(sizes, p->d))
        return "d: the program was built without this head size (--with-head-dims)";
    if (!((float)p->scale > 0))
        return "scale: only positive factors";
    if ((why = refuse_terms(p)) || (why = refuse_sizes(p)) || (why = refuse_numerics(n)))
        return why;
    return fb_cuda_why_not_90a();
}

enum fb_status fb_sm90_sizes(const struct fb_sm90_size *sizes, const struct fb_problem *p,
                             size_t *saved, size_t *workspace)
{
    const struct fb_sm90_kernels *kernels = find(sizes, p->d);

    if (!kernels)
        return FB_REFUSED;
    *saved = 0;
    *workspace = is_empty(p) ? 0 : kernels->workspace(p);
    return FB_OK;
}

void fb_sm90_tiles(const struct fb_sm90_size *sizes, const struct fb_problem *p, int64_t *bm,
                   int64_t *bn)
{
    const struct fb_sm90_kernels *kernels = find(sizes, p->d);

    *bm = kernels ? kernels->query_rows(p) : 0;
    *bn = kernels ? kernels->key_rows : 0;
}

enum fb_status fb_sm90_forward(struct fb_context *ctx, void *state, const struct fb_args *a)
{
    fb::sm90_call call = {};
    enum fb_status status;

    (void)state;
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

enum fb_status fb_sm90_backward(const struct fb_sm90_size *sizes, struct fb_context *ctx,
                                const struct fb_args *a)
{
    const struct fb_sm90_kernels *kernels = find(sizes, a->problem->d);
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
