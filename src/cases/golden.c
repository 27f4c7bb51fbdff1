/* SPDX-License-Identifier: BSD-3-Clause */
#include "cases/golden.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/half.h"
#include "core/problem.h"
#include "core/status.h"
#include "core/tensor.h"
#include "data/buffers.h"
#include "reference/reference.h"

static const char prefix[] = "golden:";

bool fb_golden_is_recipe(const char *recipe)
{
    return !strncmp(recipe, prefix, sizeof prefix - 1);
}

/* ---- One group ----------------------------------------------------------------------------------
 */

static enum fb_status find_group(struct fb_golden *file, const char *name, const char *path,
                                 struct fb_golden_case *one)
{
    for (size_t i = 0; i < fb_golden_count(file); i++) {
        FB_TRY(fb_golden_read(file, i, one));
        if (!strcmp(one->name, name))
            return FB_OK;
        fb_golden_case_free(one);
    }
    return fb_fail(FB_USAGE, "no group '%s' in '%s'", name, path);
}

enum fb_status fb_golden_load(const char *recipe, struct fb_golden_case *one)
{
    const char *hash = strrchr(recipe, '#');
    struct fb_golden *file;
    if (!fb_golden_is_recipe(recipe) || !hash)
        return fb_fail(FB_USAGE, "recipe '%s' is not golden:FILE#GROUP", recipe);
    size_t start = sizeof prefix - 1;
    char *path = strndup(recipe + start, (size_t)(hash - recipe) - start);
    if (!path)
        return fb_fail(FB_NO_MEMORY, "no memory for a file name");
    enum fb_status status = fb_golden_open(&file, path);
    if (status == FB_OK) {
        status = find_group(file, hash + 1, path, one);
        fb_golden_close(file);
    }
    free(path);
    return status;
}

static void copy_tensor(const struct fb_tensor *from, const struct fb_tensor *to)
{
    if (!from->data || !to->data)
        return;
    for (int64_t b = 0; b < to->shape[0]; b++)
        for (int64_t h = 0; h < to->shape[1]; h++)
            for (int64_t n = 0; n < to->shape[2]; n++)
                for (int64_t c = 0; c < to->shape[3]; c++) {
                    double value = fb_element_read(from->data, from->dtype,
                                                   fb_tensor_offset(from, b, h, n, c));
                    fb_element_write(to->data, to->dtype, fb_tensor_offset(to, b, h, n, c), value);
                }
}

enum fb_status fb_golden_copy_inputs(const struct fb_golden_case *one, const struct fb_args *args)
{
    copy_tensor(&one->args.q, &args->q);
    copy_tensor(&one->args.k, &args->k);
    copy_tensor(&one->args.v, &args->v);
    copy_tensor(&one->args.dout, &args->dout);
    copy_tensor(&one->args.dlse, &args->dlse);
    copy_tensor(&one->args.bias, &args->bias);
    copy_tensor(&one->args.sink, &args->sink);
    copy_tensor(&one->args.alibi, &args->alibi);
    return FB_OK;
}

/* ---- All groups as cases ------------------------------------------------------------------------
 */

static enum fb_status add_case(struct fb_case **cases, size_t *count, const char *variant,
                               const char *problem, const char *recipe)
{
    struct fb_case *grown = realloc(*cases, (*count + 1) * sizeof *grown);
    if (!grown)
        return fb_fail(FB_NO_MEMORY, "no memory for %zu cases", *count + 1);
    *cases = grown;
    FB_TRY(fb_case_make(&grown[*count], variant, problem, "", recipe, 0));
    ++*count;
    return FB_OK;
}

static enum fb_status add_group(const char *path, struct fb_golden_case *one,
                                const char *const *variants, size_t variant_count,
                                struct fb_case **cases, size_t *count)
{
    static const enum fb_dtype dtypes[] = {FB_FP32, FB_BF16, FB_FP16};
    enum fb_status status = FB_OK;
    char *recipe = NULL, *problem = NULL;
    if (asprintf(&recipe, "golden:%s#%s", path, one->name) < 0)
        return fb_fail(FB_NO_MEMORY, "no memory for a recipe");
    for (size_t t = 0; t < sizeof dtypes / sizeof *dtypes && status == FB_OK; t++) {
        one->problem.dtype = dtypes[t];
        problem = fb_problem_print(&one->problem);
        if (!problem)
            status = fb_fail(FB_NO_MEMORY, "no memory for a problem string");
        for (size_t v = 0; v < variant_count && status == FB_OK; v++)
            status = add_case(cases, count, variants[v], problem, recipe);
        free(problem);
    }
    free(recipe);
    return status;
}

