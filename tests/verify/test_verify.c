/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the judge is made of: metrics on hand-made tensors, hashes and run-to-run comparison.
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
#include "tests/random_tensor.h"
#include "tests/tap.h"
#include "verify/determinism.h"
#include "verify/hash.h"
#include "verify/metrics.h"
#include "verify/queries.h"

/* ---- Metrics ----------------------------------------------------------------------------------
 */

static struct fb_metrics measure(struct fb_tensor *t, const double *reference,
                                 const double *allowed, int64_t rows)
{
    struct fb_metrics m;
    struct fb_metrics_input in = {.tensor = t, .reference = reference, .allowed = allowed};
    in.count = rows;
    in.band = FB_FP32;
    if (fb_metrics_compare(&in, &m) != FB_OK)
        tap_ok(false, "rows are compared");
    return m;
}

static void test_metrics(void)
{
    struct fb_tensor t = tensor(FB_FP32, 1, 1, 2, 3);
    float *x = t.data;
    const double reference[6] = {3, 0, 4, 0, 0, 12}, allowed[6] = {1, 1, 1, 1, 1, 1};
    for (int n = 0; n < 6; n++)
        x[n] = (float)reference[n];
    struct fb_metrics m = measure(&t, reference, allowed, 2);
    tap_ok(m.max_abs == 0 && m.rel_l2 == 0 && m.row_rel_l2 == 0 && m.cosine == 1 &&
               m.norm_ratio == 1 && m.bound_ratio == 0 && m.nonfinite == 0 && m.elements == 6,
           "equal tensors");
    x[1] = 0.5f;
    m = measure(&t, reference, allowed, 2);
    tap_ok(m.max_abs == 0.5 && fabs(m.rel_l2 - 0.5 / 13) < 1e-15 && m.bound_ratio == 0.5 &&
               m.worst[2] == 0 && m.worst[3] == 1 && m.worst_got == 0.5 && m.worst_want == 0,
           "one difference: size, place and values");
    tap_ok(fabs(m.row_rel_l2 - 0.5 / sqrt(169.0 / 2)) < 1e-15, "worst row against a typical one");
    x[1] = 0;
    x[5] = -12;
    m = measure(&t, reference, allowed, 2);
    tap_ok(m.row_rel_l2 == 2 && m.norm_ratio == 1 && m.cosine < 0, "a flipped sign");
    const float bad[] = {NAN, INFINITY, -INFINITY};
    for (int n = 0; n < 3; n++) {
        x[5] = bad[n];
        m = measure(&t, reference, allowed, 2);
        tap_ok(m.nonfinite == 1 && m.bound_ratio == INFINITY && m.band_ratio == INFINITY &&
                   m.rel_l2 == INFINITY && m.max_abs == INFINITY && m.cosine == 0 &&
                   m.worst[2] == 1 && m.worst[3] == 2,
               "%f is reported and never small", (double)bad[n]);
    }
    memset(x, 0, 6 * sizeof *x);
    m = measure(&t, reference, allowed, 2);
    tap_ok(m.rel_l2 == 1 && m.norm_ratio == 0 && m.cosine == 0, "all zeros");
    t.shape[2] = 0;
    m = measure(&t, reference, allowed, 0);
    tap_ok(m.elements == 0 && m.rel_l2 == 0 && m.bound_ratio == 0 && m.worst[0] == -1,
           "an empty tensor");
    free(t.data);
    struct fb_tensor half = tensor(FB_FP16, 1, 1, 1, 1);
    const double large = 70000, room = 10;
    fb_element_write(half.data, FB_FP16, 0, INFINITY);
    m = measure(&half, &large, &room, 1);
    tap_ok(m.nonfinite == 0 && m.bound_ratio == 0, "an overflow of fp16 that is right");
    fb_element_write(half.data, FB_FP16, 0, -INFINITY);
    m = measure(&half, &large, &room, 1);
    tap_ok(m.nonfinite == 1, "and one of the wrong sign");
    free(half.data);
}

static void set_threads(int threads)
{
#ifdef _OPENMP
    omp_set_num_threads(threads);
#else
    (void)threads;
#endif
}

