/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the CPU variants promise about score terms beyond being right: the dropout mask that anybody
 * can make again, gradients of bias and sink with the same bits in every run, infinite logits, time
 * that falls with the window.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/half.h"
#include "core/problem.h"
#include "core/tensor.h"
#include "kernels/cpu/threads.h"
#include "tests/cpu_case.h"
#include "tests/tap.h"
#include "tests/term_case.h"
#include "verify/hash.h"

static void for_each(void (*test)(const struct fb_variant *))
{
    for (int t = 0; cpu_case_tables[t]; t++)
        for (int i = 0; cpu_case_tables[t][i]; i++)
            test(cpu_case_tables[t][i]);
}

static void set(const struct fb_tensor *t, int64_t b, int64_t h, int64_t n, int64_t c, double value)
{
    fb_element_write(t->data, t->dtype, fb_tensor_offset(t, b, h, n, c), value);
}

static double get(const struct fb_tensor *t, int64_t b, int64_t h, int64_t n, int64_t c)
{
    return fb_element_read(t->data, t->dtype, fb_tensor_offset(t, b, h, n, c));
}

/* ---- Dropout ------------------------------------------------------------------------------------
 */

/* The mask as flashback.h describes it. */
static int is_kept(const struct fb_problem *p, int64_t b, int64_t h, int64_t i, int64_t j)
{
    const uint64_t e = (uint64_t)(((b * p->h + h) * p->nq + i) * p->nk + j);
    uint32_t key[2] = {(uint32_t)p->dropout_seed, (uint32_t)(p->dropout_seed >> 32)};
    uint32_t x[4] = {(uint32_t)p->dropout_offset, (uint32_t)(p->dropout_offset >> 32),
                     (uint32_t)(e / 4), (uint32_t)(e / 4 >> 32)};
    for (int round = 0; round < 10; round++) {
        const uint64_t m = UINT64_C(0xD2511F53) * x[0], n = UINT64_C(0xCD9E8D57) * x[2];
        const uint32_t next[4] = {(uint32_t)(n >> 32) ^ x[1] ^ key[0], (uint32_t)n,
                                  (uint32_t)(m >> 32) ^ x[3] ^ key[1], (uint32_t)m};
        memcpy(x, next, sizeof x);
        key[0] += 0x9E3779B9u;
        key[1] += 0xBB67AE85u;
    }
    return (double)x[e % 4] >= floor(p->dropout * 4294967296.0 + 0.5);
}

/* Makes o and dv show the mask: with q = 0, v and dout rows of the identity, o[i][j] = p f_ij and
 * dv[j][i] = p f_ij. */
static void show_mask(const struct term_case *c)
{
    const struct fb_args *a = &c->inputs.args;
    const struct fb_problem *p = &c->problem;
    for (int64_t b = 0; b < p->b; b++)
        for (int64_t h = 0; h < p->h; h++) {
            for (int64_t n = 0; n < p->nk * p->dv; n++)
                set(&a->v, b, h, n / p->dv, n % p->dv, n / p->dv == n % p->dv);
            for (int64_t n = 0; n < p->nq * p->dv; n++)
                set(&a->dout, b, h, n / p->dv, n % p->dv, n / p->dv == n % p->dv);
        }
}

/* Entries that differ from the mask, or from what a kept one must be. */
static int wrong_entries(const struct term_case *c, const struct fb_args *out, int64_t *kept)
{
    const struct fb_problem *p = &c->problem;
    const double want = 1 / (1 - p->dropout) / (double)p->nk;
    int wrong = 0;
    for (int64_t e = 0; e < p->b * p->h * p->nq * p->nk; e++) {
        const int64_t j = e % p->nk, i = e / p->nk % p->nq, h = e / p->nk / p->nq % p->h;
        const int64_t b = e / p->nk / p->nq / p->h;
        const double value = is_kept(p, b, h, i, j) ? want : 0;
        *kept += value != 0;
        wrong += fabs(get(&out->o, b, h, i, j) - value) > 1e-6 * want;
        wrong += fabs(get(&out->dv, b, h, j, i) - value) > 1e-6 * want;
    }
    return wrong;
}

