/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The reference on the special cases that users of attention kernels ran into: lengths of 0, rows
 * and keys that nobody sees, packed sequences, what is the same by another name, groups and terms.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/problem.h"
#include "tests/reference/ref_world.h"
#include "tests/tap.h"

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

static void test_lengths(void)
{
    struct ref_world w;
    ref_world_make(&w, "h=2,n=1,d=16,dtype=fp32", 3, 0);
    tap_ok(ref_world_compute(&w) && all_zero(w.out.dq, 32) && all_zero(w.out.dk, 32) &&
               furthest(w.out.dv, w.store[3], 32) == 0,
           "one key: dv is dout, dq and dk are 0");
    ref_world_drop(&w);
    ref_world_make(&w, "h=2,nq=30,nk=1,d=8,dtype=fp32", 1, 0);
    double sum = 0;
    for (int i = 0; i < 30; i++)
        sum += w.store[3][8 * i];
    tap_ok(ref_world_compute(&w) && all_zero(w.out.dq, 480) && all_zero(w.out.dk, 16) &&
               fabs(w.out.dv[0] - sum) < 1e-14,
           "one key, many queries: dv is the column sum of dout");
    ref_world_drop(&w);
    static const char *const empty[] = {"nq=0,nk=64,d=8,dtype=fp32", "nq=64,nk=0,d=8,dtype=fp32",
                                        "b=0,n=16,d=8,dtype=fp32"};
    for (int n = 0; n < 3; n++) {
        ref_world_make(&w, empty[n], 1, 0);
        bool ok = ref_world_compute(&w) && all_zero(w.out.dq, w.out.q_count * 8) &&
                  all_zero(w.out.dk, w.out.k_count * 8) && all_zero(w.out.o, w.out.q_count * 8);
        for (int64_t row = 0; row < w.out.q_count; row++)
            ok = ok && w.out.lse[row] == -INFINITY;
        tap_ok(ok, "%s: a success, all zero", empty[n]);
        ref_world_drop(&w);
    }
    ref_world_make(&w, "nq=50,nk=23,d=8,causal,dtype=fp32", 1, 0);
    tap_ok(ref_world_compute(&w) && all_zero(w.out.o, 27 * 8) && all_zero(w.out.dq, 27 * 8) &&
               w.out.lse[26] == -INFINITY && isfinite(w.out.lse[27]) &&
               !all_zero(w.out.dk, 23 * 8) && all_finite(w.out.dk, 23 * 8),
           "rows without keys: o and dq are 0, lse is -inf, the rest is finite");
    ref_world_drop(&w);
    ref_world_make(&w, "nq=5,nk=20,d=8,window=2:0,dtype=fp32", 1, 0);
    tap_ok(ref_world_compute(&w) && all_zero(w.out.dk, 13 * 8) && all_zero(w.out.dv, 13 * 8) &&
               !all_zero(w.out.dv + 13 * 8, 8),
           "keys that nobody sees: exactly 0");
    ref_world_drop(&w);
}

static void test_packed(void)
{
    struct ref_world w, alone;
    ref_world_make(&w, "b=4,h=9,hk=3,nq=6,nk=7,d=8,qlens=0+6+0+3,klens=0+3+4+7,causal,dtype=fp32",
                   1, 2);
    bool ok = ref_world_compute(&w);
    for (int64_t h = 0; h < 9 && ok; h++)
        ok = all_zero(w.out.dq + (h * 11 + 9) * 8, 16);
    for (int64_t h = 0; h < 3 && ok; h++)
        ok = all_zero(w.out.dk + (h * 16 + 14) * 8, 16) &&
             all_zero(w.out.dv + (h * 16 + 14) * 8, 16);
    tap_ok(ok, "rows after the last sequence get 0");
    tap_ok(all_zero(w.out.dk + 3 * 8, 4 * 8), "keys of a sequence without queries get 0");
    /* The last sequence by itself. */
    ref_world_make(&alone, "h=9,hk=3,nq=3,nk=7,d=8,causal,dtype=fp32", 1, 0);
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
    ok = ref_world_compute(&alone);
    for (int64_t h = 0; h < 3 && ok; h++)
        ok = !memcmp(alone.out.dk + h * 56, w.out.dk + (h * 16 + 7) * 8, 56 * sizeof(double));
    tap_ok(ok, "a packed sequence has the bits of the same one alone");
    ref_world_drop(&alone);
    ref_world_drop(&w);
}

