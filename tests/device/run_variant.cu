/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Calls an sm90 variant through its descriptor, as the harness does, against the fp64 reference:
 *   run_variant NAME check            small and odd shapes, both types, all masks and layouts
 *   run_variant NAME random N [SEED]  N random problems
 *   run_variant NAME one B H HK NQ NK D MASK DTYPE   one problem (for the sanitizers); numbers
 *   run_variant NAME refuse           what it does not take, with the reasons
 * The forward runs first and the backward reads what it left.  Outputs and workspace hold NaN
 * patterns before each call.  The backward runs twice: what the descriptor claims to be
 * deterministic must have the same bits.
 */
#include <initializer_list>
#include <stdarg.h>
#include <string.h>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "flashback.h"
#include "tests/device/reference.cuh"

extern "C" {
extern const struct fb_variant *const fb_variants_sm90_atomic[];
extern const struct fb_variant *const fb_variants_sm90_ordered[];
extern const struct fb_variant *const fb_variants_sm90_split[];
}

enum { Q, K, V, O, DOUT, DQ, DK, DV, TENSORS };

struct run {
    const struct fb_variant *variant;
    struct fb_problem problem;
    struct fb_numerics numerics;
    struct fb_context ctx;
    struct fb_args args;
    char *block[TENSORS + 2]; /* the allocation of each tensor, of lse and of the workspace */
    size_t bytes[TENSORS + 2];
    double shift;
};

static void no_phase(struct fb_context *, const char *)
{
}

static void explain(struct fb_context *, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    printf("# ");
    vprintf(format, list);
    printf("\n");
    va_end(list);
}

static const struct fb_variant *variant_find(const char *name)
{
    const struct fb_variant *const *tables[] = {fb_variants_sm90_atomic, fb_variants_sm90_ordered,
                                                fb_variants_sm90_split};
    for (const struct fb_variant *const *table : tables)
        for (; *table; table++)
            if (!strcmp((*table)->name, name))
                return *table;
    printf("Bail out! no variant %s\n", name);
    exit(2);
}

static struct fb_problem problem_make(int64_t b, int64_t h, int64_t hk, int64_t nq, int64_t nk,
                                      int64_t d, enum fb_mask mask, enum fb_dtype dtype)
{
    struct fb_problem p = {};
    p.b = b, p.h = h, p.hk = hk, p.nq = nq, p.nk = nk, p.d = p.dv = d;
    p.mask = mask, p.dtype = dtype;
    p.window_left = p.window_right = FB_OPEN;
    p.scale = 1 / sqrt((double)d);
    return p;
}

static __device__ uint32_t mix(uint64_t x)
{
    x = (x ^ (x >> 31)) * 0x7fb5d329728ea185ull;
    x = (x ^ (x >> 27)) * 0x81dadef4bc2dd44dull;
    return (uint32_t)((x ^ (x >> 33)) >> 16);
}

template <class T>
__global__ void fill_normal(T *x, size_t n, uint64_t seed, float mean)
{
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float u = (mix(seed * 1000003 + 2 * i) + 1.0f) / 4294967296.0f;
        float v = mix(seed * 1000003 + 2 * i + 1) / 4294967296.0f;
        x[i] = (T)(mean + sqrtf(-2 * logf(fminf(u, 1.0f))) * cospif(2 * v));
    }
}

/* Layouts as the harness makes them; a packed slice lies in the middle of longer rows. */
static void tensor_make(struct run *x, int which, struct fb_tensor *t)
{
    const struct fb_problem *p = &x->problem;
    bool key = which == K || which == V || which == DK || which == DV;
    int64_t h = key ? p->hk : p->h, n = key ? p->nk : p->nq, d = p->d, row = d;

    t->dtype = p->dtype;
    t->shape[0] = p->b, t->shape[1] = h, t->shape[2] = n, t->shape[3] = d;
    t->stride[0] = h * n * d, t->stride[1] = n * d, t->stride[2] = d, t->stride[3] = 1;
    if (p->layout == FB_LAYOUT_BNHD)
        row = h * d, t->stride[1] = d, t->stride[2] = row;
    if (p->layout == FB_LAYOUT_PACKED_QKV && which <= V) {
        row = (p->h + 2 * p->hk) * d;
        t->stride[0] = n * row, t->stride[1] = d, t->stride[2] = row;
    }
    x->bytes[which] = 2 * (size_t)(p->b * t->stride[0]);
    CHECK_CUDA(cudaMalloc(&x->block[which], x->bytes[which] + 16));
    t->data = x->block[which];
}

