/* SPDX-License-Identifier: BSD-3-Clause
 *
 * blas.h: single-precision GEMM from the system's CBLAS, for the materialised baseline. Row-major.
 * Everything that names a BLAS is in blas.c, so that a build without one differs in that file only.
 */
#ifndef FB_CPU_BLAS_H
#define FB_CPU_BLAS_H

#include <stdbool.h>
#include <stdint.h>

/* Was the program built with a CBLAS? */
bool fb_cpu_blas_present(void);

/* NULL if GEMMs of these sizes fit the BLAS's 32-bit integers, else the reason. */
const char *fb_cpu_blas_refuse(int64_t rows, int64_t columns);

/* c[m][n] = a b + (add ? c : 0), where a is [m][k], or [k][m] with at, and b is [k][n], or [n][k]
 * with bt. Leading dimensions are row lengths. */
struct fb_cpu_blas_gemm {
    int64_t m, n, k;
    const float *a, *b;
    float *c;
    int64_t lda, ldb, ldc;
    bool at, bt, add;
};

void fb_cpu_blas_gemm(const struct fb_cpu_blas_gemm *gemm);

/* Threads that one GEMM call may use from now on; gives what it was. 1 inside a parallel region:
 * threads times threads would fight for the processors. 0 where the BLAS cannot be told. */
int fb_cpu_blas_threads(int threads);

/* "openblas SkylakeX", say: the library and the kernels it chose for this processor, so far as it
 * tells; "cblas"; "none". For the record: an OpenBLAS older than the processor falls back to
 * kernels for SSE3 ("Prescott"), a fifth of the speed. */
const char *fb_cpu_blas_name(void);

#endif