static void test_mask(const struct fb_variant *variant)
{
    static const char *const texts[] = {
        "b=2,h=3,nq=67,nk=65,d=8,dv=80,dropout=0.48@7:3",
        "b=2,h=2,nq=33,nk=150,d=8,dv=160,dropout=0.1@18446744073709551615:81985529216486895"};
    int wrong = 0;
    int64_t kept = 0, entries = 0;
    for (int i = 0; i < 2; i++) {
        struct term_case c;
        struct term_run run;
        if (!term_case_init(&c, texts[i], "", "flat@1"))
            return;
        show_mask(&c);
        wrong += term_run(&run, &c, variant, 2) ? wrong_entries(&c, &run.buffers.args, &kept) : 1;
        entries += c.problem.b * c.problem.h * c.problem.nq * c.problem.nk;
        term_run_free(&run);
        term_case_free(&c);
    }
    tap_ok(!wrong && kept > 0 && kept < entries,
           "%s: the mask of both passes is the documented one (%lld of %lld kept, %d wrong)",
           variant->name, (long long)kept, (long long)entries, wrong);
}

/* A mask from outside: the drawn one gives the same bits, its complement others. */
static void test_keep(const struct fb_variant *variant)
{
    struct term_case c;
    struct term_run run[3];
    uint8_t keep[2][2 * 2 * 40 * 50];
    if (!term_case_init(&c, "b=2,h=2,nq=40,nk=50,d=16,dropout=0.4@9:0,causal", "", "randn@1"))
        return;
    for (int64_t e = 0; e < 2 * 2 * 40 * 50; e++) {
        keep[0][e] = (uint8_t)is_kept(&c.problem, 0, 0, 0, e);
        keep[1][e] = !keep[0][e];
    }
    bool good = true, same = true;
    for (int i = 0; i < 3; i++) {
        c.keep = i ? keep[i - 1] : NULL;
        good &= term_run(&run[i], &c, variant, 2);
    }
    /* dq may change from run to run */
    same = fb_hash_tensor(&run[0].buffers.args.dv) == fb_hash_tensor(&run[1].buffers.args.dv) &&
           fb_hash_tensor(&run[0].buffers.args.o) == fb_hash_tensor(&run[1].buffers.args.o);
    good =
        good && fb_hash_tensor(&run[0].buffers.args.dv) != fb_hash_tensor(&run[2].buffers.args.dv);
    good = good && term_case_judge(&c) && term_case_passes(&c, variant, 2);
    tap_ok(good && same, "%s: a mask from outside takes the place of the drawn one", variant->name);
    for (int i = 0; i < 3; i++)
        term_run_free(&run[i]);
    term_case_free(&c);
}

/* ---- Bits ---------------------------------------------------------------------------------------
 */

/* dbias and dsink have the same bits for any number of threads: sums over batches and heads that
 * share a bias have one order in every variant, whatever that of dq is. */
static void test_bits(const struct fb_variant *variant)
{
    static const char *const biases[] = {"full", "head", "batch", "all"};
    const int any = strncmp(variant->name, "cpu-naive", 9) != 0; /* the BLAS's bits may differ */
    int bad = 0;
    for (int i = 0; i < 4; i++) {
        char text[128];
        struct term_case c;
        uint64_t first[2] = {0};
        snprintf(text, sizeof text, "b=3,h=4,hk=2,nq=150,nk=170,d=16,causal,sink,bias=%s",
                 biases[i]);
        if (!term_case_init(&c, text, "", "randn@1"))
            return;
        for (int n = 0; n < 8; n++) {
            struct term_run run;
            bad += !term_run(&run, &c, variant, any ? 1 + n % 4 : 2);
            const uint64_t hash[2] = {fb_hash_tensor(&run.buffers.args.dbias),
                                      fb_hash_tensor(&run.buffers.args.dsink)};
            if (n == 0)
                memcpy(first, hash, sizeof first);
            bad += memcmp(first, hash, sizeof first) != 0;
            term_run_free(&run);
        }
        term_case_free(&c);
    }
    tap_is_int((long long)bad, 0, "%s: dbias and dsink have the same bits %s", variant->name,
               any ? "for any number of threads" : "in every run");
}

/* ---- Infinite logits ----------------------------------------------------------------------------
 */

