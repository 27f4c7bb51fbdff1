/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The sm90 variants through their descriptors, against the fp64 reference:
 *   test_sm90 NAMES check               small and odd shapes, both types, all masks and layouts
 *   test_sm90 NAMES random N SEED FIRST problems FIRST to N - 1 of a random series
 *   test_sm90 NAMES one B H HK NQ NK D MASK DTYPE LAYOUT   one problem, in numbers
 *   test_sm90 NAMES repeat RUNS         many runs of a few problems: are the bits the same?
 * NAMES: variants, separated by commas, or all.
 *
 * The forward runs first and the backward reads what it left. Outputs and workspace hold NaN
 * patterns before each call. The backward runs twice: what the descriptor claims to be
 * deterministic must have the same bits. D of the reference is made of the o that the backward was
 * given, in 16 bits, as the suite's judge does: where P is near 1, P (dP - delta) cancels, and what
 * the rounding of o leaves there is no error of a backward. Variants that lack a head size are left
 * out there.
 */
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "tests/device/reference.cuh"
#include "tests/device/variant_call.cuh"

extern "C" {
extern const struct fb_variant *const fb_variants_sm90_atomic[];
extern const struct fb_variant *const fb_variants_sm90_ordered[];
extern const struct fb_variant *const fb_variants_sm90_split[];
}

static const struct fb_variant *chosen[4]; /* ends with NULL */

static void variants_choose(const char *names)
{
    const struct fb_variant *const *tables[] = {fb_variants_sm90_atomic, fb_variants_sm90_ordered,
                                                fb_variants_sm90_split};
    int count = 0;

    for (const struct fb_variant *const *table : tables)
        if (!strcmp(names, "all") || strstr(names, (*table)->name))
            chosen[count++] = *table;
    if (count == 0) {
        printf("Bail out! no variant %s\n", names);
        exit(2);
    }
}

static struct fb_problem problem_make(int64_t b, int64_t h, int64_t hk, int64_t nq, int64_t nk,
                                      int64_t d, int mask, int dtype, int layout)
{
    struct fb_problem p = {};
    p.b = b, p.h = h, p.hk = hk, p.nq = nq, p.nk = nk, p.d = p.dv = d;
    p.mask = (enum fb_mask)mask, p.dtype = (enum fb_dtype)dtype;
    p.layout = (enum fb_layout)layout;
    p.window_left = p.window_right = FB_OPEN;
    p.scale = 1 / sqrt((double)d);
    return p;
}

/* The reference's results for a whole problem, and its scratch for a head. */
template <class T>
struct expected {
    double *o, *dq, *dk, *dv; /* [b, h or hk, n, d] */
    float *lse;
    reference_head<T> head;
    double *sums;
};

template <class T>
static void expected_make(struct expected<T> *e, const struct fb_problem &p)
{
    const int64_t q = p.b * p.h * p.nq * p.d * 8, k = p.b * p.hk * p.nk * p.d * 8;

    *e = {};
    CHECK_CUDA(cudaMalloc(&e->o, q));
    CHECK_CUDA(cudaMalloc(&e->dq, q));
    CHECK_CUDA(cudaMalloc(&e->dk, k));
    CHECK_CUDA(cudaMalloc(&e->dv, k));
    CHECK_CUDA(cudaMemset(e->dk, 0, k));
    CHECK_CUDA(cudaMemset(e->dv, 0, k));
    CHECK_CUDA(cudaMalloc(&e->lse, p.b * p.h * p.nq * 4));
    CHECK_CUDA(cudaMalloc(&e->head.p, p.nq * p.nk * 8));
    CHECK_CUDA(cudaMalloc(&e->head.ds, p.nq * p.nk * 8));
    CHECK_CUDA(cudaMalloc(&e->head.delta, p.nq * 8));
    CHECK_CUDA(cudaMalloc(&e->head.o.data, p.nq * p.d * 2));
    CHECK_CUDA(cudaMalloc(&e->sums, 16));
}

template <class T>
static void expected_free(struct expected<T> *e)
{
    for (void *block : {(void *)e->o, (void *)e->dq, (void *)e->dk, (void *)e->dv, (void *)e->lse,
                        (void *)e->head.p, (void *)e->head.ds, (void *)e->head.delta,
                        (void *)e->head.o.data, (void *)e->sums})
        CHECK_CUDA(cudaFree(block));
}

