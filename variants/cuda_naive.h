/* SPDX-License-Identifier: BSD-3-Clause
 *
 * cuda_naive.h: the materialised attention on a GPU: whole matrices of scores, GEMMs by a policy,
 * softmax and its gradient as one kernel each. What simt-naive and cublas-naive share.
 */
#ifndef FB_VARIANTS_CUDA_NAIVE_H
#define FB_VARIANTS_CUDA_NAIVE_H

#include "flashback.h"
#include "kernels/dense/cublas.h"
#include "kernels/dense/softmax.h"

struct fb_cuda_naive {
    int saves_p; /* P is kept from the forward; else made again from lse */
    int (*softmax)(const struct fb_softmax_call *call, void *stream);
    /* c = op(a) op(b), 0 or a status that words() explains. */
    int (*gemm)(void *handle, const struct fb_cublas_gemm *gemm, void *stream);
    const char *(*words)(int status);
};

/* Features and numerics that no such variant offers, or NULL. */
const char *fb_cuda_naive_refuse(const struct fb_problem *problem,
                                 const struct fb_numerics *numerics);

void fb_cuda_naive_sizes(const struct fb_cuda_naive *policy, const struct fb_problem *problem,
                         size_t *saved, size_t *workspace);

enum fb_status fb_cuda_naive_forward(const struct fb_cuda_naive *policy, struct fb_context *ctx,
                                     void *handle, const struct fb_args *args);
enum fb_status fb_cuda_naive_backward(const struct fb_cuda_naive *policy, struct fb_context *ctx,
                                      void *handle, const struct fb_args *args);

#endif
