/* SPDX-License-Identifier: BSD-3-Clause
 *
 * softmax.h: softmax of whole rows of scores and its gradient, for the variants that materialise
 * them. Callable from C; each call enqueues one kernel and returns 0 or a cudaError_t.
 */
#ifndef FB_KERNELS_DENSE_SOFTMAX_H
#define FB_KERNELS_DENSE_SOFTMAX_H

#include <stdint.h>

#include "kernels/dense/delta.h" /* enum fb_cuda_element */

#ifdef __cplusplus
extern "C" {
#endif

/* For each of `heads` heads a matrix [nq, nk], row after row; head_* are the elements from one head
 * to the next. Query i sees key j when i + lo <= j <= i + hi. */
struct fb_softmax_call {
    int64_t heads, nq, nk, lo, hi;
    enum fb_cuda_element element; /* of p and ds */
    const float *s;               /* scaled scores */
    int64_t head_s;
    void *p;
    int64_t head_p;
    float *lse; /* written by the forward; read where p is made again */
    int64_t head_lse, row_lse;
    /* The gradient: ds = p (dp - delta). ds may be p or dp itself where the types are the same. */
    const float *dp;
    int64_t head_dp;
    void *ds;
    int64_t head_ds;
    const float *delta; /* rows next to each other */
    int64_t head_delta;
};

/* p and lse from s. p may be s itself in fp32. One block a row, which it reads twice: once for
 * maximum and sum together (online), once to write. */
int fb_softmax_online(const struct fb_softmax_call *call, void *stream);

/* The same as it is first written down, fp32 in place: a thread a row, which it reads three times:
 * maximum, sum, division. */
int fb_softmax_plain(const struct fb_softmax_call *call, void *stream);

/* ds from p, dp and delta. */
int fb_softmax_gradient(const struct fb_softmax_call *call, void *stream);

/* p again, from s and lse, and ds with it. */
int fb_softmax_gradient_again(const struct fb_softmax_call *call, void *stream);

/* out[head][i][c] = in[head][i][c] in another type: heads x n rows of `width`, strides in elements.
 */
struct fb_convert_call {
    int64_t heads, n, width;
    const float *in;
    int64_t head_in, row_in;
    enum fb_cuda_element element;
    void *out;
    int64_t head_out, row_out;
};
int fb_convert_rows(const struct fb_convert_call *call, void *stream);

#ifdef __cplusplus
}
#endif
#endif