template <class T>
static head_view<T> view(struct variant_call *x, int which, int64_t b, int64_t h)
{
    struct fb_tensor *t = tensor_of(x, which);
    return {(T *)t->data + b * t->stride[0] + h * t->stride[1], t->stride[2]};
}

/* All heads; the forward of x has run. */
template <class T>
static void expected_compute(struct expected<T> *e, struct variant_call *x)
{
    const struct fb_problem &p = x->problem;
    reference_head<T> r = e->head;
    const head_view<T> rounded = {e->head.o.data, p.d};

    r.nq = (int)p.nq, r.nk = (int)p.nk, r.d = (int)p.d, r.scale = p.scale;
    r.causal = p.mask != FB_MASK_FULL;
    r.offset = p.mask == FB_MASK_CAUSAL ? (int)(p.nk - p.nq) : 0;
    for (int64_t i = 0; i < p.b * p.h; i++) {
        const int64_t b = i / p.h, h = i % p.h, kh = h / (p.h / p.hk), j = b * p.hk + kh;
        r.q = view<T>(x, Q, b, h), r.dout = view<T>(x, DOUT, b, h);
        r.k = view<T>(x, K, b, kh), r.v = view<T>(x, V, b, kh);
        r.lse = e->lse + i * p.nq, r.o64 = e->o + i * p.nq * p.d, r.o = rounded;
        r.dq = e->dq + i * p.nq * p.d;
        r.dk = e->dk + j * p.nk * p.d, r.dv = e->dv + j * p.nk * p.d;
        reference_forward<T><<<r.nq, 256>>>(r);
        r.o = view<T>(x, O, b, h);
        reference_delta<T><<<r.nq, 32>>>(r);
        reference_scores<T><<<r.nq, 256>>>(r);
        reference_dq<T><<<r.nq, r.d>>>(r);
        reference_dkv<T><<<r.nk, r.d>>>(r);
    }
}

/* The worst relative L2 error of a head. */
template <class T>
static double distance(struct expected<T> *e, struct variant_call *x, int which, const double *ref)
{
    const struct fb_tensor *t = tensor_of(x, which);
    double worst = 0, host[2];

    for (int64_t i = 0; i < t->shape[0] * t->shape[1]; i++) {
        CHECK_CUDA(cudaMemset(e->sums, 0, 16));
        reference_distance<T><<<64, 256>>>(view<T>(x, which, i / t->shape[1], i % t->shape[1]),
                                           ref + i * t->shape[2] * t->shape[3], (int)t->shape[2],
                                           (int)t->shape[3], e->sums);
        CHECK_CUDA(cudaMemcpy(host, e->sums, 16, cudaMemcpyDeviceToHost));
        worst = check_worse(worst, sqrt(host[1] > 0 ? host[0] / host[1] : host[0]));
    }
    return worst;
}

