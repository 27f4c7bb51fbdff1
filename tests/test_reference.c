/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The reference as a whole: independence of threads, strides and sampling, bit for bit; and the
 * special cases that users of attention kernels ran into.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef _OPENMP
#include <omp.h>
#endif

#include "core/problem.h"
#include "core/status.h"
#include "reference/internal.h"
#include "tests/tap.h"

static double draw(void)
{
    static uint64_t state = 99;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(int64_t)(state >> 11) / 0x1p52 - 1;
}

/* ---- Worlds: a problem with random fp64 inputs -------------------------------------------------
 */

struct world {
    struct fb_problem p;
    struct fb_ref_inputs in;
    struct fb_ref_tensors out;
    double *store[7];
    int64_t cu_q[8], cu_k[8];
};

static struct fb_ref_view fresh(struct world *w, int slot, int64_t b, int64_t h, int64_t n,
                                int64_t d, double spread)
{
    w->store[slot] = malloc((size_t)(b * h * n * d + 1) * sizeof(double));
    for (int64_t at = 0; at < b * h * n * d; at++)
        w->store[slot][at] = spread * draw();
    return fb_ref_view_array(w->store[slot], b, h, n, d);
}

static int64_t offsets(const int64_t *lengths, int64_t b, int64_t *cu)
{
    cu[0] = 0;
    for (int64_t s = 0; s < b; s++)
        cu[s + 1] = cu[s] + lengths[s];
    return cu[b];
}

/* extra: rows after the last packed sequence. */
static void make(struct world *w, const char *text, double spread, int64_t extra)
{
    memset(w, 0, sizeof *w);
    if (fb_problem_parse(&w->p, text) != FB_OK) {
        printf("Bail out! %s: %s\n", text, fb_status_message());
        exit(1);
    }
    struct fb_problem *p = &w->p;
    int64_t b = p->b, nq = p->nq, nk = p->nk;
    w->in.problem = p;
    if (p->qlens) {
        b = 1;
        nq = offsets(p->qlens, p->b, w->cu_q) + extra;
        nk = offsets(p->klens, p->b, w->cu_k) + extra;
        w->in.cu_qlens = w->cu_q;
        w->in.cu_klens = w->cu_k;
    }
    w->in.q = fresh(w, 0, b, p->h, nq, p->d, spread);
    w->in.k = fresh(w, 1, b, p->hk, nk, p->d, spread);
    w->in.v = fresh(w, 2, b, p->hk, nk, p->dv, 1);
    w->in.dout = fresh(w, 3, b, p->h, nq, p->dv, 1);
    if (p->dlse)
        w->in.dlse = fresh(w, 4, b, p->h, nq, 1, 1);
    if (p->sink)
        w->in.sink = fresh(w, 5, 1, p->h, 1, 1, 1);
    if (p->bias == FB_BIAS_HEAD)
        w->in.bias = fresh(w, 6, 1, p->h, p->nq, p->nk, 1);
    if (p->bias == FB_BIAS_FULL)
        w->in.bias = fresh(w, 6, p->b, p->h, p->nq, p->nk, 1);
}

static bool compute(struct world *w)
{
    struct fb_ref_request want = {.values = &w->out};
    fb_ref_free(&w->out);
    return fb_ref_compute(&w->in, &want) == FB_OK;
}

static void drop(struct world *w)
{
    for (int slot = 0; slot < 7; slot++)
        free(w->store[slot]);
    fb_ref_free(&w->out);
    fb_problem_free(&w->p);
}

static bool all_zero(const double *x, int64_t count)
{
    for (int64_t n = 0; n < count; n++)
        if (x[n] != 0)
            return false;
    return true;
}

static bool all_finite(const double *x, int64_t count)
{
    for (int64_t n = 0; n < count; n++)
        if (!isfinite(x[n]))
            return false;
    return true;
}

static double furthest(const double *x, const double *y, int64_t count)
{
    double worst = 0;
    for (int64_t n = 0; n < count; n++)
        if (!(fabs(x[n] - y[n]) <= worst))
            worst = fabs(x[n] - y[n]);
    return worst;
}