static void lse_make(struct run *x)
{
    const struct fb_problem *p = &x->problem;
    struct fb_tensor *t = &x->args.lse;

    t->dtype = FB_FP32;
    t->shape[0] = p->b, t->shape[1] = p->h, t->shape[2] = p->nq, t->shape[3] = 1;
    t->stride[0] = p->h * p->nq, t->stride[1] = p->nq, t->stride[2] = t->stride[3] = 1;
    x->bytes[TENSORS] = 4 * (size_t)(p->b * p->h * p->nq);
    CHECK_CUDA(cudaMalloc(&x->block[TENSORS], x->bytes[TENSORS] + 16));
    t->data = x->block[TENSORS];
}

static struct fb_tensor *tensor_of(struct run *x, int which)
{
    struct fb_args *a = &x->args;
    struct fb_tensor *all[] = {&a->q, &a->k, &a->v, &a->o, &a->dout, &a->dq, &a->dk, &a->dv};
    return all[which];
}

template <class T>
static void run_make(struct run *x, const struct fb_variant *variant, const struct fb_problem &p,
                     double shift)
{
    size_t saved;

    *x = {};
    x->variant = variant, x->problem = p, x->shift = shift;
    x->ctx.abi_version = FB_ABI_VERSION, x->ctx.struct_size = sizeof x->ctx;
    x->ctx.phase = no_phase, x->ctx.explain = explain;
    x->args.problem = &x->problem, x->args.numerics = &x->numerics;
    for (int i = 0; i < TENSORS; i++)
        tensor_make(x, i, tensor_of(x, i));
    lse_make(x);
    if (variant->sizes(&x->problem, &x->numerics, &saved, &x->bytes[TENSORS + 1]) != FB_OK)
        exit(3);
    CHECK_CUDA(cudaMalloc(&x->block[TENSORS + 1], x->bytes[TENSORS + 1] + 16));
    x->args.workspace = x->block[TENSORS + 1], x->args.workspace_bytes = x->bytes[TENSORS + 1];
    for (int i : {Q, K, V, DOUT})
        fill_normal<<<256, 256>>>((T *)x->block[i], x->bytes[i] / 2, (uint64_t)i + 1,
                                  i == Q   ? -shift
                                  : i == K ? shift
                                           : 0);
}

static void run_free(struct run *x)
{
    for (char *block : x->block)
        CHECK_CUDA(cudaFree(block));
}

static void poison(struct run *x, std::initializer_list<int> blocks)
{
    for (int i : blocks)
        CHECK_CUDA(cudaMemset(x->block[i], 0xff, x->bytes[i]));
}

static void call(struct run *x, bool backward)
{
    enum fb_status status =
        (backward ? x->variant->backward : x->variant->forward)(&x->ctx, NULL, &x->args);
    if (status != FB_OK) {
        printf("Bail out! %s returned %d\n", backward ? "backward" : "forward", (int)status);
        exit(1);
    }
    CHECK_CUDA(cudaDeviceSynchronize());
}

template <class T>
static head_view<T> view(struct run *x, int which, int64_t b, int64_t h)
{
    struct fb_tensor *t = tensor_of(x, which);
    return {(T *)t->data + b * t->stride[0] + h * t->stride[1], t->stride[2]};
}

