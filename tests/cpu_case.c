/* SPDX-License-Identifier: BSD-3-Clause
 *
 * cpu_case.c: tensors, calls and an fp64 comparison for the tests of the CPU variants.
 */
#include "tests/cpu_case.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/half.h"
#include "core/numerics.h"
#include "core/problem.h"

extern const struct fb_variant *const fb_variants_cpu_atomic[];
extern const struct fb_variant *const fb_variants_cpu_ml[];
extern const struct fb_variant *const fb_variants_cpu_naive[];
extern const struct fb_variant *const fb_variants_cpu_ordered[];
extern const struct fb_variant *const fb_variants_cpu_partials[];
extern const struct fb_variant *const fb_variants_cpu_split[];

const struct fb_variant *const *const cpu_case_tables[] = {fb_variants_cpu_naive,
                                                           fb_variants_cpu_atomic,
                                                           fb_variants_cpu_split,
                                                           fb_variants_cpu_ordered,
                                                           fb_variants_cpu_partials,
                                                           fb_variants_cpu_ml,
                                                           NULL};

/* A quiet NaN in fp32, bf16 and fp16 alike. */
#define POISON 0xff

const struct fb_variant *cpu_case_variant(const char *name)
{
    for (int t = 0; cpu_case_tables[t]; t++)
        for (int i = 0; cpu_case_tables[t][i]; i++)
            if (strcmp(cpu_case_tables[t][i]->name, name) == 0)
                return cpu_case_tables[t][i];
    return NULL;
}

static void explain(struct fb_context *ctx, const char *format, ...)
{
    (void)ctx;
    va_list arguments;
    va_start(arguments, format);
    fputs("# explained: ", stdout);
    vprintf(format, arguments);
    putchar('\n');
    va_end(arguments);
}

static void no_phase(struct fb_context *ctx, const char *name)
{
    (void)ctx;
    (void)name;
}

static void *take(struct cpu_case *c, size_t bytes)
{
    void *memory = aligned_alloc(256, (bytes + 256) / 256 * 256);
    if (memory)
        c->memory[c->count++] = memory;
    return memory;
}

/* Elements from the first to past the last of a view. */
static int64_t extent(const struct fb_tensor *t)
{
    int64_t last = 0;
    for (int i = 0; i < 4; i++) {
        if (t->shape[i] == 0)
            return 0;
        last += (t->shape[i] - 1) * t->stride[i];
    }
    return last + 1;
}

static size_t bytes_of(const struct fb_tensor *t)
{
    return (size_t)extent(t) * fb_dtype_bytes(t->dtype);
}

static int make(struct cpu_case *c, struct fb_tensor *t, enum fb_dtype dtype, int64_t h, int64_t n,
                int64_t d, int strided)
{
    const int64_t pad = strided ? 3 : 0, b = c->problem.b;
    *t = (struct fb_tensor){.dtype = dtype, .shape = {b, h, n, d}};
    t->stride[3] = 1;
    t->stride[2] = d + pad;
    t->stride[1] = n * t->stride[2] + 2 * pad;
    t->stride[0] = h * t->stride[1] + pad;
    t->data = take(c, bytes_of(t) + 8);
    if (t->data)
        memset(t->data, POISON, bytes_of(t));
    return t->data != NULL;
}

static int64_t offset(const struct fb_tensor *t, int64_t b, int64_t h, int64_t i)
{
    return b * t->stride[0] + h * t->stride[1] + i * t->stride[2];
}

static uint64_t seed = 1;

/* Sum of twelve uniforms: normal enough, and exact enough to repeat anywhere. */
static double normal(void)
{
    double sum = -6;
    for (int i = 0; i < 12; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        sum += (double)(seed >> 11) * 0x1p-53;
    }
    return sum;
}

static void fill(struct fb_tensor *t)
{
    for (int64_t b = 0; b < t->shape[0]; b++)
        for (int64_t h = 0; h < t->shape[1]; h++)
            for (int64_t i = 0; i < t->shape[2]; i++)
                for (int64_t x = 0; x < t->shape[3]; x++)
                    fb_element_write(t->data, t->dtype, offset(t, b, h, i) + x, normal());
}

