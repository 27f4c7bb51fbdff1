/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Checks, then times, one configuration of the sm_90a backward (chosen by -D at compile time):
 *   bench_sm90 check            many small and odd shapes against the fp64 reference
 *   bench_sm90 time N [GROUP]   16,384 tokens at length N, 2048/d heads, one head checked first
 * A timed sample is events around the three launches, after 256 MiB memsets outside the span and
 * a rest of 20 times the sample; the median of 9 is printed, with the spread.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/cuda/bwd_sm90_wide_launch.cuh"
#include "kernels/cuda/sm90_unit.h"
#include "tests/device/inputs.cuh"
#include "tests/device/reference.cuh"

#ifndef BENCH_T
#define BENCH_T __nv_bfloat16
#define BENCH_D 128
#define BENCH_M 64
#define BENCH_CAUSAL false
#define BENCH_LAG 0
#define BENCH_EARLY 0
#endif
#ifndef BENCH_POLICY
#define BENCH_POLICY DQ_ANY_ORDER
#endif
#ifndef BENCH_NAME
#define BENCH_NAME "default"
#endif

#ifndef BENCH_KEPT
#define BENCH_KEPT 8
#endif
#ifndef BENCH_MOST
#define BENCH_MOST 0 /* D = 256: CTAs that stay for all key tiles, 0 for one a key tile */
#endif

using namespace fb;
using T = BENCH_T;
#if BENCH_D == 256
using C = wide_sm90_config<BENCH_T, BENCH_CAUSAL, BENCH_KEPT>;
#else
using C = bwd_sm90_config<BENCH_T, BENCH_D, BENCH_M, BENCH_CAUSAL, schedule<BENCH_LAG, BENCH_EARLY>,
                          BENCH_POLICY>;
#endif

struct shape {
    int b, h, hk, nq, nk, bshd;
    float shift; /* mean of k, and minus that of q: LSE falls to about -shift^2 sqrt(d) */
};

struct data {
    shape s;
    sm90_call p;
    float *lse;
    size_t q_count, k_count, workspace;
};

/* The unit form is compiled apart (kernels/cuda/sm90_unit_kernels.cu) in its shipped tiles. */
static size_t workspace_bytes(const shape &s)
{
    if constexpr (C::UNIT)
        return unit_sm90<C::D>::workspace_bytes(s.b, s.h, s.nq);
    else
        return bwd_workspace_bytes<C>(s.b, s.h, s.hk, s.nq, s.nk);
}

static cudaError_t enqueue(const sm90_call &p)
{
#if BENCH_D == 256
    return wide_sm90_enqueue<C, wide_dq_config<T, BENCH_CAUSAL>>(p, BENCH_MOST);
#else
    if constexpr (C::UNIT)
        return unit_sm90<C::D>::enqueue(elem<T>::is_bf16, C::CAUSAL, p);
    else
        return bwd_sm90_enqueue<C>(p);
#endif
}

/* What the policy takes: a unit is one head of two to 1,024 rows. */
static bool takes(const shape &s)
{
    return !C::UNIT || (s.h == s.hk && s.nq > C::M && s.nq <= unit_rows);
}

static tensor4 tensor_make(const shape &s, bool key, size_t *count)
{
    int h = key ? s.hk : s.h, n = key ? s.nk : s.nq, d = C::D;
    tensor4 t = {nullptr, s.b, h, n, d, (int64_t)h * n * d, (int64_t)n * d, d};

    if (s.bshd)
        t.stride_head = d, t.stride_row = (int64_t)h * d;
    *count = (size_t)s.b * h * n * d;
    CHECK_CUDA(cudaMalloc(&t.data, *count * 2));
    return t;
}

