/* SPDX-License-Identifier: BSD-3-Clause
 *
 * gemm_fp32.h: batched GEMM in plain fp32 CUDA, for the materialised variants that use no library.
 */
#ifndef FB_KERNELS_DENSE_GEMM_FP32_H
#define FB_KERNELS_DENSE_GEMM_FP32_H

#include "kernels/dense/cublas.h"

#ifdef __cplusplus
extern "C" {
#endif

/* As fb_cublas_gemm, types fp32 alone, lda and ldb may be 0. Returns 0 or a cudaError_t. */
int fb_gemm_fp32(const struct fb_cublas_gemm *gemm, void *stream);

#ifdef __cplusplus
}
#endif
#endif
