/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Checks, then times, the mma.sync kernels for one head size and type (chosen by -D at compile
 * time): the key-major backward with all three ways to add up dQ, the split form, the forward.
 *
 *     bench_sm80                  small and odd shapes against the fp64 reference
 *     bench_sm80 time N...        16,384 tokens at length N, 2048/d heads, one head checked first
 *
 * A timed sample is events around the launches, after 256 MiB memsets outside the span and a rest
 * of 20 times the sample, 25 ms at most; the median of 5 is printed, with the spread. Environment:
 * ONLY chooses ways by number, TURN is fb_sm80_args::turn, NOERR leaves out the check ahead.
 */
#include <algorithm>
#include <numeric>

#include "kernels/sm80/table.cuh"
#include "tests/device/bench.cuh"

#ifndef BENCH_T
#define BENCH_T __nv_bfloat16
#endif
#ifndef BENCH_D
#define BENCH_D 128
#endif
using namespace fb;
using T = BENCH_T;
using C = sm80_config<T, BENCH_D, false, SM80_ANY>;
using K = sm80_config<T, BENCH_D, false, SM80_NO_DQ>;
using Q = sm80_dq_config<T, BENCH_D, false>;
using F = sm80_fwd_config<T, BENCH_D, false>;

/* The ways to add up dQ, then the split form, then the forward (timed alone). */
enum { SPLIT = 3, FORWARD, WAYS };
static const char *const policy_names[WAYS] = {"atomic", "ordered", "partials", "split", "forward"};

struct shape {
    int b, h, hk, nq, nk, d, causal, stages, bshd;
};

struct data {
    shape s;
    fb_sm80_args p;
    char *workspace;
    unsigned *turns;
    size_t q_count, k_count, workspace_bytes;
};

static fb_sm80_tensor tensor_make(const shape &s, bool key, size_t *count)
{
    const int64_t h = key ? s.hk : s.h, n = key ? s.nk : s.nq, d = s.d;
    fb_sm80_tensor t = {nullptr, h * n * d, n * d, d};
    if (s.bshd)
        t.head = d, t.row = h * d;
    *count = (size_t)(s.b * h * n * d);
    CHECK_CUDA(cudaMalloc(&t.data, *count * 2));
    return t;
}

static int sm_count()
{
    int count;
    CHECK_CUDA(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0));
    return count;
}

/* Under partials as many CTAs a unit as fit one wave, or one an SM where that leaves a tenth of
 * them idle. */
static fb_sm80_shares shares_for(const shape &s)
{
    const int units = s.b * s.hk, tiles = (s.nk + C::N - 1) / C::N, sms = sm_count();
    const int even = units * std::max(1, std::min(tiles, sms / units));
    const int ctas = 10 * even < 9 * sms && units * tiles >= sms ? sms : even;
    return {units, tiles, ctas, std::gcd(units, ctas)};
}

static void workspace_make(data *x)
{
    fb_sm80_args &p = x->p;
    const size_t blocks = (size_t)p.batch * p.heads * ((p.nq + C::M - 1) / C::M);
    const size_t tiles = (size_t)p.shares.units * p.shares.tiles;
    const size_t rows = blocks * C::M * 4, turns = (tiles * C::WARPS + 64) * 4;
    const size_t sums =
        blocks / p.shares.units * C::M * C::D * 4 * (size_t)fb_sm80_copies(&p.shares);
    x->workspace_bytes = 2 * rows + sums + turns;
    CHECK_CUDA(cudaMalloc(&x->workspace, x->workspace_bytes));
    p.lse2 = (float *)x->workspace, p.delta = (float *)(x->workspace + rows);
    p.dq_sum = x->workspace + 2 * rows, x->turns = (unsigned *)(x->workspace + 2 * rows + sums);
}

static void data_make(data *x, const shape &s)
{
    fb_sm80_args &p = x->p;
    size_t n;
    memset(x, 0, sizeof *x);
    x->s = s;
    p.q = tensor_make(s, false, &x->q_count), p.o = tensor_make(s, false, &n);
    p.dout = tensor_make(s, false, &n), p.dq = tensor_make(s, false, &n);
    p.k = tensor_make(s, true, &x->k_count), p.v = tensor_make(s, true, &n);
    p.dk = tensor_make(s, true, &n), p.dv = tensor_make(s, true, &n);
    n = (size_t)s.b * s.h * s.nq;
    p.lse = {nullptr, (int64_t)s.h * s.nq, s.nq, 1};
    CHECK_CUDA(cudaMalloc(&p.lse.data, n * 4));
    fill_normal<<<1024, 256>>>((T *)p.q.data, x->q_count, 1, 1, 0);
    fill_normal<<<1024, 256>>>((T *)p.k.data, x->k_count, 2, 1, 0);
    fill_normal<<<1024, 256>>>((T *)p.v.data, x->k_count, 3, 1, 0);
    fill_normal<<<1024, 256>>>((T *)p.dout.data, x->q_count, 4, 1, 0);
    fill_normal<<<1024, 256>>>((T *)p.o.data, x->q_count, 5, 1.6f / sqrtf(s.nk), 0);
    fill_lse<<<1024, 256>>>(p.lse.data, n, s.nq, s.nk, s.causal);
    p.batch = s.b, p.heads = s.h, p.kv_heads = s.hk, p.nq = s.nq, p.nk = s.nk;
    p.columns = p.columns_v = s.d, p.aligned = 1, p.causal = s.causal;
    p.window_left = p.window_right = -1, p.scale = 1 / sqrtf(s.d);
    p.section = s.causal ? s.b * s.hk : 1, p.stages = s.stages, p.shares = shares_for(s);
    p.turn = getenv("TURN") ? atoi(getenv("TURN")) : 1;
    workspace_make(x);
}

