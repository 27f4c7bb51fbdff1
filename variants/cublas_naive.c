/* SPDX-License-Identifier: BSD-3-Clause
 *
 * cublas_naive.c: the materialised baseline on a GPU in two modes: cublas-naive keeps P from the
 * forward, as autograd does with a softmax in plain operators; cublas-naive-recompute makes it
 * again from lse, as activation checkpointing does.
 *
 * GEMMs are cuBLAS's strided-batched ones, loaded at run time, with fp32 sums and without TF32;
 * what stands between them is one kernel each (kernels/dense/softmax.cu). P and dS are rounded
 * once, to the problem's type.
 *
 * Memory: saved 2 or 4 bytes n^2 a head (cublas-naive); workspace in chunks of 2 GiB, or a head.
 * The handle is made in prepare; its device memory shows in the peak.
 * Deterministic: cuBLAS gives the same bits on one stream of one device, and nothing is atomic
 * here. Source: the attention of every framework before fused kernels.
 */
#include "variants/cuda_naive.h"

static int gemm(void *handle, const struct fb_cublas_gemm *call, void *stream)
{
    (void)stream; /* the handle's */
    return fb_cublas_gemm(handle, call);
}

static const struct fb_cuda_naive kept = {
    .saves_p = 1, .softmax = fb_softmax_online, .gemm = gemm, .words = fb_cublas_words};
static const struct fb_cuda_naive again = {
    .saves_p = 0, .softmax = fb_softmax_online, .gemm = gemm, .words = fb_cublas_words};

static const char *why_not(const struct fb_problem *p, const struct fb_numerics *n)
{
    const char *reason = fb_cublas_why_not();
    if (reason)
        return reason;
    if (p->layout == FB_LAYOUT_EXPANDED_DOUT)
        return "no layout=expanded-dout: cuBLAS takes no rows that are one";
    if (p->nq > 2147483647 || p->nk > 2147483647)
        return "no more than 2147483647 queries or keys";
    return fb_cuda_naive_refuse(p, n);
}

static enum fb_status sizes_kept(const struct fb_problem *p, const struct fb_numerics *n,
                                 size_t *saved, size_t *workspace)
{
    (void)n;
    fb_cuda_naive_sizes(&kept, p, saved, workspace);
    return FB_OK;
}

static enum fb_status sizes_again(const struct fb_problem *p, const struct fb_numerics *n,
                                  size_t *saved, size_t *workspace)
{
    (void)n;
    fb_cuda_naive_sizes(&again, p, saved, workspace);
    return FB_OK;
}

static enum fb_status prepare(struct fb_context *ctx, const struct fb_problem *problem,
                              const struct fb_numerics *numerics, void **state)
{
    (void)problem;
    (void)numerics;
    *state = fb_cublas_open(ctx->stream);
    if (*state)
        return FB_OK;
    ctx->explain(ctx, "no cuBLAS handle: too little device memory?");
    return FB_NO_MEMORY;
}

static void release(struct fb_context *ctx, void *state)
{
    (void)ctx;
    fb_cublas_close(state);
}

static enum fb_status forward_kept(struct fb_context *ctx, void *state, const struct fb_args *args)
{
    return fb_cuda_naive_forward(&kept, ctx, state, args);
}

static enum fb_status backward_kept(struct fb_context *ctx, void *state, const struct fb_args *args)
{
    return fb_cuda_naive_backward(&kept, ctx, state, args);
}

static enum fb_status forward_again(struct fb_context *ctx, void *state, const struct fb_args *args)
{
    return fb_cuda_naive_forward(&again, ctx, state, args);
}

static enum fb_status backward_again(struct fb_context *ctx, void *state,
                                     const struct fb_args *args)
{
    return fb_cuda_naive_backward(&again, ctx, state, args);
}

static const struct fb_variant cublas_naive = {
    .abi_version = FB_ABI_VERSION,
    .struct_size = sizeof(struct fb_variant),
    .name = "cublas-naive",
    .summary = "materialised: cuBLAS GEMMs, P kept from the forward",
    .backend = "cublas",
    .properties = {.deterministic = FB_DET_ALL,
                   .gemms = 4,
                   .saved_growth = FB_GROWTH_QUADRATIC,
                   .workspace_growth = FB_GROWTH_QUADRATIC},
    .why_not = why_not,
    .sizes = sizes_kept,
    .prepare = prepare,
    .release = release,
    .forward = forward_kept,
    .backward = backward_kept,
};

static const struct fb_variant cublas_naive_recompute = {
    .abi_version = FB_ABI_VERSION,
    .struct_size = sizeof(struct fb_variant),
    .name = "cublas-naive-recompute",
    .summary = "materialised: cuBLAS GEMMs, P made again in the workspace",
    .backend = "cublas",
    .properties = {.deterministic = FB_DET_ALL,
                   .gemms = 5,
                   .saved_growth = FB_GROWTH_NONE,
                   .workspace_growth = FB_GROWTH_QUADRATIC},
    .why_not = why_not,
    .sizes = sizes_again,
    .prepare = prepare,
    .release = release,
    .forward = forward_again,
    .backward = backward_again,
};

const struct fb_variant *const fb_variants_cublas_naive[] = {&cublas_naive, &cublas_naive_recompute,
                                                             NULL};
