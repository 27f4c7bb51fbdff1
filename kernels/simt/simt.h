/* SPDX-License-Identifier: BSD-3-Clause
 *
 * simt.h: attention in plain fp32 CUDA, for any device: no tensor cores; copies go by while others
 * work where the device can.
 * Callable from C. Each call enqueues one kernel and returns 0 or the cudaError_t of the launch.
 */
#ifndef FB_KERNELS_SIMT_SIMT_H
#define FB_KERNELS_SIMT_SIMT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* [b, h, n, .]; strides count elements, may be 0, and the last dimension has stride 1. */
struct fb_simt_view {
    float *data;
    int64_t stride[3];
};

struct fb_simt_call {
    int64_t b, h, hk, nq, nk; /* query head i reads key head i / (h / hk) */
    int d, dv;                /* 1 to 256 */
    float scale;
    int64_t lo, hi; /* query i sees key j when i + lo <= j <= i + hi */
    struct fb_simt_view q, k, v, o, lse, dout, grad_q, grad_k, grad_v;
    float *delta; /* [b, h, nq] */
    /* [b, h, nq] each, both or none: maximum and sum of every row's softmax. The forward writes
     * them; a backward that has them reads them in the place of lse. */
    float *row_max, *row_sum;
    int paired; /* set at the launch: all blocks run at once, two an SM */
};

enum fb_simt_kernel {
    FB_SIMT_FORWARD,    /* o, lse, and row_max, row_sum where asked for */
    FB_SIMT_KEYS,       /* dk and dv, a key tile a block */
    FB_SIMT_KEYS_ADD_Q, /* the same, and dq by atomic additions into what is there */
    FB_SIMT_QUERIES,    /* dq, a query tile a block */
    FB_SIMT_KERNELS
};

/* Rows of a tile (queries and keys alike) that a block of `shared` bytes of shared memory holds at
 * head size max(d, dv); 0: none, or the program has no kernel for that head size. */
int fb_simt_rows(int width, size_t shared);

/* The largest head size the program was built for (--with-head-dims). */
int fb_simt_widest(void);

int fb_simt_launch(enum fb_simt_kernel which, const struct fb_simt_call *call, size_t shared,
                   void *stream);

/* Zeros into [b, h, n, width] of a view. */
int fb_simt_clear(const struct fb_simt_view *view, int64_t b, int64_t h, int64_t n, int64_t width,
                  void *stream);

#ifdef __cplusplus
}
#endif
#endif