static enum fb_status check_path(const char *path)
{
    return strpbrk(path, " \t\n#") ? fb_fail(FB_USAGE,
                                             "golden file '%s': its path may hold no space "
                                             "and no '#'",
                                             path)
                                   : FB_OK;
}

enum fb_status fb_golden_cases(const char *path, const char *const *variants, size_t variant_count,
                               struct fb_case **cases, size_t *count)
{
    struct fb_golden *file;
    FB_TRY(check_path(path));
    FB_TRY(fb_golden_open(&file, path));
    enum fb_status status = FB_OK;
    for (size_t i = 0; i < fb_golden_count(file) && status == FB_OK; i++) {
        struct fb_golden_case one;
        status = fb_golden_read(file, i, &one);
        if (status == FB_OK) {
            status = add_group(path, &one, variants, variant_count, cases, count);
            fb_golden_case_free(&one);
        }
    }
    fb_golden_close(file);
    return status;
}

/* ---- The reference itself
 * ------------------------------------------------------------------------ */

static double largest(const double *values, int64_t count)
{
    double most = 0;
    for (int64_t i = 0; i < count; i++)
        most = isinf(values[i]) ? most : fmax(most, fabs(values[i]));
    return most;
}

/* Largest error over the tolerance; infinite for a NaN, or where an all-zero tensor is not
 * exactly zero. */
static double tensor_ratio(const double *got, const double *want, int64_t count, double dout_max)
{
    double most = largest(want, count), ratio = 0;
    double allowed = FB_GOLDEN_TOLERANCE * fmax(most, dout_max);
    for (int64_t i = 0; i < count; i++) {
        if (isinf(want[i]) && got[i] == want[i])
            continue;
        double error = fabs(got[i] - want[i]);
        double one = most == 0 ? (got[i] == 0 ? 0 : INFINITY) : error / allowed;
        ratio = isnan(one) ? INFINITY : fmax(ratio, one);
    }
    return ratio;
}

static int64_t elements(const struct fb_tensor *t)
{
    return t->data ? fb_tensor_elements(t) : 0;
}

static double case_ratio(const struct fb_golden_case *one, const struct fb_ref_tensors *got)
{
    const struct fb_problem *p = &one->problem;
    int64_t rows = p->b * p->h * p->nq, keys = p->b * p->hk * p->nk;
    const struct {
        const double *got, *want;
        int64_t count;
    } pairs[] = {{got->o, one->o, rows * p->dv},
                 {got->lse, one->lse, rows},
                 {got->dq, one->dq, rows * p->d},
                 {got->dk, one->dk, keys * p->d},
                 {got->dv, one->dv, keys * p->dv},
                 {got->dsink, one->dsink, p->h},
                 {got->dbias, one->dbias, elements(&one->args.bias)}};
    double ratio = 0;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (pairs[i].want)
            ratio = fmax(ratio, pairs[i].got ? tensor_ratio(pairs[i].got, pairs[i].want,
                                                            pairs[i].count, one->dout_max)
                                             : INFINITY);
    return ratio;
}

static enum fb_status check_group(struct fb_golden_case *one, double *ratio)
{
    struct fb_ref_inputs inputs;
    struct fb_ref_tensors values = {0};
    const struct fb_ref_request request = {.values = &values};
    one->args.problem = &one->problem;
    fb_ref_inputs_from_args(&inputs, &one->args);
    inputs.keep = one->keep;
    FB_TRY(fb_ref_compute(&inputs, &request));
    *ratio = case_ratio(one, &values);
    fb_ref_free(&values);
    return FB_OK;
}

enum fb_status fb_golden_check_reference(const char *path,
                                         void (*report)(void *user, const char *group, double ratio,
                                                        bool passed),
                                         void *user)
{
    struct fb_golden *file;
    FB_TRY(fb_golden_open(&file, path));
    enum fb_status status = FB_OK;
    for (size_t i = 0; i < fb_golden_count(file) && status == FB_OK; i++) {
        struct fb_golden_case one;
        double ratio = 0;
        status = fb_golden_read(file, i, &one);
        if (status != FB_OK)
            break;
        status = check_group(&one, &ratio);
        if (status == FB_OK)
            report(user, one.name, ratio, ratio <= 1);
        fb_golden_case_free(&one);
    }
    fb_golden_close(file);
    return status;
}