static bool same_gradients(const struct fb_problem *p, const struct fb_ref_tensors *a,
                           const struct fb_ref_tensors *b)
{
    size_t q = (size_t)(a->q_count * p->d) * sizeof(double);
    size_t k = (size_t)(a->k_count * p->d) * sizeof(double);
    size_t v = (size_t)(a->k_count * p->dv) * sizeof(double);
    size_t o = (size_t)(a->q_count * p->dv) * sizeof(double);
    return !memcmp(a->dq, b->dq, q) && !memcmp(a->dk, b->dk, k) && !memcmp(a->dv, b->dv, v) &&
           !memcmp(a->o, b->o, o) && !memcmp(a->lse, b->lse, (size_t)a->q_count * sizeof(double)) &&
           (!a->dsink || !memcmp(a->dsink, b->dsink, (size_t)p->h * sizeof(double)));
}

/* ---- Independence -----------------------------------------------------------------------------
 */

#define EVERYTHING                                                                                 \
    "b=2,h=6,hk=2,nq=77,nk=85,d=12,dv=8,causal,softcap=2,alibi=auto,dropout=0.2@5:9,sink,dlse,"    \
    "window=20:-1,dtype=fp32"

static void test_threads(void)
{
#ifdef _OPENMP
    struct world w;
    make(&w, EVERYTHING, 1, 0);
    omp_set_num_threads(1);
    compute(&w);
    struct fb_ref_tensors one = w.out;
    memset(&w.out, 0, sizeof w.out);
    for (int threads = 2; threads <= 5; threads += 3) {
        omp_set_num_threads(threads);
        tap_ok(compute(&w) && same_gradients(&w.p, &one, &w.out), "%d threads give the same bits",
               threads);
    }
    omp_set_num_threads(omp_get_num_procs());
    fb_ref_free(&one);
    drop(&w);
#else
    tap_skip("built without OpenMP");
#endif
}

/* The same values behind other strides. */
static void test_strides(void)
{
    struct world w;
    make(&w, EVERYTHING, 1, 0);
    compute(&w);
    struct fb_ref_tensors plain = w.out;
    memset(&w.out, 0, sizeof w.out);
    struct fb_ref_view *views[] = {&w.in.q, &w.in.k, &w.in.v, &w.in.dout};
    double *moved[4];
    for (int t = 0; t < 4; t++) {
        const int64_t *s = views[t]->shape;
        struct fb_ref_view bnhd = *views[t];
        moved[t] = calloc((size_t)(s[0] * s[1] * s[2] * (s[3] + 3)), sizeof(double));
        bnhd.data = moved[t];
        bnhd.stride[2] = s[1] * (s[3] + 3);
        bnhd.stride[1] = s[3] + 3;
        bnhd.stride[0] = s[2] * bnhd.stride[2];
        for (int64_t b = 0; b < s[0]; b++)
            for (int64_t h = 0; h < s[1]; h++)
                for (int64_t n = 0; n < s[2]; n++)
                    for (int64_t d = 0; d < s[3]; d++)
                        moved[t][b * bnhd.stride[0] + h * bnhd.stride[1] + n * bnhd.stride[2] + d] =
                            fb_ref_read(views[t], b, h, n, d);
        *views[t] = bnhd;
    }
    tap_ok(compute(&w) && same_gradients(&w.p, &plain, &w.out),
           "[b, n, h, d] with gaps: same bits");
    fb_ref_free(&plain);
    for (int t = 0; t < 4; t++)
        free(moved[t]);
    /* One row of dout for all, by stride 0, against the row written out. */
    double *dout = w.store[3];
    int64_t rows = w.p.b * w.p.h * w.p.nq;
    w.in.q = fb_ref_view_array(w.store[0], w.p.b, w.p.h, w.p.nq, w.p.d);
    w.in.k = fb_ref_view_array(w.store[1], w.p.b, w.p.hk, w.p.nk, w.p.d);
    w.in.v = fb_ref_view_array(w.store[2], w.p.b, w.p.hk, w.p.nk, w.p.dv);
    w.in.dout = fb_ref_view_array(dout, w.p.b, w.p.h, w.p.nq, w.p.dv);
    for (int64_t n = w.p.dv; n < rows * w.p.dv; n++)
        dout[n] = dout[n - w.p.dv];
    compute(&w);
    plain = w.out;
    memset(&w.out, 0, sizeof w.out);
    w.in.dout.stride[0] = w.in.dout.stride[1] = w.in.dout.stride[2] = 0;
    tap_ok(compute(&w) && same_gradients(&w.p, &plain, &w.out), "an expanded dout: same bits");
    fb_ref_free(&plain);
    drop(&w);
}