/* Many rows by many threads: the same bits as by one, the faults found where they are. */
static void test_many_rows(void)
{
    enum { ROWS = 3000, WIDTH = 300, BAD = 2741, COLUMN = 270 };
    struct fb_tensor t = tensor(FB_BF16, 2, 3, ROWS / 6, WIDTH);
    double *reference = malloc(sizeof *reference * ROWS * WIDTH);
    struct fb_metrics m[2];
    randomize(&t);
    for (int64_t n = 0; n < ROWS * WIDTH; n++)
        reference[n] = fb_element_read(t.data, FB_BF16, n) * (1 + 1e-3 * draw());
    for (int64_t c = 0; c < WIDTH; c++)
        reference[BAD * WIDTH + c] *= c == COLUMN ? -1 : 2;
    const struct fb_metrics_input in = {
        .tensor = &t, .reference = reference, .allowed = NULL, .count = ROWS, .band = FB_BF16};
    for (int i = 0; i < 2; i++) {
        set_threads(i ? 7 : 1);
        if (fb_metrics_compare(&in, &m[i]) != FB_OK)
            tap_ok(false, "rows are compared");
    }
    set_threads(2);
    tap_ok(m[0].rel_l2 == m[1].rel_l2 && m[0].cosine == m[1].cosine &&
               m[0].norm_ratio == m[1].norm_ratio && m[0].row_rel_l2 == m[1].row_rel_l2,
           "the number of threads does not matter");
    tap_ok(m[0].worst_row == BAD && m[1].worst_row == BAD && m[0].row_rel_l2 > 0.4,
           "the worst row is found: %lld", (long long)m[1].worst_row);
    fb_element_write(t.data, FB_BF16, BAD * WIDTH + COLUMN, (double)NAN);
    fb_element_write(t.data, FB_BF16, (BAD + 1) * WIDTH, (double)INFINITY);
    const int64_t rows[] = {5, 9}; /* not those of the sample alone are looked at */
    struct fb_metrics_input sample = in;
    sample.rows = rows;
    sample.count = 2;
    sample.reference = reference + 5 * WIDTH;
    tap_ok(fb_metrics_compare(&sample, &m[0]) == FB_OK && m[0].nonfinite == 2 &&
               m[0].worst[0] == 1 && m[0].worst[1] == 2 && m[0].worst[2] == BAD % (ROWS / 6) &&
               m[0].worst[3] == COLUMN && isnan(m[0].worst_got),
           "a NaN outside the sample is found");
    free(reference);
    free(t.data);
}

/* ---- Hash and determinism ---------------------------------------------------------------------
 */

static void test_hash(void)
{
    struct fb_tensor t = tensor(FB_BF16, 2, 3, 5, 7), moved = tensor(FB_BF16, 2, 5, 3, 9);
    randomize(&t);
    const struct fb_tensor bnhd = {
        .data = moved.data, .dtype = FB_BF16, .shape = {2, 3, 5, 7}, .stride = {135, 9, 27, 1}};
    for (int64_t b = 0; b < 2; b++)
        for (int64_t h = 0; h < 3; h++)
            for (int64_t n = 0; n < 5; n++)
                for (int64_t d = 0; d < 7; d++)
                    fb_element_write(
                        moved.data, FB_BF16, b * 135 + n * 27 + h * 9 + d,
                        fb_element_read(t.data, FB_BF16, ((b * 3 + h) * 5 + n) * 7 + d));
    uint64_t hash = fb_hash_tensor(&t);
    tap_ok(hash == fb_hash_tensor(&bnhd), "the layout does not matter");
    int collisions = 0;
    for (int64_t n = 0; n < 210; n++) {
        uint16_t *bits = (uint16_t *)t.data + n;
        *bits ^= 1;
        collisions += fb_hash_tensor(&t) == hash;
        *bits ^= 1 ^ 0x8000;
        collisions += fb_hash_tensor(&t) == hash;
        *bits ^= 0x8000;
    }
    tap_ok(collisions == 0, "every flipped bit shows");
    uint16_t first = ((uint16_t *)t.data)[0];
    ((uint16_t *)t.data)[0] = ((uint16_t *)t.data)[1];
    ((uint16_t *)t.data)[1] = first;
    tap_ok(fb_hash_tensor(&t) != hash, "and so does a swap");
    struct fb_tensor known = tensor(FB_FP32, 1, 1, 1, 4);
    const float values[4] = {0, -0.0f, 1, -2};
    memcpy(known.data, values, sizeof values);
    tap_ok(fb_hash_tensor(&known) == 0xcda981da3df02a1eu, "a known hash: %016llx",
           (unsigned long long)fb_hash_tensor(&known));
    free(known.data);
    free(t.data);
    free(moved.data);
}

/* At least two runs, all of the same bits. */
static bool holds(const struct fb_determinism *d)
{
    return d->runs >= 2 && d->differing == 0;
}

