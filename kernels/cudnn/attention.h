/* SPDX-License-Identifier: BSD-3-Clause
 *
 * attention.h: the forward and the backward of attention as operation graphs that the fused engines
 * of cuDNN recognise. The engines match patterns: an operation more or less, or a tensor of another
 * type, and there is no engine, or one with other numbers, so the forms below are kept as they are.
 */
#ifndef FB_KERNELS_CUDNN_ATTENTION_H
#define FB_KERNELS_CUDNN_ATTENTION_H

#include "kernels/cudnn/graph.h"

enum fb_cudnn_pass {
    FB_CUDNN_FORWARD,
    FB_CUDNN_BACKWARD,              /* dq summed in dq_accum, in any order */
    FB_CUDNN_BACKWARD_DETERMINISTIC /* dq in one matmul, of a dS that lies in the workspace */
};

/* Tensors in device memory. */
enum fb_cudnn_role {
    FB_CUDNN_Q,
    FB_CUDNN_K,
    FB_CUDNN_V,
    FB_CUDNN_O,
    FB_CUDNN_LSE,
    FB_CUDNN_DOUT,
    FB_CUDNN_DQ,
    FB_CUDNN_DK,
    FB_CUDNN_DV,
    FB_CUDNN_DELTA,    /* fp32 [b, h, nq], scratch */
    FB_CUDNN_DQ_ACCUM, /* fp32 [b, h, nq, d], scratch, not with the deterministic pass */
    FB_CUDNN_ROLES
};

#define FB_CUDNN_ROLES_GIVEN FB_CUDNN_DELTA /* those before it have strides of their own */
#define FB_CUDNN_OPEN INT64_MIN             /* no bound on that side */

/* One problem in plain numbers. Members of 8 bytes only: compared as bytes. */
struct fb_cudnn_attention {
    int64_t pass; /* enum fb_cudnn_pass */
    int64_t bf16; /* 1: bf16, 0: fp16 */
    int64_t b, h, hk, nq, nk, d, dv;
    /* Query i sees the keys i - left ... i + right (counted from the first key). */
    int64_t left, right;
    double scale;
    int64_t stride[FB_CUDNN_ROLES_GIVEN][3]; /* of b, h and n; that of d is 1 */
};

/* Enters the operations. Real tensors have the uid role + 1. */
void fb_cudnn_attention_build(struct fb_cudnn_graph *graph, const struct fb_cudnn_attention *what);

/* Does this pass read or write that tensor? */
bool fb_cudnn_attention_uses(const struct fb_cudnn_attention *what, enum fb_cudnn_role role);

#endif