static void test_sampling(void)
{
    struct world w;
    static const int64_t q_rows[] = {0, 5, 76, 77, 200, 923};
    static const int64_t k_rows[] = {0, 84, 85, 100, 339};
    struct fb_ref_tensors some = {0};
    struct fb_ref_request want = {.rows = {q_rows, k_rows, 6, 5}, .values = &some};
    make(&w, EVERYTHING, 1, 0);
    compute(&w);
    bool equal = fb_ref_compute(&w.in, &want) == FB_OK;
    for (int n = 0; n < 6 && equal; n++)
        equal = !memcmp(some.dq + n * w.p.d, w.out.dq + q_rows[n] * w.p.d,
                        (size_t)w.p.d * sizeof(double)) &&
                !memcmp(some.o + n * w.p.dv, w.out.o + q_rows[n] * w.p.dv,
                        (size_t)w.p.dv * sizeof(double)) &&
                some.lse[n] == w.out.lse[q_rows[n]];
    for (int n = 0; n < 5 && equal; n++)
        equal = !memcmp(some.dk + n * w.p.d, w.out.dk + k_rows[n] * w.p.d,
                        (size_t)w.p.d * sizeof(double)) &&
                !memcmp(some.dv + n * w.p.dv, w.out.dv + k_rows[n] * w.p.dv,
                        (size_t)w.p.dv * sizeof(double));
    tap_ok(equal, "chosen rows are those of the whole, bit for bit");
    fb_ref_free(&some);
    drop(&w);
}

/* ---- Special cases ----------------------------------------------------------------------------
 */

static void test_lengths(void)
{
    struct world w;
    make(&w, "h=2,n=1,d=16,dtype=fp32", 3, 0);
    tap_ok(compute(&w) && all_zero(w.out.dq, 32) && all_zero(w.out.dk, 32) &&
               furthest(w.out.dv, w.store[3], 32) == 0,
           "one key: dv is dout, dq and dk are 0");
    drop(&w);
    make(&w, "h=2,nq=30,nk=1,d=8,dtype=fp32", 1, 0);
    double sum = 0;
    for (int i = 0; i < 30; i++)
        sum += w.store[3][8 * i];
    tap_ok(compute(&w) && all_zero(w.out.dq, 480) && all_zero(w.out.dk, 16) &&
               fabs(w.out.dv[0] - sum) < 1e-14,
           "one key, many queries: dv is the column sum of dout");
    drop(&w);
    static const char *const empty[] = {"nq=0,nk=64,d=8,dtype=fp32", "nq=64,nk=0,d=8,dtype=fp32",
                                        "b=0,n=16,d=8,dtype=fp32"};
    for (int n = 0; n < 3; n++) {
        make(&w, empty[n], 1, 0);
        bool ok = compute(&w) && all_zero(w.out.dq, w.out.q_count * 8) &&
                  all_zero(w.out.dk, w.out.k_count * 8) && all_zero(w.out.o, w.out.q_count * 8);
        for (int64_t row = 0; row < w.out.q_count; row++)
            ok = ok && w.out.lse[row] == -INFINITY;
        tap_ok(ok, "%s: a success, all zero", empty[n]);
        drop(&w);
    }
    make(&w, "nq=50,nk=23,d=8,causal,dtype=fp32", 1, 0);
    tap_ok(compute(&w) && all_zero(w.out.o, 27 * 8) && all_zero(w.out.dq, 27 * 8) &&
               w.out.lse[26] == -INFINITY && isfinite(w.out.lse[27]) &&
               !all_zero(w.out.dk, 23 * 8) && all_finite(w.out.dk, 23 * 8),
           "rows without keys: o and dq are 0, lse is -inf, the rest is finite");
    drop(&w);
    make(&w, "nq=5,nk=20,d=8,window=2:0,dtype=fp32", 1, 0);
    tap_ok(compute(&w) && all_zero(w.out.dk, 13 * 8) && all_zero(w.out.dv, 13 * 8) &&
               !all_zero(w.out.dv + 13 * 8, 8),
           "keys that nobody sees: exactly 0");
    drop(&w);
}

