/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The reference as a whole: independence of threads, strides and sampling, bit for bit. What it
 * makes of special cases is test_cases.c's.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef _OPENMP
#include <omp.h>
#endif

#include "tests/reference/ref_world.h"
#include "tests/tap.h"

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

#define EVERYTHING                                                                                 \
    "b=2,h=6,hk=2,nq=77,nk=85,d=12,dv=8,causal,softcap=2,alibi=auto,dropout=0.2@5:9,sink,dlse,"    \
    "window=20:-1,dtype=fp32"

static void test_threads(void)
{
#ifdef _OPENMP
    struct ref_world w;
    ref_world_make(&w, EVERYTHING, 1, 0);
    omp_set_num_threads(1);
    ref_world_compute(&w);
    struct fb_ref_tensors one = w.out;
    memset(&w.out, 0, sizeof w.out);
    for (int threads = 2; threads <= 5; threads += 3) {
        omp_set_num_threads(threads);
        tap_ok(ref_world_compute(&w) && same_gradients(&w.p, &one, &w.out),
               "%d threads give the same bits", threads);
    }
    omp_set_num_threads(omp_get_num_procs());
    fb_ref_free(&one);
    ref_world_drop(&w);
#else
    tap_skip("built without OpenMP");
#endif
}

/* The same values behind other strides. */
static void test_strides(void)
{
    struct ref_world w;
    ref_world_make(&w, EVERYTHING, 1, 0);
    ref_world_compute(&w);
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
    tap_ok(ref_world_compute(&w) && same_gradients(&w.p, &plain, &w.out),
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
    ref_world_compute(&w);
    plain = w.out;
    memset(&w.out, 0, sizeof w.out);
    w.in.dout.stride[0] = w.in.dout.stride[1] = w.in.dout.stride[2] = 0;
    tap_ok(ref_world_compute(&w) && same_gradients(&w.p, &plain, &w.out),
           "an expanded dout: same bits");
    fb_ref_free(&plain);
    ref_world_drop(&w);
}

static void test_sampling(void)
{
    struct ref_world w;
    static const int64_t q_rows[] = {0, 5, 76, 77, 200, 923};
    static const int64_t k_rows[] = {0, 84, 85, 100, 339};
    struct fb_ref_tensors some = {0};
    struct fb_ref_request want = {.rows = {q_rows, k_rows, 6, 5}, .values = &some};
    ref_world_make(&w, EVERYTHING, 1, 0);
    ref_world_compute(&w);
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
    ref_world_drop(&w);
}

int main(void)
{
    test_threads();
    test_strides();
    test_sampling();
    return tap_done();
}