int cpu_case_init(struct cpu_case *c, const char *problem, const char *numerics, int threads,
                  int strided)
{
    memset(c, 0, sizeof *c);
    if (fb_problem_parse(&c->problem, problem) != FB_OK ||
        fb_numerics_parse(&c->numerics, numerics) != FB_OK)
        return 0;
    const struct fb_problem *p = &c->problem;
    struct fb_args *a = &c->args;
    a->problem = &c->problem;
    a->numerics = &c->numerics;
    c->ctx = (struct fb_context){.abi_version = FB_ABI_VERSION,
                                 .struct_size = sizeof c->ctx,
                                 .threads = threads,
                                 .device = -1,
                                 .phase = no_phase,
                                 .explain = explain};
    if (!make(c, &a->q, p->dtype, p->h, p->nq, p->d, strided) ||
        !make(c, &a->k, p->dtype, p->hk, p->nk, p->d, strided) ||
        !make(c, &a->v, p->dtype, p->hk, p->nk, p->dv, strided) ||
        !make(c, &a->o, p->dtype, p->h, p->nq, p->dv, strided) ||
        !make(c, &a->lse, FB_FP32, p->h, p->nq, 1, strided) ||
        !make(c, &a->dout, p->dtype, p->h, p->nq, p->dv, 0) ||
        !make(c, &a->dq, p->dtype, p->h, p->nq, p->d, strided) ||
        !make(c, &a->dk, p->dtype, p->hk, p->nk, p->d, strided) ||
        !make(c, &a->dv, p->dtype, p->hk, p->nk, p->dv, strided))
        return 0;
    if (strided) /* one row for all */
        a->dout.stride[0] = a->dout.stride[1] = a->dout.stride[2] = 0;
    fill(&a->q);
    fill(&a->k);
    fill(&a->v);
    fill(&a->dout);
    return 1;
}

void cpu_case_free(struct cpu_case *c)
{
    for (int i = 0; i < c->count; i++)
        free(c->memory[i]);
    for (int i = 0; i < 5; i++) {
        free(c->ref[i]);
        free(c->terms[i]);
    }
    free(c->args.saved);
    free(c->args.workspace);
    fb_problem_free(&c->problem);
}

/* ---- Reference: the equations, one pair at a time ----------------------------------------------
 */

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

static double get(const struct fb_tensor *t, int64_t b, int64_t h, int64_t i, int64_t x)
{
    return fb_element_read(t->data, t->dtype, offset(t, b, h, i) + x);
}

