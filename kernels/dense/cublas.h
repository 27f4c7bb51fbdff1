/* SPDX-License-Identifier: BSD-3-Clause
 *
 * cublas.h: the part of cuBLAS that is used, loaded at run time, so that the program starts where
 * there is none. FLASHBACK_CUBLAS names the library; else the loader's own places are searched for
 * libcublas.so.13, .12, .11, and then the CUDA toolkit's usual folder.
 *
 * Matrices are column-major as cuBLAS has them. struct fb_cublas_gemm is row-major and turned
 * round.
 */
#ifndef FB_KERNELS_DENSE_CUBLAS_H
#define FB_KERNELS_DENSE_CUBLAS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum fb_cublas_type { FB_CUBLAS_FP32, FB_CUBLAS_BF16, FB_CUBLAS_FP16, FB_CUBLAS_FP64 };

/* NULL where cuBLAS is loaded, else why not, one line. */
const char *fb_cublas_why_not(void);

/* "13.1.0" */
const char *fb_cublas_version(void);

/* A handle on a stream of the present device; it takes device memory of its own. NULL on failure.
 */
void *fb_cublas_open(void *stream);
void fb_cublas_close(void *handle);

/* For each of `batch` problems, row-major: c[m, n] = alpha op(a) op(b) + beta c, where op(a) is
 * [m, k] and op(b) [k, n]; a_turned: a is stored [k, m]. ld counts elements from row to row of the
 * stored matrix, step from one problem to the next. Products are summed in fp32 (fp64 for fp64);
 * fp32 operands are not rounded to TF32. */
struct fb_cublas_gemm {
    int64_t m, n, k, batch;
    const void *a, *b;
    void *c;
    enum fb_cublas_type type;   /* of a and b */
    enum fb_cublas_type type_c; /* the same, or fp32 */
    int a_turned, b_turned;
    int64_t lda, ldb, ldc;
    int64_t step_a, step_b, step_c;
    double alpha, beta;
};

/* 0, or a cublasStatus_t; -1: a size beyond 2^31 - 1, which cuBLAS does not take. */
int fb_cublas_gemm(void *handle, const struct fb_cublas_gemm *gemm);

/* What a status means, for messages. */
const char *fb_cublas_words(int status);

#ifdef __cplusplus
}
#endif
#endif
