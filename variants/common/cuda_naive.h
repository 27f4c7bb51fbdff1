/* SPDX-License-Identifier: BSD-3-Clause
 *
 * cuda_naive.h: the materialised attention on a GPU: whole matrices of scores, GEMMs by a policy,
 * softmax and its gradient as one kernel each. What simt-naive and cublas-naive share.
 */
#ifndef FB_VARIANTS_COMMON_CUDA_NAIVE_H
#define FB_VARIANTS_COMMON_CUDA_NAIVE_H

#include "flashback.h"
#include "kernels/dense/cublas.h"
#include "kernels/dense/softmax.h"

/* fb_variant.family */
struct fb_cuda_naive {
    int saves_p;       /* P is kept from the forward; else made again from lse */
    int64_t most_rows; /* queries or keys that the GEMMs take */
    int (*softmax)(const struct fb_softmax_call *call, void *stream);
    /* c = op(a) op(b), 0 or a status that words() explains. handle: the variant's state. */
    int (*gemm)(void *handle, const struct fb_cublas_gemm *gemm, void *stream);
    const char *(*words)(int status);
};

/* Members of struct fb_offer. Nothing rounds but P and dS, to the dtype, so that it does not matter
 * when accumulators do. */
#define FB_CUDA_NAIVE_OFFER                                                                        \
    .masks = FB_MASKS_KNOWN,                                                                       \
    .terms = FB_BIT(FB_TERM_WINDOW) | FB_BIT(FB_TERM_GROUPS) | FB_BIT(FB_TERM_SCALE) |             \
             FB_BIT(FB_TERM_DV),                                                                   \
    .round = FB_ANY

/* The functions of a descriptor. */
const char *fb_cuda_naive_why_not(const struct fb_variant *self, const struct fb_problem *problem,
                                  const struct fb_numerics *numerics);
enum fb_status fb_cuda_naive_sizes(const struct fb_variant *self, const struct fb_problem *problem,
                                   const struct fb_numerics *numerics, size_t *saved,
                                   size_t *workspace);
enum fb_status fb_cuda_naive_forward(const struct fb_variant *self, struct fb_context *ctx,
                                     void *state, const struct fb_args *args);
enum fb_status fb_cuda_naive_backward(const struct fb_variant *self, struct fb_context *ctx,
                                      void *state, const struct fb_args *args);

#endif