static void test_packed(void)
{
    struct world w, alone;
    make(&w, "b=4,h=9,hk=3,nq=6,nk=7,d=8,qlens=0+6+0+3,klens=0+3+4+7,causal,dtype=fp32", 1, 2);
    bool ok = compute(&w);
    for (int64_t h = 0; h < 9 && ok; h++)
        ok = all_zero(w.out.dq + (h * 11 + 9) * 8, 16);
    for (int64_t h = 0; h < 3 && ok; h++)
        ok = all_zero(w.out.dk + (h * 16 + 14) * 8, 16) &&
             all_zero(w.out.dv + (h * 16 + 14) * 8, 16);
    tap_ok(ok, "rows after the last sequence get 0");
    tap_ok(all_zero(w.out.dk + 3 * 8, 4 * 8), "keys of a sequence without queries get 0");
    /* The last sequence by itself. */
    make(&alone, "h=9,hk=3,nq=3,nk=7,d=8,causal,dtype=fp32", 1, 0);
    for (int64_t h = 0; h < 9; h++)
        for (int64_t n = 0; n < 3 * 8; n++) {
            alone.store[0][h * 24 + n] = w.store[0][(h * 11 + 6) * 8 + n];
            alone.store[3][h * 24 + n] = w.store[3][(h * 11 + 6) * 8 + n];
        }
    for (int64_t h = 0; h < 3; h++)
        for (int64_t n = 0; n < 7 * 8; n++) {
            alone.store[1][h * 56 + n] = w.store[1][(h * 16 + 7) * 8 + n];
            alone.store[2][h * 56 + n] = w.store[2][(h * 16 + 7) * 8 + n];
        }
    ok = compute(&alone);
    for (int64_t h = 0; h < 3 && ok; h++)
        ok = !memcmp(alone.out.dk + h * 56, w.out.dk + (h * 16 + 7) * 8, 56 * sizeof(double));
    tap_ok(ok, "a packed sequence has the bits of the same one alone");
    drop(&alone);
    drop(&w);
}

/* Two problems on the same inputs; the largest difference of dq, dk and dv. */
static double between(const char *a, const char *b)
{
    struct world w;
    struct fb_problem other;
    make(&w, a, 1, 0);
    compute(&w);
    struct fb_ref_tensors first = w.out;
    memset(&w.out, 0, sizeof w.out);
    fb_problem_parse(&other, b);
    w.in.problem = &other;
    compute(&w);
    double worst = furthest(first.dq, w.out.dq, first.q_count * w.p.d);
    worst = fmax(worst, furthest(first.dk, w.out.dk, first.k_count * w.p.d));
    worst = fmax(worst, furthest(first.dv, w.out.dv, first.k_count * w.p.dv));
    fb_ref_free(&first);
    fb_problem_free(&other);
    drop(&w);
    return worst;
}

static void test_switches(void)
{
#define BASE "h=2,n=64,d=16,dtype=fp32"
    tap_ok(between(BASE ",causal", BASE ",window=-1:0") == 0, "causal is the window inf:0");
    tap_ok(between(BASE ",causal", BASE ",window=64:0") == 0, "and the window n:0");
    tap_ok(between(BASE ",causal", BASE ",window=63:0") == 0, "and the window n-1:0");
    tap_ok(between(BASE ",causal", BASE ",window=62:0") > 1e-6, "but not the window n-2:0");
    tap_ok(between(BASE, BASE ",causal") > 1e-3, "causal on and off differ");
    tap_ok(between(BASE ",causal", BASE ",mask=causal-topleft") == 0,
           "the alignments agree on squares");
    tap_ok(between("nq=30,nk=50,d=8,causal,dtype=fp32",
                   "nq=30,nk=50,d=8,mask=causal-topleft,dtype=fp32") > 1e-3,
           "and differ elsewhere");
    tap_ok(between("n=20,d=80,dtype=fp32", "n=20,d=80,scale=0.11180339887498949,dtype=fp32") <
               1e-15,
           "the default scale is 1 / sqrt(80)");
#undef BASE
    struct world w;
    make(&w, "n=100,d=80,scale=0,dtype=fp32", 1, 0);
    tap_ok(compute(&w) && all_zero(w.out.dq, 8000) && all_zero(w.out.dk, 8000) &&
               fabs(w.out.lse[0] - log(100)) < 1e-14,
           "scale 0: uniform, dq and dk are 0");
    drop(&w);
    make(&w, "n=64,d=64,dtype=fp32", 0, 0);
    for (int n = 0; n < 64 * 64; n++)
        w.store[0][n] = w.store[1][n] = 1000;
    tap_ok(compute(&w) && all_finite(w.out.dq, 4096) && all_finite(w.out.dv, 4096),
           "logits of 8e6 stay finite");
    drop(&w);
}