static void data_make(data *x, const shape &s)
{
    sm90_call &p = x->p;
    size_t n;

    x->s = s, p = {};
    p.q = tensor_make(s, false, &x->q_count), p.o = tensor_make(s, false, &n);
    p.dout = tensor_make(s, false, &n), p.dq = tensor_make(s, false, &n);
    p.k = tensor_make(s, true, &x->k_count), p.v = tensor_make(s, true, &n);
    p.dk = tensor_make(s, true, &n), p.dv = tensor_make(s, true, &n);
    n = (size_t)s.b * s.h * s.nq;
    CHECK_CUDA(cudaMalloc(&x->lse, n * 4));
    fill_normal<<<1024, 256>>>((T *)p.q.data, x->q_count, 1, 1, -s.shift);
    fill_normal<<<1024, 256>>>((T *)p.k.data, x->k_count, 2, 1, s.shift);
    fill_normal<<<1024, 256>>>((T *)p.v.data, x->k_count, 3, 1, 0);
    fill_normal<<<1024, 256>>>((T *)p.dout.data, x->q_count, 4, 1, 0);
    fill_normal<<<1024, 256>>>((T *)p.o.data, x->q_count, 5, 1.6f / sqrtf(s.nk), 0);
    fill_lse<<<1024, 256>>>(x->lse, n, s.nq, s.nk, C::CAUSAL);
    x->workspace = workspace_bytes(s);
    CHECK_CUDA(cudaMalloc(&p.workspace, x->workspace));
    p.lse = x->lse, p.lse_batch = (int64_t)s.h * s.nq, p.lse_head = s.nq, p.lse_row = 1;
    p.offset = s.nk - s.nq, p.scale = 1 / sqrtf(C::D);
}

static void data_free(data *x)
{
    tensor4 *all[] = {&x->p.q, &x->p.k, &x->p.v, &x->p.o, &x->p.dout, &x->p.dq, &x->p.dk, &x->p.dv};
    for (tensor4 *t : all)
        CHECK_CUDA(cudaFree(t->data));
    CHECK_CUDA(cudaFree(x->lse));
    CHECK_CUDA(cudaFree(x->p.workspace));
}

static head_view<T> view(const tensor4 &t, int b, int h)
{
    return {(T *)t.data + b * t.stride_batch + h * t.stride_head, t.stride_row};
}

static double distance(const tensor4 &t, int b, int h, const double *ref)
{
    double *sums, host[2];
    CHECK_CUDA(cudaMalloc(&sums, 16));
    CHECK_CUDA(cudaMemset(sums, 0, 16));
    reference_distance<T><<<64, 256>>>(view(t, b, h), ref, t.row, t.col, sums);
    CHECK_CUDA(cudaMemcpy(host, sums, 16, cudaMemcpyDeviceToHost));
    CHECK_CUDA(cudaFree(sums));
    return host[1] > 0 ? sqrt(host[0] / host[1]) : sqrt(host[0]);
}

static void poison(data *x)
{
    CHECK_CUDA(cudaMemset(x->p.workspace, 0xff, x->workspace));
    CHECK_CUDA(cudaMemset(x->p.dq.data, 0xff, x->q_count * 2));
    CHECK_CUDA(cudaMemset(x->p.dk.data, 0xff, x->k_count * 2));
    CHECK_CUDA(cudaMemset(x->p.dv.data, 0xff, x->k_count * 2));
}

static void reference_init(reference_head<T> *r, const data &x)
{
    const shape &s = x.s;
    r->nq = s.nq, r->nk = s.nk, r->d = C::D, r->causal = C::CAUSAL, r->scale = x.p.scale;
    r->o64 = nullptr, r->offset = s.nk - s.nq;
    CHECK_CUDA(cudaMalloc(&r->p, (size_t)s.nq * s.nk * 8));
    CHECK_CUDA(cudaMalloc(&r->ds, (size_t)s.nq * s.nk * 8));
    CHECK_CUDA(cudaMalloc(&r->delta, s.nq * 8));
    CHECK_CUDA(cudaMalloc(&r->dq, (size_t)s.nq * C::D * 8 * (s.h / s.hk)));
    CHECK_CUDA(cudaMalloc(&r->dk, (size_t)s.nk * C::D * 8));
    CHECK_CUDA(cudaMalloc(&r->dv, (size_t)s.nk * C::D * 8));
}

static void reference_free(reference_head<T> *r)
{
    double *all[] = {r->p, r->ds, r->delta, r->dq, r->dk, r->dv};
    for (double *p : all)
        CHECK_CUDA(cudaFree(p));
}

