/* SPDX-License-Identifier: BSD-3-Clause
 *
 * distributions.c: one function a distribution and the table that names them. Plain randn hides
 * faults of the LSE, of padding and of delta; the others bring them out (which one shows what is
 * said in doc/measuring.md).
 */
#include "data/distributions.h"

#include <math.h>

#include "core/problem.h"

static double param(const struct fb_draw *e, int index)
{
    return e->recipe->param[index];
}

static double noise(struct fb_draw *e)
{
    return fb_draw_normal(e, FB_STREAM_MAIN);
}

static bool is_input(const struct fb_draw *e, enum fb_input a, enum fb_input b)
{
    return e->input == a || e->input == b;
}

/* What q k^T must be for the logit (q k^T times the scale) to be `logit`. */
static double unscaled(const struct fb_draw *e, double logit)
{
    double scale = e->problem->scale;
    return logit / (scale != 0 ? scale : 1 / sqrt((double)e->problem->d));
}

/* ---- Plain ----------------------------------------------------------------------------------- */

static double randn(struct fb_draw *e)
{
    return param(e, e->input == FB_INPUT_DOUT ? 1 : 0) * noise(e);
}

static double uniform(struct fb_draw *e)
{
    return param(e, 0) + (param(e, 1) - param(e, 0)) * fb_draw_uniform(e, FB_STREAM_MAIN);
}

static double zero(struct fb_draw *e)
{
    (void)e;
    return 0;
}

static double one(struct fb_draw *e)
{
    (void)e;
    return 1;
}

static double flat(struct fb_draw *e)
{
    return e->input == FB_INPUT_Q ? 0 : noise(e);
}

static double constant_dout(struct fb_draw *e)
{
    return e->input == FB_INPUT_DOUT ? param(e, 0) : param(e, 1) * noise(e);
}

/* ---- Magnitude ------------------------------------------------------------------------------- */

static double tiny(struct fb_draw *e)
{
    return ldexp(noise(e), (int)param(e, 0));
}

static double huge(struct fb_draw *e)
{
    return is_input(e, FB_INPUT_Q, FB_INPUT_K) ? param(e, 0) : noise(e);
}

static double large_dout(struct fb_draw *e)
{
    return e->input == FB_INPUT_DOUT ? ldexp(noise(e), (int)param(e, 0)) : noise(e);
}

static double peaky(struct fb_draw *e)
{
    return e->input == FB_INPUT_Q ? param(e, 0) * noise(e) : noise(e);
}

static double outliers(struct fb_draw *e)
{
    double value = noise(e);
    if (fb_draw_uniform(e, FB_STREAM_CHOICE) < param(e, 1))
        value += param(e, 0) * fb_draw_normal(e, FB_STREAM_SECOND);
    return value;
}

/* The quantile function of Student's t with two degrees of freedom is algebraic: the same bits
 * everywhere. Its variance is infinite: however many are drawn, the largest dominate. */
static double heavy_tailed(struct fb_draw *e)
{
    double p = fb_draw_uniform(e, FB_STREAM_MAIN), most = param(e, 1);
    double t = param(e, 0) * (2 * p - 1) / sqrt(2 * p * (1 - p));
    return t > most ? most : t < -most ? -most : t;
}

static double channel(struct fb_draw *e)
{
    bool chosen = e->column == (int64_t)param(e, 0) % e->problem->d;
    if (e->input == FB_INPUT_K && chosen)
        return param(e, 1) + noise(e);
    if (e->input == FB_INPUT_Q && chosen)
        return param(e, 2) + 0.1 * noise(e);
    return noise(e);
}

/* ---- Signs and means ------------------------------------------------------------------------- */

static double mean(struct fb_draw *e)
{
    return is_input(e, FB_INPUT_V, FB_INPUT_DOUT) ? param(e, 0) + param(e, 1) * noise(e) : noise(e);
}

static double one_signed(struct fb_draw *e)
{
    return is_input(e, FB_INPUT_V, FB_INPUT_DOUT) ? param(e, 0) * fabs(noise(e)) : noise(e);
}

static double alternating(struct fb_draw *e)
{
    double value = noise(e);
    if (e->input == FB_INPUT_DOUT)
        return e->row & 1 ? -fabs(value) : fabs(value);
    return e->input == FB_INPUT_V ? fabs(value) : value;
}

/* ---- Logits ---------------------------------------------------------------------------------- */

/* Column 0 carries a logit of its own for the first `keys` keys: q is 1 there, k is the logit for
 * those keys and 0 for all others. */
static double first_keys(struct fb_draw *e, int64_t keys, double logit)
{
    if (e->column == 0 && e->input == FB_INPUT_Q)
        return 1;
    if (e->column == 0 && e->input == FB_INPUT_K)
        return e->row < keys ? unscaled(e, logit) : 0;
    return noise(e);
}

/* Key 0 has the logit exactly: its other columns are 0. */
static double sink(struct fb_draw *e)
{
    if (e->input == FB_INPUT_K && e->row == 0 && e->column > 0)
        return 0;
    return first_keys(e, 1, param(e, 0));
}

