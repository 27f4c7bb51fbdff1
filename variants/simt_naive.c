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

#include "variants/common/cuda_naive.h"

static int gemm(void *handle, const struct fb_cublas_gemm *call, void *stream)
{
    (void)handle;
    return fb_gemm_fp32(call, stream);
}

static const char *words(int status)
{
    return cudaGetErrorString((cudaError_t)status);
}

enum { MOST_ROWS = 65535 * 64 }; /* of a grid of tiles */

static const struct fb_cuda_naive plain = {.saves_p = 1,
                                           .most_rows = MOST_ROWS,
                                           .softmax = fb_softmax_plain,
                                           .gemm = gemm,
                                           .words = words};
static const struct fb_cuda_naive online = {.saves_p = 1,
                                            .most_rows = MOST_ROWS,
                                            .softmax = fb_softmax_online,
                                            .gemm = gemm,
                                            .words = words};

#define SHARED                                                                                     \
    .abi_version = FB_ABI_VERSION, .struct_size = sizeof(struct fb_variant), .backend = "simt",    \
    .properties = {.deterministic = FB_DET_ALL,                                                    \
                   .gemms = 4,                                                                     \
                   .saved_growth = FB_GROWTH_QUADRATIC,                                            \
                   .workspace_growth = FB_GROWTH_QUADRATIC},                                       \
    .offer = {.layouts = FB_ANY, FB_CUDA_NAIVE_OFFER}, .why_not = fb_cuda_naive_why_not,           \
    .sizes = fb_cuda_naive_sizes, .forward = fb_cuda_naive_forward,                                \
    .backward = fb_cuda_naive_backward

static const struct fb_variant simt_naive = {
    .name = "simt-naive",
    .summary = "fp32 on any GPU, materialised: a thread a row of the softmax",
    .family = &plain,
    SHARED,
};

static const struct fb_variant simt_naive_online = {
    .name = "simt-naive-online",
    .summary = "fp32 on any GPU, materialised: a block a row, maximum and sum in one pass",
    .family = &online,
    SHARED,
};

const struct fb_variant *const fb_variants_simt_naive[] = {&simt_naive, &simt_naive_online, NULL};
