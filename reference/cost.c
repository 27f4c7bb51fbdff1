/* SPDX-License-Identifier: BSD-3-Clause
 *
 * cost.c: counts visible pairs row by row with the reference's own masks.
 */
#include "reference/cost.h"

#include "reference/reference.h"

/* Pairs of one sequence and one head. */
static double pairs_of(const struct fb_problem *problem, int64_t nq, int64_t nk)
{
    double pairs = 0;
    for (int64_t i = 0; i < nq; i++) {
        int64_t lo, hi;
        fb_ref_keys(problem, nq, nk, i, &lo, &hi);
        pairs += (double)(hi - lo);
    }
    return pairs;
}

static int64_t total(const int64_t *lengths, int64_t b, int64_t n)
{
    int64_t sum = 0;
    for (int64_t s = 0; s < b; s++)
        sum += lengths ? lengths[s] : n;
    return sum;
}

void fb_cost_of(const struct fb_problem *problem, struct fb_cost *cost)
{
    const struct fb_problem *p = problem;
    double d = (double)p->d, dv = (double)p->dv, pairs = 0;
    if (!p->qlens && !p->klens)
        pairs = (double)p->b * pairs_of(p, p->nq, p->nk);
    else
        for (int64_t s = 0; s < p->b; s++)
            pairs += pairs_of(p, p->qlens ? p->qlens[s] : p->nq, p->klens ? p->klens[s] : p->nk);
    double element = p->dtype == FB_FP32 ? 4 : 2;
    double rows_q = (double)p->h * (double)total(p->qlens, p->b, p->nq);
    double rows_k = (double)p->hk * (double)total(p->klens, p->b, p->nk);
    double q = element * rows_q * d, o = element * rows_q * dv, lse = 4 * rows_q;
    double k = element * rows_k * d, v = element * rows_k * dv;
    cost->pairs = pairs * (double)p->h;
    cost->forward_flops = 2 * cost->pairs * (d + dv);
    cost->backward_flops = 2 * cost->pairs * (3 * d + 2 * dv);
    cost->forward_bytes = q + k + v + o + lse;
    cost->backward_bytes = 2 * (q + k + v) + 2 * o + lse;
}

/* The five are s, dp, dv, dq, dk. Without s (a saved P) there are four; each pair beyond five makes
 * s and dp again, an odd one s. */
double fb_cost_executed(const struct fb_problem *problem, int gemms)
{
    struct fb_cost cost;
    fb_cost_of(problem, &cost);
    double d = (double)problem->d, dv = (double)problem->dv;
    int s = gemms - 5 >= 0 ? 1 + (gemms - 5 + 1) / 2 : gemms - 4;
    int dp = gemms - 5 >= 0 ? 1 + (gemms - 5) / 2 : 1;
    return 2 * cost.pairs * ((s + 2) * d + (dp + 1) * dv);
}
