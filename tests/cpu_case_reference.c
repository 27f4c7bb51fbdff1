/* SPDX-License-Identifier: BSD-3-Clause
 *
 * cpu_case_reference.c: what a CPU variant should compute: the equations in fp64, one pair at a
 * time, and beside each sum the sum of its terms' magnitudes.
 */
#include <math.h>
#include <stdlib.h>

#include "core/half.h"
#include "core/tensor.h"
#include "data/buffers.h"
#include "tests/cpu_case.h"

static int sees(const struct fb_problem *p, int64_t i, int64_t j)
{
    const int64_t at = i + p->nk - p->nq;
    if (p->mask == FB_MASK_CAUSAL && j > at)
        return 0;
    if (p->mask == FB_MASK_CAUSAL_TOPLEFT && j > i)
        return 0;
    if (p->window_left != FB_OPEN && j < at - p->window_left)
        return 0;
    return p->window_right == FB_OPEN || j <= at + p->window_right;
}

/* One head as doubles. */
static void copy_head(double *to, const struct fb_tensor *t, int64_t b, int64_t h)
{
    for (int64_t i = 0; i < t->shape[2]; i++)
        for (int64_t x = 0; x < t->shape[3]; x++)
            *to++ = fb_element_read(t->data, t->dtype, fb_tensor_offset(t, b, h, i, x));
}

static double dot(const double *x, const double *y, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

/* Adds factor * row to element `at` of output `which`, and `size` * |row| to its term sums. */
static void add_terms(struct cpu_case *c, int which, int64_t at, double factor, double size,
                      const double *row, int64_t n)
{
    for (int64_t x = 0; x < n; x++) {
        c->ref[which][at * n + x] += factor * row[x];
        c->terms[which][at * n + x] += size * fabs(row[x]);
    }
}

struct head {
    double *q, *k, *v, *dout, *p, *dp;
};

/* One query row: o, lse, and its part of every gradient. */
static void reference_row(struct cpu_case *c, const struct head *t, int64_t row, int64_t base,
                          int64_t i)
{
    const struct fb_problem *pr = &c->problem;
    const int64_t d = pr->d, dv = pr->dv;
    const double *q = t->q + i * d, *dout = t->dout + i * dv;
    double most = -INFINITY, sum = 0, delta = 0, size = 0;
    for (int64_t j = 0; j < pr->nk; j++) {
        t->p[j] = sees(pr, i, j) ? pr->scale * dot(q, t->k + j * d, d) : -INFINITY;
        t->dp[j] = dot(dout, t->v + j * dv, dv);
        most = fmax(most, t->p[j]);
    }
    for (int64_t j = 0; j < pr->nk; j++)
        sum += t->p[j] == -INFINITY ? 0 : exp(t->p[j] - most);
    c->ref[1][row] = most + log(sum);
    c->terms[1][row] = sum > 0 ? fabs(most) + fabs(log(sum)) : 0;
    for (int64_t j = 0; j < pr->nk; j++) {
        const double p = t->p[j] == -INFINITY ? 0 : exp(t->p[j] - c->ref[1][row]);
        t->p[j] = p;
        delta += p * t->dp[j];
        size += p * fabs(t->dp[j]);
        add_terms(c, 0, row, p, p, t->v + j * dv, dv);
        add_terms(c, 4, base + j, p, p, dout, dv);
    }
    for (int64_t j = 0; j < pr->nk; j++) {
        const double ds = pr->scale * t->p[j] * (t->dp[j] - delta);
        const double ds_size = fabs(pr->scale) * t->p[j] * (fabs(t->dp[j]) + size);
        add_terms(c, 2, row, ds, ds_size, t->k + j * d, d);
        add_terms(c, 3, base + j, ds, ds_size, q, d);
    }
}

void cpu_case_reference(struct cpu_case *c)
{
    const struct fb_problem *p = &c->problem;
    const struct fb_args *a = &c->args;
    const int64_t q = p->b * p->h * p->nq, k = p->b * p->hk * p->nk;
    const int64_t counts[5] = {q * p->dv, q, q * p->d, k * p->d, k * p->dv};
    for (int i = 0; i < 5; i++) {
        c->ref[i] = calloc((size_t)counts[i] + 1, sizeof(double));
        c->terms[i] = calloc((size_t)counts[i] + 1, sizeof(double));
    }
    double *memory = calloc((size_t)((p->nq + p->nk + 1) * (p->d + p->dv + 2)), sizeof *memory);
    struct head t = {.q = memory};
    t.k = t.q + p->nq * p->d;
    t.v = t.k + p->nk * p->d;
    t.dout = t.v + p->nk * p->dv;
    t.p = t.dout + p->nq * p->dv;
    t.dp = t.p + p->nk;
    for (int64_t b = 0; b < p->b; b++)
        for (int64_t h = 0; h < p->h; h++) {
            const int64_t hk = h / (p->h / p->hk);
            copy_head(t.q, &a->q, b, h);
            copy_head(t.k, &a->k, b, hk);
            copy_head(t.v, &a->v, b, hk);
            copy_head(t.dout, &a->dout, b, h);
            for (int64_t i = 0; i < p->nq; i++)
                reference_row(c, &t, (b * p->h + h) * p->nq + i, (b * p->hk + hk) * p->nk, i);
        }
    free(memory);
}
