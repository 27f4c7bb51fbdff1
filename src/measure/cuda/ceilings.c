/* SPDX-License-Identifier: BSD-3-Clause
 *
 * ceilings.c: what the device reaches at best, in short bursts as the samples are: a GEMM of
 * cuBLAS in the type at hand on data that is not zero, and a copy within the device's memory.
 */
#include "measure/cuda/ceilings.h"

#include <cuda_runtime_api.h>
#include <math.h>
#include <stdlib.h>

#include "core/problem.h"
#include "core/status.h"
#include "kernels/cuda/device.h"
#include "kernels/dense/cublas.h"
#include "measure/cuda/kernels.h"
#include "measure/cuda/status.h"
#include "measure/cuda/timer.h"
#include "measure/stats.h"

enum { REPEATS = 9, WARMUP = 2 };

/* Nine spans with a rest before each, so that power limits do not meet. */
static enum fb_status spans_of(void *stream, enum fb_status (*call)(void *arg), void *arg,
                               struct fb_stats *stats)
{
    struct fb_timer timer = fb_cuda_timer(stream);
    double sample[REPEATS];
    for (int r = -WARMUP; r < REPEATS; r++) {
        double span;
        fb_clock_sleep(0.01);
        FB_TRY(timer.start(&timer));
        FB_TRY(call(arg));
        FB_TRY(timer.stop(&timer, &span));
        if (r >= 0)
            sample[r] = span;
    }
    *stats = fb_stats_of(sample, REPEATS);
    return FB_OK;
}

/* ---- Copying ------------------------------------------------------------------------------------
 */

struct copying {
    char *from, *to;
    size_t bytes;
    cudaStream_t stream;
};

static enum fb_status call_copy(void *arg)
{
    const struct copying *c = arg;
    return fb_cuda_status(
        (int)cudaMemcpyAsync(c->to, c->from, c->bytes, cudaMemcpyDeviceToDevice, c->stream),
        "copying");
}

/* NaN where a large case has left no room for it. */
static enum fb_status measure_copy(void *stream, double *gbytes)
{
    const size_t room = fb_cuda_device()->memory_bytes / 16, most = (size_t)1 << 30;
    struct copying copying = {.bytes = room < most ? room : most, .stream = stream};
    struct fb_stats spans;
    enum fb_status status = FB_OK;
    *gbytes = NAN;
    if (cudaMalloc((void **)&copying.from, copying.bytes) != cudaSuccess ||
        cudaMalloc((void **)&copying.to, copying.bytes) != cudaSuccess)
        goto out;
    FB_TRY_OUT(spans_of(stream, call_copy, &copying, &spans));
    *gbytes = 2e-9 * (double)copying.bytes / spans.min;
out:
    cudaFree(copying.from);
    cudaFree(copying.to);
    cudaGetLastError(); /* of an allocation that did not fit */
    return status;
}

/* ---- GEMM ---------------------------------------------------------------------------------------
 */

struct multiplying {
    void *handle;
    void *place[3];
    struct fb_cublas_gemm gemm;
};

static enum fb_status call_gemm(void *probe)
{
    const struct multiplying *m = ((struct fb_gemm_probe *)probe)->own;
    int status = fb_cublas_gemm(m->handle, &m->gemm);
    return status ? fb_fail(FB_DEVICE, "the GEMM ceiling: cuBLAS: %s", fb_cublas_words(status))
                  : FB_OK;
}

static void close_gemm(struct fb_gemm_probe *probe)
{
    struct multiplying *m = probe->own;
    for (int i = 0; i < 3; i++)
        cudaFree(m->place[i]);
    fb_cublas_close(m->handle);
    free(m);
}

static enum fb_cublas_type type_of(enum fb_dtype dtype)
{
    return dtype == FB_BF16 ? FB_CUBLAS_BF16 : dtype == FB_FP16 ? FB_CUBLAS_FP16 : FB_CUBLAS_FP32;
}

/* Whether there was room for it. */
static bool make_matrices(struct multiplying *m, enum fb_dtype dtype, int64_t n, void *stream)
{
    const size_t bytes = (size_t)(n * n) * fb_dtype_bytes(dtype);
    bool made = m->handle != NULL;
    for (int i = 0; i < 3 && made; i++)
        made = cudaMalloc(&m->place[i], bytes) == cudaSuccess &&
               !fb_cuda_fill_noise(m->place[i], dtype, n * n, stream);
    cudaGetLastError();
    m->gemm = (struct fb_cublas_gemm){.m = n,
                                      .n = n,
                                      .k = n,
                                      .batch = 1,
                                      .a = m->place[0],
                                      .b = m->place[1],
                                      .c = m->place[2],
                                      .type = type_of(dtype),
                                      .type_c = type_of(dtype),
                                      .lda = n,
                                      .ldb = n,
                                      .ldc = n,
                                      .alpha = 1};
    return made;
}

enum fb_status fb_cuda_probe(void *stream, enum fb_dtype dtype, struct fb_gemm_probe *probe)
{
    const int64_t n = dtype == FB_FP32 ? 4096 : 8192;
    struct multiplying *m = calloc(1, sizeof *m);
    *probe = (struct fb_gemm_probe){0};
    if (!m)
        return fb_fail(FB_NO_MEMORY, "no memory to measure the GEMM ceiling");
    m->handle = fb_cublas_open(stream);
    *probe = (struct fb_gemm_probe){.call = call_gemm,
                                    .close = close_gemm,
                                    .flops = 2.0 * (double)n * (double)n * (double)n,
                                    .own = m};
    if (!make_matrices(m, dtype, n, stream))
        fb_gemm_probe_close(probe);
    return FB_OK;
}

/* NaN without a probe. */
static enum fb_status measure_gemm(void *stream, enum fb_dtype dtype, struct fb_ceilings *ceilings)
{
    struct fb_gemm_probe probe;
    struct fb_stats spans;
    enum fb_status status = FB_OK;
    ceilings->gemm_gflops = ceilings->gemm_best = NAN;
    FB_TRY(fb_cuda_probe(stream, dtype, &probe));
    if (!probe.call)
        return FB_OK;
    FB_TRY_OUT(spans_of(stream, probe.call, &probe, &spans));
    ceilings->gemm_gflops = fb_gemm_probe_gflops(&probe, spans.median);
    ceilings->gemm_best = fb_gemm_probe_gflops(&probe, spans.min);
out:
    fb_gemm_probe_close(&probe);
    return status;
}

/* ---- Launching ----------------------------------------------------------------------------------
 */

static enum fb_status call_empty(void *stream)
{
    return fb_cuda_status(fb_cuda_launch_empty(stream), "an empty kernel");
}

enum fb_status fb_cuda_ceilings(void *stream, enum fb_dtype dtype, struct fb_ceilings *ceilings)
{
    struct fb_stats spans;
    FB_TRY(measure_gemm(stream, dtype, ceilings));
    FB_TRY(measure_copy(stream, &ceilings->copy_gbytes));
    FB_TRY(spans_of(stream, call_empty, stream, &spans));
    ceilings->launch_us = 1e6 * spans.median;
    ceilings->gemm = fb_cublas_why_not() ? "none" : "cuBLAS";
    return FB_OK;
}