/* Several keys share the maximum, so that exp(s - max) is exactly 1 for each; V has one sign. */
static double multi_sink(struct fb_draw *e)
{
    int64_t keys = (int64_t)param(e, 0);
    if (e->input == FB_INPUT_V)
        return -4 + 2 * fb_draw_uniform(e, FB_STREAM_MAIN);
    if (e->input == FB_INPUT_K && e->row < keys && e->column > 0)
        return 0;
    return first_keys(e, keys, param(e, 1));
}

static double early_keys(struct fb_draw *e)
{
    return first_keys(e, (int64_t)param(e, 0), param(e, 1));
}

static double shifted_keys(struct fb_draw *e)
{
    return noise(e) + (e->input == FB_INPUT_K ? param(e, 0) : 0);
}

/* u = (1, ..., 1) / sqrt d. Every second query is noise + sign q u, every key noise + k u. */
static double deep(struct fb_draw *e, double sign)
{
    double u = 1 / sqrt((double)e->problem->d);
    if (e->input == FB_INPUT_Q && (e->row & 1))
        return noise(e) + sign * param(e, 0) * u;
    return noise(e) + (e->input == FB_INPUT_K ? param(e, 1) * u : 0);
}

static double deep_negative(struct fb_draw *e)
{
    return deep(e, -1);
}

static double deep_positive(struct fb_draw *e)
{
    return deep(e, 1);
}

/* Keys are rows of random signs; query i is `factor` times the signs of key i mod nk, which a
 * causal mask lets it see. Rows of signs are nearly orthogonal, so that one key takes all the mass.
 */
static double one_hot(struct fb_draw *e)
{
    if (!is_input(e, FB_INPUT_Q, FB_INPUT_K))
        return noise(e);
    struct fb_draw key = *e;
    key.input = FB_INPUT_K;
    if (e->input == FB_INPUT_Q) {
        int64_t nk = fb_problem_len_k(e->problem, e->batch);
        key.row = nk ? e->row % nk : 0;
        key.head = e->head / (e->problem->h / e->problem->hk);
    }
    double sign = fb_draw_uniform(&key, FB_STREAM_MAIN) < 0.5 ? -1 : 1;
    return e->input == FB_INPUT_Q ? sign * param(e, 0) : sign;
}

/* ---- Repetition ------------------------------------------------------------------------------ */

static double equal_keys(struct fb_draw *e)
{
    struct fb_draw first = *e;
    first.row = e->input == FB_INPUT_K ? 0 : e->row;
    return noise(&first);
}

static double repeat(struct fb_draw *e)
{
    struct fb_draw first = *e;
    int64_t run = (int64_t)param(e, 0);
    first.row = run ? e->row - e->row % run : 0;
    return noise(&first);
}

/* ---- Exact certificate ----------------------------------------------------------------------- */

static double integer_within(struct fb_draw *e, int bound)
{
    return floor(fb_draw_uniform(e, FB_STREAM_MAIN) * (2 * bound + 1)) - bound;
}

/* The row's probabilities are exact: it sees 2^m keys, in whole pairs (2t, 2t + 1). */
static bool is_dyadic_row(const struct fb_draw *e)
{
    int64_t lo, hi, nk = fb_problem_len_k(e->problem, e->batch);
    fb_problem_visible(e->problem, fb_problem_len_q(e->problem, e->batch), nk, e->row, &lo, &hi);
    int64_t keys = hi - lo + 1;
    return keys > 0 && !(keys & (keys - 1)) && !(lo & 1);
}

/* q lives in the first half of the columns and k in the second: s = 0, p = 1 / keys. Values come in
 * pairs b + a, b - a: o = b. With a scale that is a power of two every sum is a small integer times
 * a power of two: gradients must come out bit for bit, in any order and from bf16 or fp16 p and ds;
 * anything lost, doubled or rounded on the way shows. */
static double dyadic(struct fb_draw *e)
{
    int64_t half = e->problem->d / 2;
    struct fb_draw other = *e;
    switch (e->input) {
    case FB_INPUT_Q:
        return e->column < half ? integer_within(e, 2) : 0;
    case FB_INPUT_K:
        return e->column < half ? 0 : integer_within(e, 2);
    case FB_INPUT_V:
        other.row = e->row & ~INT64_C(1); /* a of the pair */
        double a = integer_within(&other, e->problem->dv > 128 ? 1 : 2);
        other.row = FB_PROBLEM_MAX_N; /* b of the column */
        return integer_within(&other, 4) + (e->row & 1 ? -a : a);
    default:
        return is_dyadic_row(e) ? integer_within(e, 1) : 0;
    }
}

/* ---- Probes ---------------------------------------------------------------------------------- */

/* Every dk and dv that this query does not see, and every other dq, is exactly zero. */
static double one_row(struct fb_draw *e)
{
    return e->input == FB_INPUT_DOUT && e->row != (int64_t)param(e, 0) ? 0 : noise(e);
}

/* Every dq that does not see this key is exactly zero. */
static double one_key(struct fb_draw *e)
{
    return e->input == FB_INPUT_K && e->row != (int64_t)param(e, 0) ? 0 : noise(e);
}

/* ---- The table ------------------------------------------------------------------------------- */

const struct fb_distribution fb_distributions[] = {
#define FB_DISTRIBUTION(name, summary, value, term, ...) {value, term},
#include "core/recipe/distributions.def"
#undef FB_DISTRIBUTION
};

bool fb_distribution_is_exact(int dist)
{
    return fb_distributions[dist].value == dyadic;
}