/* One head as doubles. */
static void copy_head(double *to, const struct fb_tensor *t, int64_t b, int64_t h)
{
    for (int64_t i = 0; i < t->shape[2]; i++)
        for (int64_t x = 0; x < t->shape[3]; x++)
            *to++ = get(t, b, h, i, x);
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

/* ---- Calls -------------------------------------------------------------------------------------
 */

enum fb_status cpu_case_prepare(struct cpu_case *c, const struct fb_variant *variant)
{
    struct fb_args *a = &c->args;
    free(a->saved);
    free(a->workspace);
    a->saved = a->workspace = NULL;
    enum fb_status status =
        variant->sizes(&c->problem, &c->numerics, &a->saved_bytes, &a->workspace_bytes);
    if (status != FB_OK)
        return status;
    a->saved = aligned_alloc(256, (a->saved_bytes + 511) / 256 * 256);
    a->workspace = aligned_alloc(256, (a->workspace_bytes + 511) / 256 * 256);
    if (!a->saved || !a->workspace)
        return FB_NO_MEMORY;
    struct fb_tensor *outputs[] = {&a->o, &a->lse, &a->dq, &a->dk, &a->dv};
    for (int i = 0; i < 5; i++)
        memset(outputs[i]->data, POISON, bytes_of(outputs[i]));
    memset(a->saved, POISON, (a->saved_bytes + 511) / 256 * 256);
    memset(a->workspace, POISON, (a->workspace_bytes + 511) / 256 * 256);
    return FB_OK;
}

enum fb_status cpu_case_run(struct cpu_case *c, const struct fb_variant *variant)
{
    enum fb_status status = cpu_case_prepare(c, variant);
    if (status == FB_OK)
        status = variant->forward(&c->ctx, NULL, &c->args);
    if (status != FB_OK)
        return status;
    memset(c->args.workspace, POISON, c->args.workspace_bytes);
    return variant->backward(&c->ctx, NULL, &c->args);
}

/* ---- Judging -----------------------------------------------------------------------------------
 */

static const struct fb_tensor *output(const struct cpu_case *c, int which)
{
    const struct fb_args *a = &c->args;
    const struct fb_tensor *all[] = {&a->o, &a->lse, &a->dq, &a->dk, &a->dv};
    return all[which];
}

static double difference(const struct cpu_case *c, int which, double *largest)
{
    const struct fb_tensor *t = output(c, which);
    double worst = 0;
    int64_t at = 0;
    for (int64_t b = 0; b < t->shape[0]; b++)
        for (int64_t h = 0; h < t->shape[1]; h++)
            for (int64_t i = 0; i < t->shape[2]; i++)
                for (int64_t x = 0; x < t->shape[3]; x++, at++) {
                    const double value = get(t, b, h, i, x), want = c->ref[which][at];
                    *largest = fmax(*largest, c->terms[which][at]);
                    if (value == want) /* infinities of one sign too */
                        continue;
                    const double off = fabs(value - want);
                    worst = off <= worst ? worst : off == off ? off : INFINITY;
                }
    return worst;
}

double cpu_case_error(const struct cpu_case *c, int which)
{
    double largest = 1e-30;
    const double worst = difference(c, which, &largest);
    return worst / largest;
}

double cpu_case_max_abs(const struct cpu_case *c, int which)
{
    double largest = 0;
    return difference(c, which, &largest);
}

uint64_t cpu_case_hash(const struct cpu_case *c, int which)
{
    const struct fb_tensor *t = output(c, which);
    const size_t size = fb_dtype_bytes(t->dtype);
    uint64_t hash = 0xcbf29ce484222325u;
    for (int64_t b = 0; b < t->shape[0]; b++)
        for (int64_t h = 0; h < t->shape[1]; h++)
            for (int64_t i = 0; i < t->shape[2]; i++) {
                const unsigned char *row =
                    (const unsigned char *)t->data + (size_t)offset(t, b, h, i) * size;
                for (size_t x = 0; x < (size_t)t->shape[3] * size; x++)
                    hash = (hash ^ row[x]) * 0x100000001b3u;
            }
    return hash;
}

/* The views have gaps between rows (and heads): whatever is in them must still be poison. */
static int64_t strays_of(const struct fb_tensor *t)
{
    const size_t size = fb_dtype_bytes(t->dtype);
    const int64_t all = extent(t);
    unsigned char *inside = calloc((size_t)all + 1, 1);
    int64_t strays = 0;
    for (int64_t b = 0; b < t->shape[0]; b++)
        for (int64_t h = 0; h < t->shape[1]; h++)
            for (int64_t i = 0; i < t->shape[2]; i++)
                memset(inside + offset(t, b, h, i), 1, (size_t)t->shape[3]);
    for (int64_t e = 0; e < all; e++)
        for (size_t x = 0; !inside[e] && x < size; x++)
            strays += ((const unsigned char *)t->data)[(size_t)e * size + x] != POISON;
    free(inside);
    return strays;
}

int64_t cpu_case_strays(const struct cpu_case *c)
{
    const struct fb_args *a = &c->args;
    int64_t strays = 0;
    for (int i = 0; i < 5; i++)
        strays += strays_of(output(c, i));
    const struct {
        const unsigned char *data;
        size_t bytes;
    } blocks[] = {{a->saved, a->saved_bytes}, {a->workspace, a->workspace_bytes}};
    for (int i = 0; i < 2; i++)
        for (size_t x = blocks[i].bytes; x < (blocks[i].bytes + 511) / 256 * 256; x++)
            strays += blocks[i].data[x] != POISON;
    return strays;
}
