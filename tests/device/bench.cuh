/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the benches of single kernels share: the reference of one key head and its group, the
 * distance to it, whether two calls give the same bits, and timed samples. `call` enqueues the
 * work.
 */
#ifndef FB_TESTS_DEVICE_BENCH_CUH
#define FB_TESTS_DEVICE_BENCH_CUH

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/device/check.cuh"
#include "tests/device/inputs.cuh"
#include "tests/device/reference.cuh"

/* ---- Errors -------------------------------------------------------------------------------- */

/* Room for one head of nq queries and nk keys; dq for all `group` query heads of a key head. */
template <class T>
static void reference_make(reference_head<T> *r, int nq, int nk, int d, int causal, int group)
{
    const size_t pairs = (size_t)nq * nk * 8, q = (size_t)nq * d * 8, k = (size_t)nk * d * 8;

    *r = {};
    r->nq = nq, r->nk = nk, r->d = d, r->causal = causal, r->offset = nk - nq;
    CHECK_CUDA(cudaMalloc(&r->p, pairs));
    CHECK_CUDA(cudaMalloc(&r->ds, pairs));
    CHECK_CUDA(cudaMalloc(&r->delta, (size_t)nq * 8));
    CHECK_CUDA(cudaMalloc(&r->dq, q * group));
    CHECK_CUDA(cudaMalloc(&r->dk, k));
    CHECK_CUDA(cudaMalloc(&r->dv, k));
}

template <class T>
static void reference_free(reference_head<T> *r)
{
    double *const all[] = {r->p, r->ds, r->delta, r->dq, r->dk, r->dv};
    for (double *block : all)
        CHECK_CUDA(cudaFree(block));
}

/* The gradients of a key head and its group; writes o and lse, which the kernel then reads.
 * `place(r, g)` sets the operands of member g. */
template <class T, class PLACE>
static void reference_group(reference_head<T> *r, int group, PLACE place)
{
    double *const dq = r->dq;

    CHECK_CUDA(cudaMemset(r->dk, 0, (size_t)r->nk * r->d * 8));
    CHECK_CUDA(cudaMemset(r->dv, 0, (size_t)r->nk * r->d * 8));
    for (int g = 0; g < group; g++) {
        place(r, g);
        r->dq = dq + (size_t)g * r->nq * r->d;
        reference_forward<T><<<r->nq, 256>>>(*r);
        reference_scores<T><<<r->nq, 256>>>(*r);
        reference_dq<T><<<r->nq, r->d>>>(*r);
        reference_dkv<T><<<r->nk, r->d>>>(*r);
        CHECK_CUDA(cudaGetLastError());
    }
    r->dq = dq;
    CHECK_CUDA(cudaDeviceSynchronize());
}

/* Relative L2; of a reference of zeros, absolute. */
template <class T>
static double distance(head_view<T> x, int rows, int columns, const double *reference)
{
    double *sums, host[2];
    CHECK_CUDA(cudaMalloc(&sums, 16));
    CHECK_CUDA(cudaMemset(sums, 0, 16));
    reference_distance<T><<<64, 256>>>(x, reference, rows, columns, sums);
    CHECK_CUDA(cudaGetLastError());
    CHECK_CUDA(cudaMemcpy(host, sums, 16, cudaMemcpyDeviceToHost));
    CHECK_CUDA(cudaFree(sums));
    return host[1] > 0 ? sqrt(host[0] / host[1]) : sqrt(host[0]);
}

/* ---- Bits ---------------------------------------------------------------------------------- */

struct bytes_of {
    const void *data;
    size_t bytes;
};

/* The same bits after two calls? */
template <class CALL>
static bool repeats(const bytes_of *outputs, int count, CALL call)
{
    size_t all = 0;
    for (int i = 0; i < count; i++)
        all += outputs[i].bytes;
    char *host = (char *)malloc(2 * all), *at = host;
    for (int run = 0; run < 2; run++) {
        call();
        for (int i = 0; i < count; at += outputs[i++].bytes)
            CHECK_CUDA(cudaMemcpy(at, outputs[i].data, outputs[i].bytes, cudaMemcpyDeviceToHost));
    }
    const bool same = memcmp(host, host + all, all) == 0;
    free(host);
    return same;
}

/* ---- Time ---------------------------------------------------------------------------------- */

#define FLUSH_BYTES ((size_t)256 << 20)

/* Events around a call, in ms, after memsets that empty the L2 and a rest. */
template <class CALL>
static double time_once(char *flush, double rest_ms, CALL call)
{
    static cudaEvent_t e[2];
    float ms;

    if (!e[0])
        for (int i = 0; i < 2; i++)
            CHECK_CUDA(cudaEventCreate(&e[i]));
    usleep((useconds_t)(rest_ms * 1000));
    for (int i = 0; i < 4; i++) /* long enough that the host enqueues everything meanwhile */
        CHECK_CUDA(cudaMemsetAsync(flush, 0, FLUSH_BYTES));
    CHECK_CUDA(cudaEventRecord(e[0]));
    call();
    CHECK_CUDA(cudaEventRecord(e[1]));
    CHECK_CUDA(cudaEventSynchronize(e[1]));
    CHECK_CUDA(cudaEventElapsedTime(&ms, e[0], e[1]));
    return ms;
}

static int by_value(const void *a, const void *b)
{
    const double d = *(const double *)a - *(const double *)b;
    return d < 0 ? -1 : d > 0;
}

/* Sorted samples after three calls that are not kept, each after a rest of 20 times a call, but no
 * longer than most_rest_ms. */
template <class CALL>
static void time_samples(double *ms, int count, char *flush, double most_rest_ms, CALL call)
{
    double rest = 1;
    for (int i = -3; i < count; i++) {
        const double once = time_once(flush, rest, call);
        if (i < 0)
            rest = fmin(20 * once, most_rest_ms);
        else
            ms[i] = once;
    }
    qsort(ms, (size_t)count, sizeof *ms, by_value);
}

#endif
