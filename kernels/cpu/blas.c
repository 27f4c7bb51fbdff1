/* SPDX-License-Identifier: BSD-3-Clause
 *
 * blas.c: the only file that includes cblas.h.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "kernels/cpu/blas.h"

#include <stdio.h>
#include <string.h>

#ifdef HAVE_CBLAS
#include <cblas.h>
#endif

/* Weak, so that any CBLAS will do: only OpenBLAS has them. */
extern void openblas_set_num_threads(int) __attribute__((weak));
extern int openblas_get_num_threads(void) __attribute__((weak));
extern char *openblas_get_corename(void) __attribute__((weak));

bool fb_cpu_blas_present(void)
{
#ifdef HAVE_CBLAS
    return true;
#else
    return false;
#endif
}

const char *fb_cpu_blas_refuse(int64_t rows, int64_t columns)
{
    if (!fb_cpu_blas_present())
        return "built without a CBLAS";
    if (rows > INT32_MAX || columns > INT32_MAX)
        return "nq and nk must be below 2^31 for the BLAS";
    return NULL;
}

void fb_cpu_blas_gemm(const struct fb_cpu_blas_gemm *g)
{
#ifdef HAVE_CBLAS
    if (g->m == 0 || g->n == 0)
        return;
    if (g->k == 0) { /* an empty sum; its operands have no valid row length */
        for (int64_t i = 0; !g->add && i < g->m; i++)
            memset(g->c + i * g->ldc, 0, (size_t)g->n * sizeof *g->c);
        return;
    }
    cblas_sgemm(CblasRowMajor, g->at ? CblasTrans : CblasNoTrans, g->bt ? CblasTrans : CblasNoTrans,
                (int)g->m, (int)g->n, (int)g->k, 1.0f, g->a, (int)g->lda, g->b, (int)g->ldb,
                g->add ? 1.0f : 0.0f, g->c, (int)g->ldc);
#else
    (void)g;
#endif
}

int fb_cpu_blas_threads(int threads)
{
    if (!openblas_set_num_threads || !openblas_get_num_threads)
        return 0;
    const int before = openblas_get_num_threads();
    if (threads > 0 && threads != before)
        openblas_set_num_threads(threads);
    return before;
}

const char *fb_cpu_blas_name(void)
{
    static char name[64];
    if (!fb_cpu_blas_present())
        return "none";
    if (!openblas_get_corename)
        return "cblas";
    snprintf(name, sizeof name, "openblas %s", openblas_get_corename());
    return name;
}