template <class T>
static double distance(head_view<T> x, const double *ref, int64_t rows, int64_t d)
{
    double *sums, host[2];
    CHECK_CUDA(cudaMalloc(&sums, 16));
    CHECK_CUDA(cudaMemset(sums, 0, 16));
    reference_distance<T><<<64, 256>>>(x, ref, (int)rows, (int)d, sums);
    CHECK_CUDA(cudaMemcpy(host, sums, 16, cudaMemcpyDeviceToHost));
    CHECK_CUDA(cudaFree(sums));
    return host[1] > 0 ? sqrt(host[0] / host[1]) : sqrt(host[0]);
}

/* NaN stays. */
static void worse(double *worst, double error)
{
    *worst = error <= *worst ? *worst : error;
}

static double lse_error(struct run *x, const float *expected, int64_t b, int64_t h)
{
    int64_t n = x->problem.nq;
    float *host = (float *)malloc(2 * n * sizeof(float)), *got = host + n;
    double worst = 0;

    CHECK_CUDA(cudaMemcpy(host, expected, n * 4, cudaMemcpyDeviceToHost));
    CHECK_CUDA(cudaMemcpy(got, (float *)x->block[TENSORS] + (b * x->problem.h + h) * n, n * 4,
                          cudaMemcpyDeviceToHost));
    for (int64_t i = 0; i < n; i++)
        worse(&worst, host[i] == got[i] ? 0 : fabs((double)host[i] - got[i]) / (1 + fabs(host[i])));
    free(host);
    return worst;
}

/* Worst errors of o, lse, dq, dk, dv over all heads. */
template <class T>
static void errors(struct run *x, double worst[5])
{
    const struct fb_problem *p = &x->problem;
    const int64_t square = p->nq * p->nk * 8, q = p->nq * p->d * 8, k = p->nk * p->d * 8;
    reference_head<T> r;

    CHECK_CUDA(cudaMalloc(&r.p, square));
    CHECK_CUDA(cudaMalloc(&r.ds, square));
    CHECK_CUDA(cudaMalloc(&r.delta, p->nq * 8));
    CHECK_CUDA(cudaMalloc(&r.dq, q));
    CHECK_CUDA(cudaMalloc(&r.o64, q));
    CHECK_CUDA(cudaMalloc(&r.o.data, q));
    CHECK_CUDA(cudaMalloc(&r.lse, p->nq * 4));
    CHECK_CUDA(cudaMalloc(&r.dk, k));
    CHECK_CUDA(cudaMalloc(&r.dv, k));
    r.o.row = p->d, r.nq = p->nq, r.nk = p->nk, r.d = p->d, r.scale = p->scale;
    r.causal = p->mask != FB_MASK_FULL;
    r.offset = p->mask == FB_MASK_CAUSAL ? p->nk - p->nq : 0;
    for (int64_t b = 0; b < p->b; b++)
        for (int64_t kh = 0; kh < p->hk; kh++) {
            CHECK_CUDA(cudaMemset(r.dk, 0, k));
            CHECK_CUDA(cudaMemset(r.dv, 0, k));
            for (int64_t h = kh * (p->h / p->hk); h < (kh + 1) * (p->h / p->hk); h++) {
                r.q = view<T>(x, Q, b, h), r.dout = view<T>(x, DOUT, b, h);
                r.k = view<T>(x, K, b, kh), r.v = view<T>(x, V, b, kh);
                reference_forward<T><<<r.nq, 256>>>(r);
                reference_scores<T><<<r.nq, 256>>>(r);
                reference_dq<T><<<r.nq, r.d>>>(r);
                reference_dkv<T><<<r.nk, r.d>>>(r);
                worse(&worst[0], distance<T>(view<T>(x, O, b, h), r.o64, r.nq, r.d));
                worse(&worst[1], lse_error(x, r.lse, b, h));
                worse(&worst[2], distance<T>(view<T>(x, DQ, b, h), r.dq, r.nq, r.d));
            }
            worse(&worst[3], distance<T>(view<T>(x, DK, b, kh), r.dk, r.nk, r.d));
            worse(&worst[4], distance<T>(view<T>(x, DV, b, kh), r.dv, r.nk, r.d));
        }
    for (void *block : {(void *)r.p, (void *)r.ds, (void *)r.delta, (void *)r.dq, (void *)r.o64,
                        (void *)r.o.data, (void *)r.lse, (void *)r.dk, (void *)r.dv})
        CHECK_CUDA(cudaFree(block));
}

