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
#include "core/host/blas.h"
#include "measure/memory.h"
#include "measure/stats.h"
#include "measure/timer.h"

/* Four GEMMs a call, so that caches that a flush emptied weigh no more on it than on a variant. */
enum { GEMM_SIZE = 1024, GEMMS = 4, REPEATS = 9 };

#ifdef HAVE_CBLAS
/* Threads the BLAS uses from now on; gives how many it used before. Only OpenBLAS can be told; any
 * other CBLAS runs with what its own environment says. */
static int set_blas_threads(int threads)
{
#ifdef HAVE_OPENBLAS_SET_NUM_THREADS
    int before = openblas_get_num_threads();
    openblas_set_num_threads(threads);
    return before;
#else
    return threads;
#endif
}

static void call_gemm(float *matrices)
{
    const size_t elements = (size_t)GEMM_SIZE * GEMM_SIZE;
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, GEMM_SIZE, GEMM_SIZE, GEMM_SIZE, 1,
                matrices, GEMM_SIZE, matrices + elements, GEMM_SIZE, 0, matrices + 2 * elements,
                GEMM_SIZE);
}

static enum fb_status call_probe(void *probe)
{
    const struct fb_gemm_probe *p = probe;
    int before = set_blas_threads(p->threads);
    for (int i = 0; i < GEMMS; i++)
        call_gemm(p->own);
    set_blas_threads(before);
    return FB_OK;
}

static void close_probe(struct fb_gemm_probe *probe)
{
    free(probe->own);
}

enum fb_status fb_gemm_probe_open(struct fb_gemm_probe *probe, int threads)
{
    const size_t elements = (size_t)GEMM_SIZE * GEMM_SIZE;
    float *matrices = malloc(3 * elements * sizeof *matrices);
    *probe = (struct fb_gemm_probe){0};
    if (!matrices)
        return fb_fail(FB_NO_MEMORY, "no memory to measure the GEMM ceiling");
    for (size_t i = 0; i < 3 * elements; i++)
        matrices[i] = (float)(i * 2654435761u % 1021) / 1021 - 0.5f;
    *probe = (struct fb_gemm_probe){.call = call_probe,
                                    .close = close_probe,
                                    .flops = 2.0 * GEMMS * GEMM_SIZE * GEMM_SIZE * GEMM_SIZE,
                                    .own = matrices,
                                    .threads = threads};
    return FB_OK;
}
#else
enum fb_status fb_gemm_probe_open(struct fb_gemm_probe *probe, int threads)
{
    *probe = (struct fb_gemm_probe){.threads = threads};
    return FB_OK;
}
#endif

void fb_gemm_probe_close(struct fb_gemm_probe *probe)
{
    if (probe->close)
        probe->close(probe);
    *probe = (struct fb_gemm_probe){0};
}

double fb_gemm_probe_gflops(const struct fb_gemm_probe *probe, double seconds)
{
    return 1e-9 * probe->flops / seconds;
}

static enum fb_status measure_gemm(struct fb_ceilings *ceilings, int threads)
{
    struct fb_gemm_probe probe;
    double seconds[REPEATS];
    enum fb_status status;
    ceilings->gemm = fb_blas_core();
    ceilings->gemm_gflops = ceilings->gemm_best = NAN;
    FB_TRY(fb_gemm_probe_open(&probe, threads));
    if (!probe.call)
        return FB_OK;
    for (int r = -2; r < REPEATS; r++) { /* two calls to warm up */
        double start = fb_clock_now();
        FB_TRY_OUT(probe.call(&probe));
        if (r >= 0)
            seconds[r] = fb_clock_now() - start;
    }
    const struct fb_stats stats = fb_stats_of(seconds, REPEATS);
    ceilings->gemm_gflops = fb_gemm_probe_gflops(&probe, stats.median);
    ceilings->gemm_best = fb_gemm_probe_gflops(&probe, stats.min);
out:
    fb_gemm_probe_close(&probe);
    return status;
}

/* Each thread copies its own stretch, and touched it first, so that it lies near it. */
static void copy_all(char *to, const char *from, size_t bytes, int threads)
{
    const size_t share = bytes / (size_t)threads;
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (int t = 0; t < threads; t++)
        memcpy(to + (size_t)t * share, from + (size_t)t * share, share);
}

static void touch_all(char *data, size_t bytes, int threads)
{
    const size_t share = bytes / (size_t)threads;
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (int t = 0; t < threads; t++)
        memset(data + (size_t)t * share, 1, share);
}

/* Larger than the caches, but both sides together take at most an eighth of the free memory. */
static size_t copy_bytes(void)
{
    size_t bytes = fb_flush_bytes();
    uint64_t room = fb_memory_available() / 16;
    return room && bytes > room ? (size_t)room : bytes;
}

static enum fb_status measure_copy(struct fb_ceilings *ceilings, int threads)
{
    const size_t unit = 64 * (size_t)threads, bytes = copy_bytes() / unit * unit;
    double seconds[REPEATS];
    char *from = malloc(bytes), *to = malloc(bytes);
    enum fb_status status = FB_OK;
    if (!from || !to) {
        status = fb_fail(FB_NO_MEMORY, "no memory to measure the copy bandwidth");
        goto out;
    }
    touch_all(from, bytes, threads);
    touch_all(to, bytes, threads);
    for (int r = 0; r < REPEATS; r++) {
        double start = fb_clock_now();
        copy_all(to, from, bytes, threads);
        seconds[r] = fb_clock_now() - start;
    }
    ceilings->copy_gbytes = 2e-9 * (double)bytes / fb_stats_of(seconds, REPEATS).min;
out:
    free(from);
    free(to);
    return status;
}

enum fb_status fb_ceilings_measure(struct fb_ceilings *ceilings, int threads)
{
    if (threads < 1)
        threads = 1;
    FB_TRY(measure_gemm(ceilings, threads));
    FB_TRY(measure_copy(ceilings, threads));
    ceilings->threads = threads;
    ceilings->launch_us = NAN;
    return FB_OK;
}
