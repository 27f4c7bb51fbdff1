/* SPDX-License-Identifier: BSD-3-Clause */
#include "verify/whole.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "core/problem.h"
#include "core/status.h"
#include "verify/device/device.h"
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

/* Keeps the furthest of the rows that are further off than a limit. */
static void find_suspects(const double *offs, int64_t count, double limit,
                          struct fb_whole_suspects *s)
{
    for (int64_t row = 0; row < count; row++) {
        int64_t least = 0;
        if (!(offs[row] > limit))
            continue;
        if (s->count == FB_WHOLE_SUSPECTS) { /* the nearest leaves, if it is nearer than this one */
            for (int64_t n = 1; n < s->count; n++)
                least = offs[s->rows[n]] < offs[s->rows[least]] ? n : least;
            if (offs[s->rows[least]] >= offs[row])
                continue;
            s->count--;
            memmove(s->rows + least, s->rows + least + 1,
                    (size_t)(s->count - least) * sizeof *s->rows);
        }
        s->rows[s->count++] = row;
    }
}

enum fb_status fb_whole_compare(const struct fb_ref_tensors *whole, enum fb_judged which,
                                const struct fb_tensor *t, enum fb_dtype band,
                                struct fb_metrics *metrics, struct fb_whole_suspects *suspects)
{
    const int64_t count = t->shape[0] * t->shape[1] * t->shape[2];
    double *offs = malloc((size_t)(count + 1) * sizeof *offs);
    const struct fb_metrics_input every = {.tensor = t,
                                           .reference = fb_judged_array(whole, which),
                                           .count = count,
                                           .band = band,
                                           .row_offs = offs};
    struct fb_metrics all;
    enum fb_status status =
        offs ? fb_metrics_compare(&every, &all) : fb_fail(FB_NO_MEMORY, "no memory to judge rows");
    suspects->count = 0;
    if (status == FB_OK) {
        find_suspects(offs, count, fmax(FB_WHOLE_PART, FB_WHOLE_TIMES * metrics->row_rel_l2),
                      suspects);
        all.nonfinite = metrics->nonfinite;
        all.bound_ratio = metrics->bound_ratio;
        all.noise_ratio = metrics->noise_ratio;
        memcpy(all.worst, metrics->worst, sizeof all.worst);
        all.worst_got = metrics->worst_got;
        all.worst_want = metrics->worst_want;
        *metrics = all;
    }
    free(offs);
    return status;
}

/* ---- Judging the suspects -----------------------------------------------------------------------
 */

static void say(enum fb_judged which, const struct fb_metrics *m, double rho,
                enum fb_verdict verdict, char text[256])
{
    const int64_t *at = m->worst;
    int used = snprintf(
        text, 256, "%s: row [%lld,%lld,%lld], outside the sample, is off by %.2g of its norm ",
        fb_judged_name(which), (long long)at[0], (long long)at[1], (long long)at[2], m->row_rel_l2);
    if (verdict == FB_VERDICT_FAIL)
        snprintf(text + used, 256 - (size_t)used, "and %.3g times its bound", m->bound_ratio);
    else
        snprintf(text + used, 256 - (size_t)used,
                 "where fp32 leaves p uncertain by %.2g: no verdict", rho);
}

enum fb_status fb_whole_judge(const struct fb_ref_inputs *inputs, const struct fb_model *model,
                              enum fb_judged which, const struct fb_tensor *t,
                              const struct fb_whole_suspects *suspects, enum fb_verdict *verdict,
                              char text[256])
{
    const bool key_side = which == FB_JUDGED_DK || which == FB_JUDGED_DV;
    const int64_t none = 0, count = suspects->count;
    const struct fb_ref_rows rows = {.q = key_side ? &none : suspects->rows,
                                     .k = key_side ? suspects->rows : &none,
                                     .q_count = key_side ? 0 : count,
                                     .k_count = key_side ? count : 0};
    struct fb_ref_tensors values = {0};
    struct fb_model *bound = NULL;
    struct fb_metrics m;
    double *allowed = NULL;
    enum fb_status status = FB_OK;
    text[0] = '\0';
    *verdict = FB_VERDICT_PASS;
    FB_TRY_OUT(
        fb_model_make(inputs, &rows, &model->numerics, model->bm, model->bn, &values, &bound));
    allowed = fb_model_allowed(bound, &values, which, count * t->shape[3], t->dtype != FB_FP32);
    if (!allowed) {
        status = fb_fail(FB_NO_MEMORY, "no memory to judge rows");
        goto out;
    }
    const struct fb_metrics_input input = {.tensor = t,
                                           .reference = fb_judged_array(&values, which),
                                           .allowed = allowed,
                                           .rows = suspects->rows,
                                           .count = count,
                                           .band = inputs->problem->dtype};
    FB_TRY_OUT(fb_metrics_compare(&input, &m));
    const double rho = fmax(model->spread.rho, bound->spread.rho);
    *verdict = fb_bound_verdict(rho, &m, which);
    if (*verdict != FB_VERDICT_PASS)
        say(which, &m, rho, *verdict, text);
out:
    free(allowed);
    fb_model_free(bound);
    fb_ref_free(&values);
    return status;
}
