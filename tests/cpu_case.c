/* SPDX-License-Identifier: BSD-3-Clause
 *
 * cpu_case.c: tensors, calls and a comparison with the reference for the tests of the CPU variants.
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
#include "core/tensor.h"
#include "data/buffers.h"

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
                    fb_element_write(t->data, t->dtype, fb_tensor_offset(t, b, h, i, x), normal());
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

/* ---- Calls -------------------------------------------------------------------------------------
 */

enum fb_status cpu_case_prepare(struct cpu_case *c, const struct fb_variant *variant)
{
    struct fb_args *a = &c->args;
    free(a->saved);
    free(a->workspace);
    a->saved = a->workspace = NULL;
    enum fb_status status =
        variant->sizes(variant, &c->problem, &c->numerics, &a->saved_bytes, &a->workspace_bytes);
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
        status = variant->forward(variant, &c->ctx, NULL, &c->args);
    if (status != FB_OK)
        return status;
    memset(c->args.workspace, POISON, c->args.workspace_bytes);
    return variant->backward(variant, &c->ctx, NULL, &c->args);
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
                    const double value = fb_element_read(t->data, t->dtype,
                                                         fb_tensor_offset(t, b, h, i, x)),
                                 want = c->ref[which][at];
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
                    (const unsigned char *)t->data + (size_t)fb_tensor_offset(t, b, h, i, 0) * size;
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
                memset(inside + fb_tensor_offset(t, b, h, i, 0), 1, (size_t)t->shape[3]);
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
