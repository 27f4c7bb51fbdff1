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
#include "variants/common/cuda_naive.h"

static int gemm(void *handle, const struct fb_cublas_gemm *call, void *stream)
{
    (void)stream; /* the handle's */
    return fb_cublas_gemm(handle, call);
}

enum { MOST_ROWS = 2147483647 };

static const struct fb_cuda_naive kept = {.saves_p = 1,
                                          .most_rows = MOST_ROWS,
                                          .softmax = fb_softmax_online,
                                          .gemm = gemm,
                                          .words = fb_cublas_words};
static const struct fb_cuda_naive again = {.saves_p = 0,
                                           .most_rows = MOST_ROWS,
                                           .softmax = fb_softmax_online,
                                           .gemm = gemm,
                                           .words = fb_cublas_words};

static enum fb_status prepare(const struct fb_variant *self, struct fb_context *ctx,
                              const struct fb_problem *problem, const struct fb_numerics *numerics,
                              void **state)
{
    (void)self;
    (void)problem;
    (void)numerics;
    *state = fb_cublas_open(ctx->stream);
    if (*state)
        return FB_OK;
    ctx->explain(ctx, "no cuBLAS handle: too little device memory?");
    return FB_NO_MEMORY;
}

static void release(const struct fb_variant *self, struct fb_context *ctx, void *state)
{
    (void)self;
    (void)ctx;
    fb_cublas_close(state);
}

/* Rows that are one, with a stride of 0, are none to cuBLAS. */
#define SHARED                                                                                     \
    .abi_version = FB_ABI_VERSION, .struct_size = sizeof(struct fb_variant), .backend = "cublas",  \
    .offer = {.dtypes = FB_ANY,                                                                    \
              .layouts = FB_ANY & ~FB_BIT(FB_LAYOUT_EXPANDED_DOUT),                                \
              FB_CUDA_NAIVE_OFFER},                                                                \
    .why_not = fb_cuda_naive_why_not, .sizes = fb_cuda_naive_sizes, .prepare = prepare,            \
    .release = release, .forward = fb_cuda_naive_forward, .backward = fb_cuda_naive_backward

static const struct fb_variant cublas_naive = {
    .name = "cublas-naive",
    .summary = "materialised: cuBLAS GEMMs, P kept from the forward",
    .properties = {.deterministic = FB_DET_ALL,
                   .gemms = 4,
                   .saved_growth = FB_GROWTH_QUADRATIC,
                   .workspace_growth = FB_GROWTH_QUADRATIC},
    .family = &kept,
    SHARED,
};

static const struct fb_variant cublas_naive_recompute = {
    .name = "cublas-naive-recompute",
    .summary = "materialised: cuBLAS GEMMs, P made again in the workspace",
    .properties = {.deterministic = FB_DET_ALL,
                   .gemms = 5,
                   .saved_growth = FB_GROWTH_NONE,
                   .workspace_growth = FB_GROWTH_QUADRATIC},
    .family = &again,
    SHARED,
};

const struct fb_variant *const fb_variants_cublas_naive[] = {&cublas_naive, &cublas_naive_recompute,
                                                             NULL};