/* A second backward gives the same bits where the descriptor says so. */
static bool repeats(struct run *x)
{
    const unsigned bit[] = {FB_DET_DQ, FB_DET_DK, FB_DET_DV};
    char *first[3], *second;
    bool same = true;

    for (int i = 0; i < 3; i++) {
        first[i] = (char *)malloc(x->bytes[DQ + i]);
        CHECK_CUDA(
            cudaMemcpy(first[i], x->block[DQ + i], x->bytes[DQ + i], cudaMemcpyDeviceToHost));
    }
    poison(x, {DQ, DK, DV, TENSORS + 1});
    call(x, true);
    for (int i = 0; i < 3; i++) {
        second = (char *)malloc(x->bytes[DQ + i]);
        CHECK_CUDA(cudaMemcpy(second, x->block[DQ + i], x->bytes[DQ + i], cudaMemcpyDeviceToHost));
        if (x->variant->properties.deterministic & bit[i])
            same &= memcmp(first[i], second, x->bytes[DQ + i]) == 0;
        free(first[i]), free(second);
    }
    return same;
}

template <class T>
static void check_typed(const struct fb_variant *variant, const struct fb_problem &p, double shift)
{
    static const char *masks[] = {"full", "causal", "topleft"};
    /* With a shift, dQ and dK sum dS against a mean that cancels only in exact arithmetic. */
    const double limit = (p.dtype == FB_BF16 ? 5e-3 : 7e-4) * (1 + 2 * shift);
    double e[5] = {0};
    char text[256];
    struct run x;

    run_make<T>(&x, variant, p, shift);
    const char *why = variant->why_not(&x.problem, &x.numerics);
    if (why) {
        snprintf(text, sizeof text, "%s refused: %s", variant->name, why);
        check_report(false, text, 0);
        run_free(&x);
        return;
    }
    poison(&x, {O, DQ, DK, DV, TENSORS, TENSORS + 1});
    call(&x, false);
    poison(&x, {TENSORS + 1});
    call(&x, true);
    errors<T>(&x, e);
    bool same = repeats(&x);
    bool fine = e[0] < limit && e[1] < 2e-5 && e[2] < limit && e[3] < limit && e[4] < limit;
    snprintf(text, sizeof text,
             "%s b%d h%d:%d nq%d nk%d d%d %s %s layout %d shift %g: o %.1e lse %.1e dq %.2e dk "
             "%.2e dv %.2e repeat %d",
             variant->name, (int)p.b, (int)p.h, (int)p.hk, (int)p.nq, (int)p.nk, (int)p.d,
             masks[p.mask], p.dtype == FB_BF16 ? "bf16" : "fp16", (int)p.layout, shift, e[0], e[1],
             e[2], e[3], e[4], same);
    check_report(fine && same, text, e[2]);
    run_free(&x);
}

static void check_one(const struct fb_variant *variant, const struct fb_problem &p, double shift)
{
    if (p.dtype == FB_BF16)
        check_typed<__nv_bfloat16>(variant, p, shift);
    else
        check_typed<__half>(variant, p, shift);
}