static void data_free(data *x)
{
    fb_sm80_args &p = x->p;
    char *all[] = {p.q.data,  p.k.data,  p.v.data,  p.o.data,           p.dout.data,
                   p.dq.data, p.dk.data, p.dv.data, (char *)p.lse.data, x->workspace};
    for (char *t : all)
        CHECK_CUDA(cudaFree(t));
}

static void enqueue_split(fb_sm80_args p)
{
    p.dq_sum = nullptr;
    p.dq_policy = FB_SM80_DQ_ATOMIC;
    p.turns = nullptr;
    CHECK_CUDA((cudaError_t)sm80_run_pre<C>(&p, 0));
    CHECK_CUDA((cudaError_t)(sm80_run_split<K, Q>(&p, 0)));
}

template <sm80_form FORM>
static int run_main(const fb_sm80_args *p)
{
    using own = sm80_config<T, BENCH_D, false, sm80_own_form(BENCH_D, false, FORM)>;
    return sm80_run_main<own>(p, 0);
}

static void enqueue(data *x, int policy)
{
    if (policy == SPLIT)
        return enqueue_split(x->p);
    if (policy == FORWARD) {
        CHECK_CUDA((cudaError_t)sm80_run_forward<F>(&x->p, 0));
        return;
    }
    const int units = x->s.b * x->s.hk, sms = sm_count();
    const int side = C::D > 128 ? (x->s.causal ? sms / 2 : sms / 8) : x->s.causal ? sms : sms / 2;
    x->p.section = x->s.causal ? units : 1;
    x->p.descend = policy == FB_SM80_DQ_ORDERED && x->s.causal && x->s.h > x->s.hk;
    if (policy == FB_SM80_DQ_ORDERED && !x->p.descend)
        x->p.section = units < side ? units : side;
    x->p.dq_policy = (fb_sm80_dq)policy;
    x->p.turns = policy == FB_SM80_DQ_ORDERED ? x->turns : nullptr;
    CHECK_CUDA((cudaError_t)sm80_run_pre<C>(&x->p, 0));
    CHECK_CUDA((cudaError_t)(policy == FB_SM80_DQ_ATOMIC    ? run_main<SM80_ATOMIC>(&x->p)
                             : policy == FB_SM80_DQ_ORDERED ? run_main<SM80_ORDERED>(&x->p)
                                                            : run_main<SM80_PARTIALS>(&x->p)));
    CHECK_CUDA((cudaError_t)sm80_run_post<C>(&x->p, 0));
}

static head_view<T> view(const fb_sm80_tensor &t, int b, int h)
{
    return {(T *)t.data + b * t.batch + h * t.head, t.row};
}

static void poison(data *x)
{
    CHECK_CUDA(cudaMemset(x->workspace, 0xff, x->workspace_bytes));
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
    r->lse = x->p.lse.data + ((size_t)b * x->s.h + h) * x->s.nq;
}

/* Worst relative L2 error of dQ, dK, dV by policy, over the first `heads` key heads (0: all). */
static void errors(data *x, int heads, double worst[SPLIT + 1][3])
{
    const shape &s = x->s;
    const int group = s.h / s.hk;
    reference_head<T> r;
    reference_make(&r, s.nq, s.nk, s.d, s.causal, group);
    r.scale = x->p.scale;
    memset(worst, 0, sizeof(double[SPLIT + 1][3]));
    for (int b = 0; b < s.b; b += heads ? s.b : 1)
        for (int kh = 0; kh < (heads ? heads : s.hk); kh++) {
            reference_group(&r, group, [=](reference_head<T> *h, int g) { place(h, x, b, kh, g); });
            for (int policy = 0; policy <= SPLIT; policy++) {
                double *e = worst[policy];
                poison(x);
                enqueue(x, policy);
                CHECK_CUDA(cudaDeviceSynchronize());
                e[1] = check_worse(e[1], distance(view(x->p.dk, b, kh), s.nk, s.d, r.dk));
                e[2] = check_worse(e[2], distance(view(x->p.dv, b, kh), s.nk, s.d, r.dv));
                for (int g = 0; g < group; g++)
                    e[0] = check_worse(e[0], distance(view(x->p.dq, b, kh * group + g), s.nq, s.d,
                                                      r.dq + (size_t)g * s.nq * s.d));
            }
        }
    reference_free(&r);
}

