/* SPDX-License-Identifier: BSD-3-Clause
 *
 * simt_naive.c: the materialised attention without a library, fp32: the first two rungs of the
 * lecture's ladder. Scores, P and dP are whole matrices in memory; GEMMs are the textbook tile
 * (kernels/dense/gemm_fp32.cu). simt-naive has the softmax as it is first written down, a thread a
 * row; simt-naive-online one block a row and one pass for maximum and sum.
 *
 * Memory: P saved and dP in the workspace, 4 bytes n^2 a head each; dP in chunks of 2 GiB.
 * Deterministic: nothing is atomic, every sum runs in one order.
 */
#include "kernels/dense/gemm_fp32.h"

#include <cuda_runtime_api.h>

#include "variants/cuda_naive.h"

static int gemm(void *handle, const struct fb_cublas_gemm *call, void *stream)
{
    (void)handle;
    return fb_gemm_fp32(call, stream);
}

static const char *words(int status)
{
    return cudaGetErrorString((cudaError_t)status);
}

static const struct fb_cuda_naive plain = {
    .saves_p = 1, .softmax = fb_softmax_plain, .gemm = gemm, .words = words};
static const struct fb_cuda_naive online = {
    .saves_p = 1, .softmax = fb_softmax_online, .gemm = gemm, .words = words};

static const char *why_not(const struct fb_problem *p, const struct fb_numerics *n)
{
    if (p->dtype != FB_FP32)
        return "only dtype=fp32";
    if (p->nq > 65535 * 64 || p->nk > 65535 * 64)
        return "no more than 4194240 queries or keys";
    return fb_cuda_naive_refuse(p, n);
}

static enum fb_status sizes(const struct fb_problem *p, const struct fb_numerics *n, size_t *saved,
                            size_t *workspace)
{
    (void)n;
    fb_cuda_naive_sizes(&plain, p, saved, workspace);
    return FB_OK;
}

static enum fb_status forward_plain(struct fb_context *ctx, void *state, const struct fb_args *args)
{
    return fb_cuda_naive_forward(&plain, ctx, state, args);
}

static enum fb_status forward_online(struct fb_context *ctx, void *state,
                                     const struct fb_args *args)
{
    return fb_cuda_naive_forward(&online, ctx, state, args);
}

static enum fb_status backward(struct fb_context *ctx, void *state, const struct fb_args *args)
{
    return fb_cuda_naive_backward(&plain, ctx, state, args);
}

#define SHARED                                                                                     \
    .abi_version = FB_ABI_VERSION, .struct_size = sizeof(struct fb_variant), .backend = "simt",    \
    .properties = {.deterministic = FB_DET_ALL,                                                    \
                   .gemms = 4,                                                                     \
                   .saved_growth = FB_GROWTH_QUADRATIC,                                            \
                   .workspace_growth = FB_GROWTH_QUADRATIC},                                       \
    .why_not = why_not, .sizes = sizes, .backward = backward

static const struct fb_variant simt_naive = {
    .name = "simt-naive",
    .summary = "fp32 on any GPU, materialised: a thread a row of the softmax",
    .forward = forward_plain,
    SHARED,
};

static const struct fb_variant simt_naive_online = {
    .name = "simt-naive-online",
    .summary = "fp32 on any GPU, materialised: a block a row, maximum and sum in one pass",
    .forward = forward_online,
    SHARED,
};

const struct fb_variant *const fb_variants_simt_naive[] = {&simt_naive, &simt_naive_online, NULL};