/* The reference of one key head and its group; writes o and lse, which the kernel then reads. */
static void reference_group(reference_head<T> *r, data *x, int b, int kh)
{
    const shape &s = x->s;
    double *dq = r->dq;

    CHECK_CUDA(cudaMemset(r->dk, 0, (size_t)s.nk * C::D * 8));
    CHECK_CUDA(cudaMemset(r->dv, 0, (size_t)s.nk * C::D * 8));
    for (int g = 0; g < s.h / s.hk; g++) {
        int h = kh * (s.h / s.hk) + g;
        r->q = view(x->p.q, b, h), r->o = view(x->p.o, b, h), r->dout = view(x->p.dout, b, h);
        r->k = view(x->p.k, b, kh), r->v = view(x->p.v, b, kh);
        r->lse = x->lse + ((size_t)b * s.h + h) * s.nq;
        r->dq = dq + (size_t)g * s.nq * C::D;
        reference_forward<T><<<s.nq, 256>>>(*r);
        reference_scores<T><<<s.nq, 256>>>(*r);
        reference_dq<T><<<s.nq, C::D>>>(*r);
        reference_dkv<T><<<s.nk, C::D>>>(*r);
    }
    r->dq = dq;
    CHECK_CUDA(cudaDeviceSynchronize());
}

/* Worst relative L2 error of dQ, dK, dV over the key heads [first, last) of every batch entry. */
static void errors(data *x, int heads, double worst[3])
{
    reference_head<T> r;

    reference_init(&r, *x);
    worst[0] = worst[1] = worst[2] = 0;
    for (int b = 0; b < x->s.b; b += heads ? x->s.b : 1)
        for (int kh = 0; kh < (heads ? heads : x->s.hk); kh++) {
            int group = x->s.h / x->s.hk;
            reference_group(&r, x, b, kh);
            poison(x);
            CHECK_CUDA(enqueue(x->p));
            CHECK_CUDA(cudaDeviceSynchronize());
            double e[3] = {0, distance(x->p.dk, b, kh, r.dk), distance(x->p.dv, b, kh, r.dv)};
            for (int g = 0; g < group; g++) {
                double q = distance(x->p.dq, b, kh * group + g, r.dq + (size_t)g * x->s.nq * C::D);
                e[0] = check_worse(e[0], q);
            }
            for (int i = 0; i < 3; i++)
                worst[i] = check_worse(worst[i], e[i]);
        }
    reference_free(&r);
}

/* With a shift, dQ and dK sum dS against a mean that cancels exactly only in exact arithmetic. */
static bool errors_fine(const shape &s, const double e[3])
{
    double limit = (elem<T>::is_bf16 ? 5e-3 : 7e-4) * (1 + 2 * s.shift);
    return e[0] < limit && e[1] < limit && e[2] < limit;
}

/* Two runs give the same bits: dK and dV always, dQ too unless it is added to in any order. */
static bool repeats(data *x)
{
    const bool with_dq = C::ORDERED || C::UNIT || !C::WITH_DQ;
    size_t k = x->k_count * 2, q = with_dq ? x->q_count * 2 : 0, bytes = 2 * k + q;
    char *host = (char *)malloc(2 * bytes);
    for (int i = 0; i < 2; i++) {
        char *at = host + i * bytes;
        poison(x);
        CHECK_CUDA(enqueue(x->p));
        CHECK_CUDA(cudaMemcpy(at, x->p.dk.data, k, cudaMemcpyDeviceToHost));
        CHECK_CUDA(cudaMemcpy(at + k, x->p.dv.data, k, cudaMemcpyDeviceToHost));
        CHECK_CUDA(cudaMemcpy(at + 2 * k, x->p.dq.data, q, cudaMemcpyDeviceToHost));
    }
    bool same = memcmp(host, host + bytes, bytes) == 0;
    free(host);
    return same;
}