/* A sink of -inf is no sink: the same bits of everything else, and a zero gradient. */
static void test_no_sink(const struct fb_variant *variant)
{
    struct term_case with, without;
    struct term_run a, b;
    if (!term_case_init(&with, "h=2,nq=70,nk=90,d=16,causal,sink", "", "randn@1") ||
        !term_case_init(&without, "h=2,nq=70,nk=90,d=16,causal", "", "randn@1"))
        return;
    for (int64_t h = 0; h < 2; h++)
        set(&with.inputs.args.sink, 0, h, 0, 0, -INFINITY);
    bool good = term_run(&a, &with, variant, 1) && term_run(&b, &without, variant, 1);
    const struct fb_args *x = &a.buffers.args, *y = &b.buffers.args;
    const struct fb_tensor *const pairs[][2] = {
        {&x->o, &y->o}, {&x->lse, &y->lse}, {&x->dq, &y->dq}, {&x->dk, &y->dk}, {&x->dv, &y->dv}};
    for (int i = 0; good && i < 5; i++)
        good = fb_hash_tensor(pairs[i][0]) == fb_hash_tensor(pairs[i][1]);
    good = good && get(&x->dsink, 0, 0, 0, 0) == 0 && get(&x->dsink, 0, 1, 0, 0) == 0;
    tap_ok(good, "%s: a sink of -inf is no sink", variant->name);
    term_run_free(&a);
    term_run_free(&b);
    term_case_free(&with);
    term_case_free(&without);
}

/* An additive mask is a bias of -inf, of single entries and of whole rows. */
static void test_bias_mask(const struct fb_variant *variant)
{
    static const char *const texts[] = {"h=2,nq=70,nk=90,d=16,bias=full",
                                        "h=2,nq=70,nk=90,d=16,bias=full,sink,softcap=5,"
                                        "dropout=0.2@1:1"};
    int bad = 0;
    for (int i = 0; i < 2; i++) {
        struct term_case c;
        if (!term_case_init(&c, texts[i], "", "randn@1"))
            return;
        for (int64_t e = 0; e < 70 * 90; e++)
            if (e % 7 == 0 || e / 90 % 8 == 3 || (e / 90 == 20 && e % 90 < 80))
                set(&c.inputs.args.bias, 0, 1, e / 90, e % 90, -INFINITY);
        bad += !term_case_judge(&c) || !term_case_passes(&c, variant, 2);
        term_case_free(&c);
    }
    tap_is_int((long long)bad, 0, "%s: a bias of -inf masks entries and whole rows", variant->name);
}

/* ---- Windows ------------------------------------------------------------------------------------
 */

static double seconds_of(const struct fb_variant *variant, const char *problem, bool backward)
{
    struct term_case c;
    struct term_run run;
    double least = INFINITY;
    if (!term_case_init(&c, problem, "", "randn@1"))
        return NAN;
    if (!term_run(&run, &c, variant, 1))
        least = NAN;
    for (int i = 0; i < 3 && !isnan(least); i++) {
        const clock_t start = clock(); /* processor time: other programs do not count */
        (backward ? variant->backward : variant->forward)(variant, &run.host.ctx, NULL,
                                                          &run.buffers.args);
        least = fmin(least, (double)(clock() - start) / CLOCKS_PER_SEC);
    }
    term_run_free(&run);
    term_case_free(&c);
    return least;
}

/* 129 of 2048 keys are seen. The materialised variants sweep all, and say so. */
static void test_window(const struct fb_variant *variant)
{
    if (!strncmp(variant->name, "cpu-naive", 9))
        return;
    const char *full = "h=2,n=2048,d=32", *window = "h=2,n=2048,d=32,window=64:64";
    for (int backward = 0; backward < 2; backward++) {
        const double all = seconds_of(variant, full, backward);
        const double some = seconds_of(variant, window, backward);
        tap_ok(some < 0.4 * all, "%s: a window of 129 keys takes %.2f of the time of 2048, %s",
               variant->name, some / all, backward ? "backward" : "forward");
    }
}

int main(void)
{
    for_each(test_mask);
    for_each(test_keep);
    for_each(test_bits);
    for_each(test_no_sink);
    for_each(test_bias_mask);
    for_each(test_window);
    return tap_done();
}