static void test_groups(void)
{
    struct world g, full;
    make(&g, "h=6,hk=2,n=20,d=8,causal,dtype=fp32", 1, 0);
    make(&full, "h=6,hk=6,n=20,d=8,causal,dtype=fp32", 1, 0);
    compute(&g);
    for (int64_t h = 0; h < 6; h++)
        for (int64_t n = 0; n < 160; n++) {
            full.store[0][h * 160 + n] = g.store[0][h * 160 + n];
            full.store[3][h * 160 + n] = g.store[3][h * 160 + n];
            full.store[1][h * 160 + n] = g.store[1][h / 3 * 160 + n];
            full.store[2][h * 160 + n] = g.store[2][h / 3 * 160 + n];
        }
    compute(&full);
    double worst = furthest(g.out.dq, full.out.dq, 960);
    for (int64_t h = 0; h < 2; h++)
        for (int64_t n = 0; n < 160; n++) {
            double dk = 0, dv = 0;
            for (int64_t r = 0; r < 3; r++) {
                dk += full.out.dk[(3 * h + r) * 160 + n];
                dv += full.out.dv[(3 * h + r) * 160 + n];
            }
            worst = fmax(worst, fabs(dk - g.out.dk[h * 160 + n]));
            worst = fmax(worst, fabs(dv - g.out.dv[h * 160 + n]));
        }
    tap_ok(worst < 1e-13, "a group's dk and dv are the sums over its query heads: %.1e", worst);
    drop(&g);
    drop(&full);
}

static void test_terms(void)
{
    struct world with, without;
    make(&with, "h=2,n=33,d=16,sink,dtype=fp32", 1, 0);
    make(&without, "h=2,n=33,d=16,dtype=fp32", 1, 0);
    for (int slot = 0; slot < 4; slot++)
        memcpy(without.store[slot], with.store[slot], 2 * 33 * 16 * sizeof(double));
    with.store[5][0] = with.store[5][1] = -INFINITY;
    tap_ok(compute(&with) && compute(&without) && all_zero(with.out.dsink, 2) &&
               furthest(with.out.dq, without.out.dq, 2 * 33 * 16) == 0 &&
               furthest(with.out.dk, without.out.dk, 2 * 33 * 16) == 0,
           "a sink of -inf is no sink");
    drop(&with);
    drop(&without);
    struct world shared, full;
    make(&shared, "b=3,h=2,n=12,d=8,bias=head,dtype=fp32", 1, 0);
    make(&full, "b=3,h=2,n=12,d=8,bias=full,dtype=fp32", 1, 0);
    for (int slot = 0; slot < 4; slot++)
        memcpy(full.store[slot], shared.store[slot], 6 * 12 * 8 * sizeof(double));
    for (int64_t n = 0; n < 3 * 288; n++)
        full.store[6][n] = shared.store[6][n % 288];
    compute(&shared);
    compute(&full);
    double worst = 0;
    for (int64_t n = 0; n < 288; n++)
        worst = fmax(worst, fabs(shared.out.dbias[n] - full.out.dbias[n] - full.out.dbias[288 + n] -
                                 full.out.dbias[576 + n]));
    tap_ok(worst < 1e-14, "dbias of a shared bias is the sum over the batch: %.1e", worst);
    drop(&shared);
    drop(&full);
}

int main(void)
{
    test_threads();
    test_strides();
    test_sampling();
    test_lengths();
    test_packed();
    test_switches();
    test_groups();
    test_terms();
    return tap_done();
}
