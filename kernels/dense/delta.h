/* SPDX-License-Identifier: BSD-3-Clause
 *
 * delta.h: the pre-pass that every CUDA variant starts its backward with, callable from C:
 *
 *     delta[b, h, i] = sum_c dout[b, h, i, c] * o[b, h, i, c]  (- dlse[b, h, i])
 */
#ifndef FB_KERNELS_DENSE_DELTA_H
#define FB_KERNELS_DENSE_DELTA_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum fb_cuda_element { FB_CUDA_FP32, FB_CUDA_BF16, FB_CUDA_FP16 };

/* Device pointers; strides over [b, h, n] count elements, may be 0 or negative, and the last
 * dimension of dout and o has stride 1. */
struct fb_cuda_delta {
    enum fb_cuda_element element; /* of dout and o */
    int64_t b, h, n;              /* rows; a 0 among them is a success that writes nothing */
    int64_t d;                    /* elements a row: 1 to 256 */
    const void *dout, *o;
    int64_t dout_stride[3], o_stride[3];
    const float *dlse; /* the gradient that reaches lse, subtracted; NULL: none */
    int64_t dlse_stride[3];
    float *delta; /* out */
    int64_t delta_stride[3];
};

/* Enqueues on stream (a cudaStream_t) and returns 0, or the cudaError_t that says why the launch
 * was not taken: cudaErrorInvalidValue for arguments outside the above,
 * cudaErrorNoKernelImageForDevice where the program was built for other devices. */
int fb_cuda_delta(const struct fb_cuda_delta *call, void *stream);

#ifdef __cplusplus
}
#endif
#endif