static double lse_error(struct variant_call *x, const float *expected)
{
    const size_t n = x->bytes[LSE] / 4;
    float *got = (float *)block_read(x, LSE), *want = (float *)malloc(n * 4);
    double worst = 0;

    CHECK_CUDA(cudaMemcpy(want, expected, n * 4, cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < n; i++) {
        double error = fabs((double)want[i] - got[i]) / (1 + fabs(want[i]));
        worst = check_worse(worst, want[i] == got[i] ? 0 : error);
    }
    free(got), free(want);
    return worst;
}

/* Whether what the descriptor claims to be deterministic still has the bits `first`. */
static bool repeats(struct variant_call *x, char *const first[3])
{
    const unsigned bit[] = {FB_DET_DQ, FB_DET_DK, FB_DET_DV};
    bool same = true;

    call_run(x, true);
    for (int i = 0; i < 3; i++) {
        char *second = block_read(x, DQ + i);
        if (x->variant->properties.deterministic & bit[i])
            same &= memcmp(first[i], second, x->bytes[DQ + i]) == 0;
        free(second);
    }
    return same;
}

/* One call after another, `runs` of them; the number that differ from the first. */
static int runs_differ(struct variant_call *x, int runs)
{
    char *first[3];
    int differ = 0;

    for (int i = 0; i < 3; i++)
        first[i] = block_read(x, DQ + i);
    for (int i = 1; i < runs; i++)
        differ += !repeats(x, first);
    for (char *block : first)
        free(block);
    return differ;
}

static void describe(char *text, size_t size, const struct variant_call &x)
{
    static const char *const masks[] = {"full", "causal", "topleft"};
    static const char *const layouts[] = {"bhnd", "bnhd", "slices"};
    const struct fb_problem &p = x.problem;

    snprintf(text, size, "%s b%d h%d:%d nq%d nk%d d%d %s %s %s", x.variant->name, (int)p.b,
             (int)p.h, (int)p.hk, (int)p.nq, (int)p.nk, (int)p.d, masks[p.mask],
             p.dtype == FB_BF16 ? "bf16" : "fp16", layouts[p.layout]);
}

/* One variant. The reference is computed behind the first one's forward: all share it. */
template <class T>
static void check_variant(const struct fb_variant *variant, const struct fb_problem &p, float shift,
                          struct expected<T> *e, bool first)
{
    /* With a shift, dQ and dK sum dS against a mean that cancels only in exact arithmetic. */
    const double limit = (p.dtype == FB_BF16 ? 5e-3 : 7e-4) * (1 + 2 * shift);
    char text[320], name[160];
    struct variant_call x;

    call_make<T>(&x, variant, p, shift);
    call_run(&x, false);
    if (first)
        expected_compute(e, &x);
    call_run(&x, true);
    double o = distance(e, &x, O, e->o), lse = lse_error(&x, e->lse);
    double dq = distance(e, &x, DQ, e->dq), dk = distance(e, &x, DK, e->dk),
           dv = distance(e, &x, DV, e->dv);
    bool kept = gaps_kept(&x, DQ) && gaps_kept(&x, DK) && gaps_kept(&x, DV);
    bool same = runs_differ(&x, 2) == 0;
    describe(name, sizeof name, x);
    snprintf(text, sizeof text,
             "%s shift %g: o %.1e lse %.1e dq %.2e dk %.2e dv %.2e repeat %d gaps %d", name, shift,
             o, lse, dq, dk, dv, same, kept);
    check_report(o < limit && lse < 2e-5 && dq < limit && dk < limit && dv < limit && same && kept,
                 text, dq);
    call_free(&x);
}

static bool has_head_size(const struct fb_variant *variant, const struct fb_problem &p)
{
    const struct fb_numerics numerics = {};
    bool offered = false;

    for (int64_t d : variant->offer.d.list)
        offered |= d == p.d;
    const char *why = offered ? variant->why_not(variant, &p, &numerics) : "d:";
    return !why || strncmp(why, "d:", 2) != 0;
}

template <class T>
static void check_typed(const struct fb_problem &p, float shift)
{
    struct expected<T> e;
    bool first = true;

    expected_make(&e, p);
    for (int i = 0; chosen[i]; i++)
        if (has_head_size(chosen[i], p)) {
            check_variant<T>(chosen[i], p, shift, &e, first);
            first = false;
        }
    expected_free(&e);
}

static void check_problem(const struct fb_problem &p, float shift)
{
    if (p.dtype == FB_BF16)
        check_typed<__nv_bfloat16>(p, shift);
    else
        check_typed<__half>(p, shift);
}

/* Whole and ragged tiles of 64, 80 and 128 rows and blocks of 16, few rows, rows that see no key,
 * groups, the form for short sequences, the forms of the forward and its sections, CTAs that stay
 * (with d = 256 and top-left masks for key tiles that no query sees, too). */
static void check_shapes()
{
    static const struct {
        int b, h, hk, nq, nk, layout;
        float shift;
    } shapes[] = {
        {1, 1, 1, 128, 128, 0, 0},   {1, 2, 2, 1, 1, 0, 0},       {2, 2, 1, 65, 65, 1, 0},
        {2, 3, 1, 7, 200, 2, 0},     {2, 3, 3, 320, 256, 1, 0},   {1, 8, 2, 1001, 1001, 2, 0},
        {1, 2, 2, 113, 511, 0, 0},   {1, 2, 2, 511, 113, 1, 0},   {2, 2, 2, 640, 640, 2, 0},
        {1, 1, 1, 300, 1, 0, 0},     {1, 1, 1, 1, 300, 2, 0},     {1, 4, 2, 528, 528, 0, 0},
        {1, 2, 1, 511, 640, 1, 3},   {3, 44, 44, 257, 257, 2, 0}, {4, 130, 130, 129, 129, 1, 0},
        {1, 2, 1, 1100, 1160, 2, 0}, {1, 1, 1, 2100, 2050, 0, 0}, {2, 70, 70, 70, 200, 1, 0}};

    for (int d : {64, 128, 256})
        for (int dtype : {FB_BF16, FB_FP16})
            for (int mask = FB_MASK_FULL; mask <= FB_MASK_CAUSAL_TOPLEFT; mask++)
                for (const auto &s : shapes)
                    check_problem(
                        problem_make(s.b, s.h, s.hk, s.nq, s.nk, d, mask, dtype, s.layout),
                        s.shift);
}

static int pick(int least, int most)
{
    return least + rand() % (most - least + 1);
}

/* A quarter has as many heads as the form for short sequences wants, and some of those it takes. */
static void check_random(int count, int seed, int start)
{
    srand((unsigned)seed);
    for (int i = 0; i < count; i++) {
        bool many = pick(0, 3) == 0;
        int hk = many ? pick(110, 132) : pick(1, 3), group = many ? 1 : pick(1, 4);
        int most = many || pick(0, 2) ? 300 : 700, nq = pick(1, most);
        int nk = pick(0, 2) ? nq : pick(1, most), b = many ? 1 : pick(1, 2);
        int d = 64 << pick(0, 2), mask = pick(0, 2), dtype = pick(0, 1) ? FB_BF16 : FB_FP16;
        struct fb_problem p = problem_make(b, hk * group, hk, nq, nk, d, mask, dtype, pick(0, 2));
        if (i >= start)
            check_problem(p, 0);
    }
}

/* Groups, several waves of CTAs, ragged tiles, the form for short sequences. */
static void check_repeats(int runs)
{
    static const int shapes[][6] = {{2, 16, 4, 1024, 128, 1},  {1, 16, 16, 1024, 128, 0},
                                    {1, 8, 2, 1000, 256, 1},   {2, 8, 8, 1024, 256, 0},
                                    {1, 16, 16, 1000, 64, 1},  {1, 16, 16, 1000, 64, 0},
                                    {1, 132, 132, 257, 64, 0}, {1, 132, 132, 512, 128, 1}};
    char text[200], name[160];

    for (int i = 0; chosen[i]; i++)
        for (const int *s : shapes) {
            const struct fb_problem p =
                problem_make(s[0], s[1], s[2], s[3], s[3], s[4], s[5], FB_BF16, FB_LAYOUT_BHND);
            struct variant_call x;
            if (!has_head_size(chosen[i], p))
                continue;
            call_make<__nv_bfloat16>(&x, chosen[i], p, 0);
            call_run(&x, false);
            call_run(&x, true);
            int differ = runs_differ(&x, runs);
            describe(name, sizeof name, x);
            snprintf(text, sizeof text, "%s: of %d runs %d differ", name, runs, differ);
            check_report(differ == 0, text, differ);
            call_free(&x);
        }
}

int main(int argc, char **argv)
{
    const char *what = argc > 2 ? argv[2] : "";
    int n[9] = {0};

    for (int i = 3; i < argc && i < 12; i++)
        n[i - 3] = atoi(argv[i]);
    if (argc > 2)
        variants_choose(argv[1]);
    if (!strcmp(what, "check") && argc == 3)
        check_shapes();
    else if (!strcmp(what, "random") && argc == 6)
        check_random(n[0], n[1], n[2]);
    else if (!strcmp(what, "one") && argc == 12)
        check_problem(problem_make(n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7], n[8]), 0);
    else if (!strcmp(what, "repeat") && argc == 4)
        check_repeats(n[0]);
    else {
        fprintf(stderr,
                "usage: test_sm90 NAMES check | random N SEED FIRST | one ... | repeat RUNS\n");
        return 2;
    }
    return check_finish();
}