static void check_shape(const shape &s)
{
    char text[160];
    double e[3];
    data x;

    data_make(&x, s);
    errors(&x, 0, e);
    bool same = repeats(&x);
    snprintf(text, sizeof text,
             "%s b%d h%d:%d nq%d nk%d %s shift %g dq %.2e dk %.2e dv %.2e repeat %d", BENCH_NAME,
             s.b, s.h, s.hk, s.nq, s.nk, s.bshd ? "bshd" : "bhsd", s.shift, e[0], e[1], e[2], same);
    check_report(errors_fine(s, e) && same, text, e[0]);
    data_free(&x);
}

static int by_value(const void *a, const void *b)
{
    double d = *(const double *)a - *(const double *)b;
    return d < 0 ? -1 : d > 0;
}

static double time_once(data *x, char *flush, double rest_ms)
{
    static cudaEvent_t e[2];
    float ms;

    if (!e[0])
        for (int i = 0; i < 2; i++)
            CHECK_CUDA(cudaEventCreate(&e[i]));
    usleep((useconds_t)(rest_ms * 1000));
    for (int i = 0; i < 4; i++) /* long enough that the host enqueues everything meanwhile */
        CHECK_CUDA(cudaMemsetAsync(flush, 0, 256 << 20));
    CHECK_CUDA(cudaEventRecord(e[0]));
    CHECK_CUDA(enqueue(x->p));
    CHECK_CUDA(cudaEventRecord(e[1]));
    CHECK_CUDA(cudaEventSynchronize(e[1]));
    CHECK_CUDA(cudaEventElapsedTime(&ms, e[0], e[1]));
    return ms;
}

static int time_shape(int n, int groups)
{
    shape s = {16384 / n, 2048 / C::D, 2048 / C::D / groups, n, n, 0};
    double e[3], ms[9], flops = 10.0 * s.b * s.h * (double)n * n * C::D;
    char *flush;
    data x;

    if (C::CAUSAL)
        flops *= (n + 1.0) / (2.0 * n);
    data_make(&x, s);
    errors(&x, 1, e);
    if (!errors_fine(s, e)) {
        printf("%s n%d WRONG: %.2e %.2e %.2e, not timed\n", BENCH_NAME, n, e[0], e[1], e[2]);
        return 1;
    }
    CHECK_CUDA(cudaMalloc(&flush, 256 << 20));
    double first = time_once(&x, flush, 1);
    for (int i = 0; i < 2; i++)
        first = time_once(&x, flush, 20 * first);
    for (int i = 0; i < 9; i++)
        ms[i] = time_once(&x, flush, 20 * first);
    qsort(ms, 9, sizeof ms[0], by_value);
    printf("%-24s n%-6d %8.4f ms %7.1f TFLOP/s  spread %4.1f%%  err %.2e %.2e %.2e\n", BENCH_NAME,
           n, ms[4], flops / ms[4] / 1e9, 100 * (ms[7] - ms[1]) / ms[4], e[0], e[1], e[2]);
    return 0;
}

int main(int argc, char **argv)
{
    static const shape shapes[] = {
        {1, 1, 1, 128, 128, 0},   {1, 2, 2, 1, 1, 0},        {2, 2, 1, 65, 65, 1},
        {1, 2, 2, 127, 127, 0},   {2, 3, 3, 320, 256, 1},    {1, 8, 2, 1001, 1001, 1},
        {1, 2, 2, 113, 511, 0},   {1, 2, 2, 511, 113, 1},    {2, 2, 2, 1024, 1024, 1},
        {1, 1, 1, 300, 1, 0},     {1, 2, 1, 511, 640, 1, 3}, {40, 4, 4, 257, 511, 1},
        {5, 33, 33, 512, 512, 0}, {1, 2, 2, 511, 640, 1, 3}};

    if (argc > 2 && !strcmp(argv[1], "time"))
        return time_shape(atoi(argv[2]), argc > 3 ? atoi(argv[3]) : 1);
    if (argc > 2) {
        int i = atoi(argv[2]);
        check_shape(shapes[i]);
        return check_finish();
    }
    for (const shape &s : shapes)
        if (takes(s))
            check_shape(s);
    return check_finish();
}