static int check_all(const struct fb_variant *variant)
{
    static const struct {
        int b, h, hk, nq, nk;
        enum fb_layout layout;
        double shift;
    } shapes[] = {{1, 1, 1, 128, 128, FB_LAYOUT_BHND, 0},
                  {1, 2, 2, 1, 1, FB_LAYOUT_BHND, 0},
                  {2, 2, 1, 65, 65, FB_LAYOUT_BNHD, 0},
                  {2, 3, 3, 320, 256, FB_LAYOUT_BNHD, 0},
                  {1, 8, 2, 1001, 1001, FB_LAYOUT_PACKED_QKV, 0},
                  {1, 2, 2, 113, 511, FB_LAYOUT_BHND, 0},
                  {1, 2, 2, 511, 113, FB_LAYOUT_BNHD, 0},
                  {2, 2, 2, 640, 640, FB_LAYOUT_PACKED_QKV, 0},
                  {1, 1, 1, 300, 1, FB_LAYOUT_BHND, 0},
                  {1, 1, 1, 1, 300, FB_LAYOUT_BHND, 0},
                  {1, 2, 1, 511, 640, FB_LAYOUT_BNHD, 3}};

    for (int d : {64, 128})
        for (enum fb_dtype dtype : {FB_BF16, FB_FP16})
            for (enum fb_mask mask : {FB_MASK_FULL, FB_MASK_CAUSAL, FB_MASK_CAUSAL_TOPLEFT})
                for (const auto &s : shapes) {
                    struct fb_problem p = problem_make(s.b, s.h, s.hk, s.nq, s.nk, d, mask, dtype);
                    p.layout = s.layout;
                    check_one(variant, p, s.shift);
                }
    return check_finish();
}

static int pick(int least, int most)
{
    return least + rand() % (most - least + 1);
}

static int check_random(const struct fb_variant *variant, int count, int seed)
{
    srand((unsigned)seed);
    for (int i = 0; i < count; i++) {
        int hk = pick(1, 3), group = pick(1, 4), most = pick(0, 2) ? 300 : 900;
        int nq = pick(1, most), nk = pick(0, 2) ? nq : pick(1, most);
        struct fb_problem p =
            problem_make(pick(1, 2), hk * group, hk, nq, nk, pick(0, 1) ? 64 : 128,
                         (enum fb_mask)pick(0, 2), pick(0, 1) ? FB_BF16 : FB_FP16);
        p.layout = (enum fb_layout)pick(0, 2);
        check_one(variant, p, 0);
    }
    return check_finish();
}

static int show_refusals(const struct fb_variant *variant)
{
    const struct fb_problem base = problem_make(1, 2, 2, 64, 64, 128, FB_MASK_FULL, FB_BF16);
    struct fb_problem p[14];
    struct fb_numerics n = {}, low = {};
    int64_t lengths[] = {64};
    int refused = 0;

    for (struct fb_problem &x : p)
        x = base;
    p[0].dtype = FB_FP32, p[1].d = p[1].dv = 96, p[2].dv = 64, p[3].window_left = 4;
    p[4].softcap = 30, p[5].alibi = FB_ALIBI_AUTO, p[6].bias = FB_BIAS_FULL, p[7].dropout = 0.1;
    p[8].sink = 1, p[9].dlse = 1, p[10].qlens = lengths, p[11].scale = 0;
    p[12].layout = FB_LAYOUT_EXPANDED_DOUT, p[13].b = 100000;
    for (const struct fb_problem &x : p) {
        const char *why = variant->why_not(&x, &n);
        printf("%s\n", why ? why : "TAKEN");
        refused += why != NULL;
    }
    low.dq = FB_ACC_BF16;
    const char *why = variant->why_not(&base, &low);
    printf("%s\n", why ? why : "TAKEN");
    return refused == 14 && why && !variant->why_not(&base, &n) ? 0 : 1;
}

int main(int argc, char **argv)
{
    const char *what = argc > 2 ? argv[2] : "";
    const struct fb_variant *variant = argc > 2 ? variant_find(argv[1]) : NULL;

    if (!strcmp(what, "check"))
        return check_all(variant);
    if (!strcmp(what, "random") && argc > 3)
        return check_random(variant, atoi(argv[3]), argc > 4 ? atoi(argv[4]) : 1);
    if (!strcmp(what, "refuse"))
        return show_refusals(variant);
    if (!strcmp(what, "one") && argc == 11) {
        int v[8];
        for (int i = 0; i < 8; i++)
            v[i] = atoi(argv[3 + i]);
        check_one(variant,
                  problem_make(v[0], v[1], v[2], v[3], v[4], v[5], (enum fb_mask)v[6],
                               (enum fb_dtype)v[7]),
                  0);
        return check_finish();
    }
    fprintf(stderr, "usage: run_variant NAME check | random N [SEED] | refuse | one ...\n");
    return 2;
}
