/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Checks, then times, one configuration of the sm_90a backward (chosen by -D at compile time):
 *   bench_sm90 check            many small and odd shapes against the fp64 reference
 *   bench_sm90 time N [GROUP]   16,384 tokens at length N, 2048/d heads, one head checked first
 * A timed sample is events around the three launches, after 256 MiB memsets outside the span and
 * a rest of 20 times the sample; the median of 9 is printed, with the spread.
 */
#include "kernels/sm90/bwd_wide_launch.cuh"
#include "kernels/sm90/bwd_short.h"
#include "tests/device/bench.cuh"

#ifndef BENCH_T
#define BENCH_T __nv_bfloat16
#define BENCH_D 128
#define BENCH_M 64
#define BENCH_CAUSAL false
#define BENCH_LAG 0
#define BENCH_EARLY 0
#endif
#ifndef BENCH_TURNS
#define BENCH_TURNS false
#define BENCH_DQ_FIRST false
#define BENCH_TELL DS_AT_ONCE
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
using C = bwd_sm90_config<BENCH_T, BENCH_D, BENCH_M, BENCH_CAUSAL,
                          schedule<BENCH_LAG, BENCH_EARLY, BENCH_TURNS, BENCH_DQ_FIRST, BENCH_TELL>,
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

/* The short form is compiled apart (kernels/sm90/bwd_short_kernels.cu) in its shipped tiles. */
static size_t workspace_bytes(const shape &s)
{
    if constexpr (C::SHORT)
        return short_sm90<C::D>::workspace_bytes(s.b, s.h, s.nq);
    else
        return bwd_workspace_bytes<C>(s.b, s.h, s.hk, s.nq, s.nk);
}

static cudaError_t enqueue(const sm90_call &p)
{
#if BENCH_D == 256
    return wide_sm90_enqueue<C, wide_dq_config<T, BENCH_CAUSAL>>(p, BENCH_MOST);
#else
    if constexpr (C::SHORT)
        return short_sm90<C::D>::enqueue(elem<T>::is_bf16, C::CAUSAL, p);
    else
        return bwd_sm90_enqueue<C>(p);
#endif
}

/* What the policy takes: a unit is one head of two to 1,024 rows. */
static bool takes(const shape &s)
{
    return !C::SHORT || (s.h == s.hk && s.nq > C::M && s.nq <= short_rows);
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

static void poison(data *x)
{
    CHECK_CUDA(cudaMemset(x->p.workspace, 0xff, x->workspace));
    CHECK_CUDA(cudaMemset(x->p.dq.data, 0xff, x->q_count * 2));
    CHECK_CUDA(cudaMemset(x->p.dk.data, 0xff, x->k_count * 2));
    CHECK_CUDA(cudaMemset(x->p.dv.data, 0xff, x->k_count * 2));
}

/* The operands of member g of key head kh. */
static void place(reference_head<T> *r, const data *x, int b, int kh, int g)
{
    const int h = kh * (x->s.h / x->s.hk) + g;
    r->q = view(x->p.q, b, h), r->o = view(x->p.o, b, h), r->dout = view(x->p.dout, b, h);
    r->k = view(x->p.k, b, kh), r->v = view(x->p.v, b, kh);
    r->lse = x->lse + ((size_t)b * x->s.h + h) * x->s.nq;
}

/* Worst relative L2 error of dQ, dK, dV: of all heads of all batch entries, or of the first `heads`
 * key heads of the first entry. */
static void errors(data *x, int heads, double worst[3])
{
    const shape &s = x->s;
    const int group = s.h / s.hk;
    reference_head<T> r;

    reference_make(&r, s.nq, s.nk, C::D, C::CAUSAL, group);
    r.scale = x->p.scale;
    worst[0] = worst[1] = worst[2] = 0;
    for (int b = 0; b < s.b; b += heads ? s.b : 1)
        for (int kh = 0; kh < (heads ? heads : s.hk); kh++) {
            reference_group(&r, group, [=](reference_head<T> *h, int g) { place(h, x, b, kh, g); });
            poison(x);
            CHECK_CUDA(enqueue(x->p));
            CHECK_CUDA(cudaDeviceSynchronize());
            worst[1] = check_worse(worst[1], distance(view(x->p.dk, b, kh), s.nk, C::D, r.dk));
            worst[2] = check_worse(worst[2], distance(view(x->p.dv, b, kh), s.nk, C::D, r.dv));
            for (int g = 0; g < group; g++)
                worst[0] = check_worse(worst[0], distance(view(x->p.dq, b, kh * group + g), s.nq,
                                                          C::D, r.dq + (size_t)g * s.nq * C::D));
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
static bool has_same_bits(data *x)
{
    const bytes_of outputs[] = {{x->p.dk.data, x->k_count * 2},
                                {x->p.dv.data, x->k_count * 2},
                                {x->p.dq.data, x->q_count * 2}};
    return repeats(outputs, C::ORDERED || C::SHORT || !C::WITH_DQ ? 3 : 2, [=] {
        poison(x);
        CHECK_CUDA(enqueue(x->p));
    });
}

static void check_shape(const shape &s)
{
    char text[160];
    double e[3];
    data x;

    data_make(&x, s);
    errors(&x, 0, e);
    bool same = has_same_bits(&x);
    snprintf(text, sizeof text,
             "%s b%d h%d:%d nq%d nk%d %s shift %g dq %.2e dk %.2e dv %.2e repeat %d", BENCH_NAME,
             s.b, s.h, s.hk, s.nq, s.nk, s.bshd ? "bshd" : "bhsd", s.shift, e[0], e[1], e[2], same);
    check_report(errors_fine(s, e) && same, text, e[0]);
    data_free(&x);
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
    CHECK_CUDA(cudaMalloc(&flush, FLUSH_BYTES));
    time_samples(ms, 9, flush, INFINITY, [&] { CHECK_CUDA(enqueue(x.p)); });
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
        const int i = atoi(argv[2]), count = (int)(sizeof shapes / sizeof *shapes);
        if (i < 0 || i >= count) {
            fprintf(stderr, "bench_sm90: check takes a shape from 0 to %d\n", count - 1);
            return 2;
        }
        check_shape(shapes[i]);
        return check_finish();
    }
    for (const shape &s : shapes)
        if (takes(s))
            check_shape(s);
    return check_finish();
}
