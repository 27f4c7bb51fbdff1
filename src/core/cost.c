/* SPDX-License-Identifier: BSD-3-Clause
 *
 * cost.c: FLOPs and bytes from a problem and its visible pairs.
 */
#include "core/cost.h"

#include "core/problem.h"

static int64_t total(const int64_t *lengths, int64_t b, int64_t n)
{
    int64_t sum = 0;
    if (!lengths)
        return b * n;
    for (int64_t s = 0; s < b; s++)
        sum += lengths[s];
    return sum;
}

void fb_cost_of(struct fb_cost *cost, const struct fb_problem *problem, int64_t pairs)
{
    const struct fb_problem *p = problem;
    double d = (double)p->d, dv = (double)p->dv;
    double element = p->dtype == FB_FP32 ? 4 : 2;
    double rows_q = (double)p->h * (double)total(p->qlens, p->b, p->nq);
    double rows_k = (double)p->hk * (double)total(p->klens, p->b, p->nk);
    double q = element * rows_q * d, o = element * rows_q * dv, lse = 4 * rows_q;
    double k = element * rows_k * d, v = element * rows_k * dv;
    cost->pairs = (double)pairs;
    cost->forward_flops = 2 * cost->pairs * (d + dv);
    cost->backward_flops = 2 * cost->pairs * (3 * d + 2 * dv);
    cost->forward_bytes = q + k + v + o + lse;
    cost->backward_bytes = 2 * (q + k + v) + 2 * o + lse;
}

/* The five are s, dp, dv, dq, dk. Without s (a saved P) there are four; each pair beyond five makes
 * s and dp again, an odd one s. */
double fb_cost_executed(const struct fb_problem *problem, int64_t pairs, int gemms)
{
    double d = (double)problem->d, dv = (double)problem->dv;
    int s = gemms - 5 >= 0 ? 1 + (gemms - 5 + 1) / 2 : gemms - 4;
    int dp = gemms - 5 >= 0 ? 1 + (gemms - 5) / 2 : 1;
    return 2 * (double)pairs * ((s + 2) * d + (dp + 1) * dv);
}

/* Multiply-adds of the score and dp GEMMs: a few seconds on two cores. */
#define LONG_COST 1.5e9

bool fb_cost_is_long(const struct fb_problem *problem)
{
    const double work = (double)fb_problem_pairs(problem) * (double)(problem->d + problem->dv);
    /* With a bias the problem holds n^2 numbers anyway, and dbias is judged as a whole. */
    return problem->bias == FB_BIAS_NONE && work > LONG_COST;
}
