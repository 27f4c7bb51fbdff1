/* SPDX-License-Identifier: BSD-3-Clause
 *
 * cuda.c: errors, masks and the delta pre-pass of CUDA variants.
 */
#include "variants/common/cuda.h"

#include <cuda_runtime_api.h>

enum fb_status fb_cuda_check(struct fb_context *ctx, int error, const char *what)
{
    if (!error)
        return FB_OK;
    ctx->explain(ctx, "%s: %s (%s)", what, cudaGetErrorString((cudaError_t)error),
                 cudaGetErrorName((cudaError_t)error));
    return FB_DEVICE;
}

void fb_cuda_mask(const struct fb_problem *p, int64_t *lo, int64_t *hi)
{
    /* Far enough out that no row number reaches it, and small enough to add row numbers to. */
    const int64_t open_side = (int64_t)1 << 60, offset = p->nk - p->nq;
    *lo = -open_side;
    *hi = open_side;
    if (p->mask == FB_MASK_CAUSAL)
        *hi = offset;
    if (p->mask == FB_MASK_CAUSAL_TOPLEFT)
        *hi = 0;
    if (p->window_left != FB_OPEN && p->window_left < open_side)
        *lo = offset - p->window_left;
    if (p->window_right != FB_OPEN && p->window_right < open_side && offset + p->window_right < *hi)
        *hi = offset + p->window_right;
}

enum fb_cuda_element fb_cuda_element_of(enum fb_dtype dtype)
{
    return dtype == FB_BF16 ? FB_CUDA_BF16 : dtype == FB_FP16 ? FB_CUDA_FP16 : FB_CUDA_FP32;
}

enum fb_status fb_cuda_run_delta(struct fb_context *ctx, const struct fb_args *a, float *delta)
{
    const struct fb_tensor *o = &a->o, *dout = &a->dout, *dlse = &a->dlse;
    const struct fb_cuda_delta call = {
        .element = fb_cuda_element_of(o->dtype),
        .b = o->shape[0],
        .h = o->shape[1],
        .n = o->shape[2],
        .d = o->shape[3],
        .dout = dout->data,
        .o = o->data,
        .dout_stride = {dout->stride[0], dout->stride[1], dout->stride[2]},
        .o_stride = {o->stride[0], o->stride[1], o->stride[2]},
        .dlse = dlse->data,
        .dlse_stride = {dlse->stride[0], dlse->stride[1], dlse->stride[2]},
        .delta = delta,
        .delta_stride = {o->shape[1] * o->shape[2], o->shape[2], 1},
    };
    ctx->phase(ctx, "delta");
    return fb_cuda_check(ctx, fb_cuda_delta(&call, ctx->stream), "delta");
}