/* Two problems on the same inputs; the largest difference of dq, dk and dv. */
static double between(const char *a, const char *b)
{
    struct ref_world w;
    struct fb_problem other;
    ref_world_make(&w, a, 1, 0);
    ref_world_compute(&w);
    struct fb_ref_tensors first = w.out;
    memset(&w.out, 0, sizeof w.out);
    fb_problem_parse(&other, b);
    w.in.problem = &other;
    ref_world_compute(&w);
    double worst = furthest(first.dq, w.out.dq, first.q_count * w.p.d);
    worst = fmax(worst, furthest(first.dk, w.out.dk, first.k_count * w.p.d));
    worst = fmax(worst, furthest(first.dv, w.out.dv, first.k_count * w.p.dv));
    fb_ref_free(&first);
    fb_problem_free(&other);
    ref_world_drop(&w);
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
    struct ref_world w;
    ref_world_make(&w, "n=100,d=80,scale=0,dtype=fp32", 1, 0);
    tap_ok(ref_world_compute(&w) && all_zero(w.out.dq, 8000) && all_zero(w.out.dk, 8000) &&
               fabs(w.out.lse[0] - log(100)) < 1e-14,
           "scale 0: uniform, dq and dk are 0");
    ref_world_drop(&w);
    ref_world_make(&w, "n=64,d=64,dtype=fp32", 0, 0);
    for (int n = 0; n < 64 * 64; n++)
        w.store[0][n] = w.store[1][n] = 1000;
    tap_ok(ref_world_compute(&w) && all_finite(w.out.dq, 4096) && all_finite(w.out.dv, 4096),
           "logits of 8e6 stay finite");
    ref_world_drop(&w);
}

static void test_groups(void)
{
    struct ref_world g, full;
    ref_world_make(&g, "h=6,hk=2,n=20,d=8,causal,dtype=fp32", 1, 0);
    ref_world_make(&full, "h=6,hk=6,n=20,d=8,causal,dtype=fp32", 1, 0);
    ref_world_compute(&g);
    for (int64_t h = 0; h < 6; h++)
        for (int64_t n = 0; n < 160; n++) {
            full.store[0][h * 160 + n] = g.store[0][h * 160 + n];
            full.store[3][h * 160 + n] = g.store[3][h * 160 + n];
            full.store[1][h * 160 + n] = g.store[1][h / 3 * 160 + n];
            full.store[2][h * 160 + n] = g.store[2][h / 3 * 160 + n];
        }
    ref_world_compute(&full);
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
    ref_world_drop(&g);
    ref_world_drop(&full);
}

static void test_terms(void)
{
    struct ref_world with, without;
    ref_world_make(&with, "h=2,n=33,d=16,sink,dtype=fp32", 1, 0);
    ref_world_make(&without, "h=2,n=33,d=16,dtype=fp32", 1, 0);
    for (int slot = 0; slot < 4; slot++)
        memcpy(without.store[slot], with.store[slot], 2 * 33 * 16 * sizeof(double));
    with.store[5][0] = with.store[5][1] = -INFINITY;
    tap_ok(ref_world_compute(&with) && ref_world_compute(&without) && all_zero(with.out.dsink, 2) &&
               furthest(with.out.dq, without.out.dq, 2 * 33 * 16) == 0 &&
               furthest(with.out.dk, without.out.dk, 2 * 33 * 16) == 0,
           "a sink of -inf is no sink");
    ref_world_drop(&with);
    ref_world_drop(&without);
    struct ref_world shared, full;
    ref_world_make(&shared, "b=3,h=2,n=12,d=8,bias=head,dtype=fp32", 1, 0);
    ref_world_make(&full, "b=3,h=2,n=12,d=8,bias=full,dtype=fp32", 1, 0);
    for (int slot = 0; slot < 4; slot++)
        memcpy(full.store[slot], shared.store[slot], 6 * 12 * 8 * sizeof(double));
    for (int64_t n = 0; n < 3 * 288; n++)
        full.store[6][n] = shared.store[6][n % 288];
    ref_world_compute(&shared);
    ref_world_compute(&full);
    double worst = 0;
    for (int64_t n = 0; n < 288; n++)
        worst = fmax(worst, fabs(shared.out.dbias[n] - full.out.dbias[n] - full.out.dbias[288 + n] -
                                 full.out.dbias[576 + n]));
    tap_ok(worst < 1e-14, "dbias of a shared bias is the sum over the batch: %.1e", worst);
    ref_world_drop(&shared);
    ref_world_drop(&full);
}

int main(void)
{
    test_lengths();
    test_packed();
    test_switches();
    test_groups();
    test_terms();
    return tap_done();
}
