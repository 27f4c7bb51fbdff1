/* SPDX-License-Identifier: BSD-3-Clause */
#include "measure/ceilings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#ifdef HAVE_CBLAS
#include <cblas.h>
#endif

#include "core/status.h"
#include "measure/stats.h"
#include "measure/timer.h"

enum { GEMM_SIZE = 1024, REPEATS = 9 };

#ifdef HAVE_CBLAS
static enum fb_status measure_gemm(struct fb_ceilings *ceilings, int threads)
{
    const size_t elements = (size_t)GEMM_SIZE * GEMM_SIZE;
    float *matrices = malloc(3 * elements * sizeof *matrices);
    double seconds[REPEATS];
    if (!matrices)
        return fb_fail(FB_NO_MEMORY, "no memory to measure the GEMM ceiling");
    for (size_t i = 0; i < 3 * elements; i++)
        matrices[i] = (float)(i * 2654435761u % 1021) / 1021 - 0.5f;
    int before = openblas_get_num_threads();
    openblas_set_num_threads(threads);
    for (int r = -2; r < REPEATS; r++) { /* two calls to warm up */
        double start = fb_clock_now();
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, GEMM_SIZE, GEMM_SIZE, GEMM_SIZE, 1,
                    matrices, GEMM_SIZE, matrices + elements, GEMM_SIZE, 0,
                    matrices + 2 * elements, GEMM_SIZE);
        if (r >= 0)
            seconds[r] = fb_clock_now() - start;
    }
    openblas_set_num_threads(before);
    free(matrices);
    ceilings->gemm = "openblas";
    ceilings->gemm_gflops =
        2e-9 * GEMM_SIZE * GEMM_SIZE * GEMM_SIZE / fb_stats_of(seconds, REPEATS).median;
    return FB_OK;
}
#else
static enum fb_status measure_gemm(struct fb_ceilings *ceilings, int threads)
{
    (void)threads;
    ceilings->gemm = "none";
    ceilings->gemm_gflops = NAN;
    return FB_OK;
}
#endif

/* Each thread copies its own stretch of a block that no cache holds. */
static void copy_all(char *to, const char *from, size_t bytes, int threads)
{
    const size_t share = bytes / (size_t)threads;
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (int t = 0; t < threads; t++)
        memcpy(to + (size_t)t * share, from + (size_t)t * share, share);
}

static enum fb_status measure_copy(struct fb_ceilings *ceilings, int threads)
{
    const size_t bytes = fb_flush_bytes();
    char *block = malloc(2 * bytes);
    double seconds[REPEATS];
    if (!block)
        return fb_fail(FB_NO_MEMORY, "no memory to measure the copy bandwidth");
    memset(block, 1, 2 * bytes);
    for (int r = 0; r < REPEATS; r++) {
        double start = fb_clock_now();
        copy_all(block + bytes, block, bytes, threads);
        seconds[r] = fb_clock_now() - start;
    }
    free(block);
    ceilings->copy_gbytes = 2e-9 * (double)bytes / fb_stats_of(seconds, REPEATS).median;
    return FB_OK;
}

enum fb_status fb_ceilings_measure(struct fb_ceilings *ceilings, int threads)
{
    FB_TRY(measure_gemm(ceilings, threads));
    FB_TRY(measure_copy(ceilings, threads));
    ceilings->threads = threads;
    return FB_OK;
}