static bool errors_fine(const double e[3])
{
    double limit = elem<T>::is_bf16 ? 5e-3 : 7e-4;
    return e[0] < limit && e[1] < limit && e[2] < limit;
}

/* Two runs give the same bits: dK and dV always, dQ too if its additions have an order. */
static bool has_same_bits(data *x, int policy)
{
    const bytes_of outputs[] = {{x->p.dk.data, x->k_count * 2},
                                {x->p.dv.data, x->k_count * 2},
                                {x->p.dq.data, x->q_count * 2}};
    return repeats(outputs, policy == FB_SM80_DQ_ATOMIC ? 2 : 3, [=] {
        poison(x);
        enqueue(x, policy);
    });
}

static void check_shape(const shape &s)
{
    char text[200];
    double e[SPLIT + 1][3];
    data x;
    data_make(&x, s);
    errors(&x, 0, e);
    for (int policy = 0; policy <= SPLIT; policy++) {
        bool same = has_same_bits(&x, policy);
        snprintf(
            text, sizeof text,
            "%s d%d b%d h%d:%d nq%d nk%d d%d causal%d stages%d dq %.2e dk %.2e dv %.2e repeat %d",
            policy_names[policy], C::D, s.b, s.h, s.hk, s.nq, s.nk, s.d, s.causal, s.stages,
            e[policy][0], e[policy][1], e[policy][2], same);
        check_report(errors_fine(e[policy]) && same, text, e[policy][0]);
    }
    data_free(&x);
}

static void time_shape(int n, int causal, char *flush)
{
    shape s = {16384 / n, 2048 / C::D, 2048 / C::D, n, n, C::D, causal, 2, 0};
    double e[WAYS][3] = {}, ms[5],
           flops = 10.0 * s.b * s.h * C::D * n * (causal ? (n + 1.0) / 2 : n);
    data x;
    data_make(&x, s);
    if (n <= 4096 && !getenv("NOERR"))
        errors(&x, 1, e);
    for (int policy = 0; policy < WAYS; policy++) {
        if (getenv("ONLY") && !strchr(getenv("ONLY"), '0' + policy))
            continue;
        double work = policy == FORWARD ? flops / 2.5 : flops;
        time_samples(ms, 5, flush, 25, [&] { enqueue(&x, policy); });
        printf("%-9s d%d %-6s n%-6d %8.4f ms %7.1f TFLOP/s  spread %4.1f%%  err %.2e %.2e %.2e%s\n",
               policy_names[policy], C::D, causal ? "causal" : "full", n, ms[2], work / ms[2] / 1e9,
               100 * (ms[3] - ms[1]) / ms[2], e[policy][0], e[policy][1], e[policy][2],
               errors_fine(e[policy]) ? "" : " WRONG");
        fflush(stdout);
    }
    data_free(&x);
}

int main(int argc, char **argv)
{
    static const shape shapes[] = {
        {1, 1, 1, 128, 128, C::D, 0, 2, 0},        {1, 2, 2, 1, 1, C::D, 1, 2, 0},
        {2, 2, 1, 65, 65, C::D, 1, 2, 1},          {1, 2, 2, 127, 127, C::D - 8, 0, 2, 0},
        {2, 3, 3, 320, 256, C::D, 0, 1, 1},        {1, 8, 2, 1001, 1001, C::D, 1, 2, 1},
        {1, 2, 2, 113, 511, C::D, 1, 2, 0},        {1, 2, 2, 511, 113, C::D, 1, 1, 1},
        {2, 2, 2, 1024, 1024, C::D, 0, 2, 1},      {1, 1, 1, 300, 1, C::D, 0, 2, 0},
        {2, 4, 4, 1500, 1500, C::D - 16, 1, 2, 0}, {1, 6, 6, 700, 900, C::D, 1, 1, 0}};
    char *flush;
    if (argc > 2 && !strcmp(argv[1], "time")) {
        CHECK_CUDA(cudaMalloc(&flush, FLUSH_BYTES));
        for (int i = 2; i < argc; i++)
            for (int causal = 0; causal < 2; causal++)
                time_shape(atoi(argv[i]), causal, flush);
        return 0;
    }
    for (const shape &s : shapes)
        check_shape(s);
    return check_finish();
}
