/* SPDX-License-Identifier: BSD-3-Clause */
#include "verify/whole.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/log.h"
#include "core/problem.h"
#include "core/status.h"
#include "reference/device.h"
#include "verify/model.h"

/* Multiply-adds of the score and dp GEMMs up to which a device is asked for everything, and for the
 * forward: about ten seconds and one minute of a large one. */
#define BACKWARD_COST 5e12
#define FORWARD_COST 1e14

void fb_whole_make(struct fb_ref_tensors *whole, const struct fb_ref_inputs *inputs)
{
    const struct fb_problem *p = inputs->problem;
    const double cost = (double)fb_problem_pairs(p) * (double)(p->d + p->dv);
    struct fb_ref_inputs asked = *inputs;
    memset(whole, 0, sizeof *whole);
    if (cost > FORWARD_COST || !fb_ref_device_offers(p))
        return;
    if (cost > BACKWARD_COST)
        asked.dout.data = NULL;
    if (fb_ref_device_compute(&asked, whole) != FB_OK)
        fb_log_note("the device could not make the reference; the CPU does");
}

/* ---- Agreement ----------------------------------------------------------------------------------
 */

static bool is_near(double a, double b, double spread)
{
    return a == b || fabs(a - b) <= 1e-10 * (1 + fabs(a)) + 1e-6 * spread;
}

/* Row r of values and spread is row rows[r] of whole. */
static bool rows_agree(const double *whole, const double *values, const double *spread,
                       const int64_t *rows, int64_t count, int64_t width)
{
    bool agree = true;
    for (int64_t n = 0; n < count * width && agree; n++)
        agree = is_near(values[n], whole[rows[n / width] * width + n % width], spread[n]);
    return agree;
}

bool fb_whole_agrees(const struct fb_ref_tensors *whole, const struct fb_ref_inputs *inputs,
                     const struct fb_ref_rows *sample, const struct fb_ref_tensors *values,
                     const struct fb_ref_tensors *spread)
{
    const int64_t d = inputs->problem->d, dv = inputs->problem->dv;
    const int64_t *q = sample->q, *k = sample->k;
    const bool forward = rows_agree(whole->lse, values->lse, spread->lse, q, sample->q_count, 1) &&
                         rows_agree(whole->o, values->o, spread->o, q, sample->q_count, dv);
    if (!forward || !whole->dq)
        return forward;
    return rows_agree(whole->dq, values->dq, spread->dq, q, sample->q_count, d) &&
           rows_agree(whole->dk, values->dk, spread->dk, k, sample->k_count, d) &&
           rows_agree(whole->dv, values->dv, spread->dv, k, sample->k_count, dv);
}

/* ---- Comparing ----------------------------------------------------------------------------------
 */

static void say(enum fb_judged which, const struct fb_tensor *t, const struct fb_metrics *all,
                double sampled, char text[256])
{
    const int64_t row = all->worst_row;
    snprintf(text, 256,
             "%s: row [%lld,%lld,%lld], outside the sample, is off by %.2g of its norm (sampled "
             "rows by at most %.2g)",
             fb_judged_name(which), (long long)(row / t->shape[2] / t->shape[1]),
             (long long)(row / t->shape[2] % t->shape[1]), (long long)(row % t->shape[2]),
             all->row_rel_l2, sampled);
}

enum fb_status fb_whole_compare(const struct fb_ref_tensors *whole, enum fb_judged which,
                                const struct fb_tensor *t, enum fb_dtype band,
                                struct fb_metrics *metrics, char text[256])
{
    const struct fb_metrics_input every = {.tensor = t,
                                           .reference = fb_judged_array(whole, which),
                                           .count = t->shape[0] * t->shape[1] * t->shape[2],
                                           .band = band};
    const double sampled = metrics->row_rel_l2;
    struct fb_metrics all;
    text[0] = '\0';
    FB_TRY(fb_metrics_compare(&every, &all));
    if (all.row_rel_l2 > FB_WHOLE_PART && all.row_rel_l2 > FB_WHOLE_TIMES * sampled)
        say(which, t, &all, sampled, text);
    all.nonfinite = metrics->nonfinite;
    all.bound_ratio = metrics->bound_ratio;
    all.noise_ratio = metrics->noise_ratio;
    memcpy(all.worst, metrics->worst, sizeof all.worst);
    all.worst_got = metrics->worst_got;
    all.worst_want = metrics->worst_want;
    *metrics = all;
    return FB_OK;
}