static void test_determinism(void)
{
    struct fb_determinism d;
    struct fb_tensor t = tensor(FB_FP32, 1, 1, 1, 3);
    float *x = t.data;
    x[0] = 1, x[1] = 0, x[2] = -4;
    fb_determinism_init(&d);
    fb_determinism_add(&d, &t);
    tap_ok(!holds(&d), "one run proves nothing");
    fb_determinism_add(&d, &t);
    tap_ok(holds(&d) && d.elements == 3, "two equal runs");
    x[0] = nextafterf(nextafterf(1, 2), 2);
    x[1] = -0.0f;
    fb_determinism_add(&d, &t);
    tap_ok(!holds(&d) && d.differing == 1 && d.changed == 2 && d.max_ulp == 2 && d.rel_l2 > 0 &&
               d.rel_l2 < 1e-7,
           "two units in the last place, and a -0: %lld elements", (long long)d.changed);
    x[2] = NAN;
    fb_determinism_add(&d, &t);
    x[2] = -5;
    fb_determinism_add(&d, &t);
    tap_ok(d.runs == 5 && d.differing == 3 && d.max_ulp == INT64_MAX && d.rel_l2 == INFINITY,
           "a NaN is infinitely far, and is not forgotten");
    t.shape[3] = 2;
    tap_ok(fb_determinism_add(&d, &t) == FB_USAGE, "another shape is refused");
    fb_status_clear();
    tap_ok(!fb_determinism_meaningful(FB_BF16, 20000, 16) &&
               !fb_determinism_meaningful(FB_BF16, 2000000, 2) &&
               fb_determinism_meaningful(FB_BF16, 2000000, 3) &&
               fb_determinism_meaningful(FB_FP32, 20000, 3) &&
               !fb_determinism_meaningful(FB_FP32, 2000, 3),
           "small cases prove little");
    fb_determinism_free(&d);
    free(t.data);
}

/* Queries of four heads, two a key head, 20 rows each; every fifth row of the first pair the same.
 */
static int64_t queries_of(const char *terms, const struct fb_tensor *q,
                          const struct fb_tensor *dout, int64_t most)
{
    struct fb_problem p;
    char text[128];
    int64_t count = -1;
    snprintf(text, sizeof text, "b=1,h=4,hk=2,n=20,d=8,dtype=bf16%s", terms);
    const struct fb_args args = {.problem = &p, .q = *q, .dout = *dout};
    if (fb_problem_parse(&p, text) != FB_OK)
        return count;
    if (fb_queries_count(&args, most, &count) != FB_OK)
        count = -1;
    fb_problem_free(&p);
    return count;
}

static void test_queries(void)
{
    struct fb_tensor q = tensor(FB_BF16, 1, 4, 20, 8), dout = tensor(FB_BF16, 1, 4, 20, 8);
    tap_ok(queries_of("", &q, &dout, 128) == 2, "queries that are all one count once a key head");
    randomize(&q);
    tap_ok(queries_of("", &q, &dout, 128) == 80, "different ones all count");
    tap_ok(queries_of("", &q, &dout, 16) == 32, "... up to so many a key head");
    for (int64_t row = 5; row < 40; row += 5)
        for (int64_t c = 0; c < 8; c++)
            fb_element_write(q.data, FB_BF16, row * 8 + c, fb_element_read(q.data, FB_BF16, c));
    tap_ok(queries_of("", &q, &dout, 128) == 73, "the same row in both heads of a group: once");
    tap_ok(queries_of(",causal", &q, &dout, 128) == 80 &&
               queries_of(",window=3:-1", &q, &dout, 128) == 80 &&
               queries_of(",alibi=auto", &q, &dout, 128) == 80 &&
               queries_of(",dropout=0.1@1:0", &q, &dout, 128) == 80,
           "all count where each sees others, or with other weights");
    randomize(&dout);
    tap_ok(queries_of("", &q, &dout, 128) == 80, "... or has another dout");
    free(q.data);
    free(dout.data);
}

static void test_bands(void)
{
    double atol, rtol;
    fb_metrics_band(FB_FP32, &atol, &rtol);
    tap_ok(atol == 1e-5 && rtol == 1e-4, "fp32 band");
    fb_metrics_band(FB_BF16, &atol, &rtol);
    tap_ok(atol == 5e-3 && rtol == 5e-3, "bf16 band");
    fb_metrics_band(FB_FP16, &atol, &rtol);
    tap_ok(atol == 1e-3 && rtol == 1e-3, "fp16 band");
}

int main(void)
{
    test_metrics();
    test_many_rows();
    test_bands();
    test_hash();
    test_queries();
    test_determinism();
    return tap_done();
}
