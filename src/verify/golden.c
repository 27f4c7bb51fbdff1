/* SPDX-License-Identifier: BSD-3-Clause */
#include "verify/golden.h"

#include <math.h>

#include "core/status.h"
#include "core/tensor.h"
#include "reference/reference.h"
#include "store/golden.h"

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
