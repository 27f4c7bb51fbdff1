/* SPDX-License-Identifier: BSD-3-Clause */
#include "verify/whole.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/half.h"
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

/* Sums over one row. */
struct row {
    double error, reference, got, product; /* squares, and got times reference */
    double max_abs, band;
};

static struct row compare_row(const struct fb_tensor *t, int64_t r, const double *reference,
                              double atol, double rtol)
{
    const int64_t at = fb_tensor_row(t, r);
    struct row row = {0};
    for (int64_t c = 0; c < t->shape[3]; c++) {
        const double got = fb_element_read(t->data, t->dtype, at + c * t->stride[3]);
        const double want = reference[c], error = fabs(got - want);
        row.error += error * error;
        row.reference += want * want;
        row.got += got * got;
        row.product += got * want;
        row.max_abs = fmax(row.max_abs, error);
        row.band = fmax(row.band, error / (atol + rtol * fabs(want)));
    }
    return row;
}

static double norm_ratio(double part, double whole)
{
    return part == 0 ? 0 : whole > 0 ? sqrt(part) / sqrt(whole) : INFINITY;
}

/* The rows put together in their order, whatever thread made them. */
static int64_t sum_rows(const struct row *rows, int64_t count, struct fb_metrics *m)
{
    struct row all = {0};
    int64_t worst = 0;
    for (int64_t r = 0; r < count; r++) {
        all.error += rows[r].error;
        all.reference += rows[r].reference;
        all.got += rows[r].got;
        all.product += rows[r].product;
        all.max_abs = fmax(all.max_abs, rows[r].max_abs);
        all.band = fmax(all.band, rows[r].band);
    }
    const double typical = count > 0 ? all.reference / (double)count : 0;
    m->row_rel_l2 = 0;
    for (int64_t r = 0; r < count; r++) {
        const double off = norm_ratio(rows[r].error, fmax(rows[r].reference, typical));
        worst = off > m->row_rel_l2 ? r : worst;
        m->row_rel_l2 = fmax(m->row_rel_l2, off);
    }
    m->max_abs = all.max_abs;
    m->band_ratio = all.band;
    m->rel_l2 = norm_ratio(all.error, all.reference);
    if (all.got > 0 && all.reference > 0) {
        m->norm_ratio = norm_ratio(all.got, all.reference);
        m->cosine = all.product / sqrt(all.got) / sqrt(all.reference);
    }
    return worst;
}

static void say(enum fb_judged which, const struct fb_tensor *t, int64_t row, double off,
                double sampled, char text[256])
{
    snprintf(text, 256,
             "%s: row [%lld,%lld,%lld], outside the sample, is off by %.2g of its norm (sampled "
             "rows by at most %.2g)",
             fb_judged_name(which), (long long)(row / t->shape[2] / t->shape[1]),
             (long long)(row / t->shape[2] % t->shape[1]), (long long)(row % t->shape[2]), off,
             sampled);
}

enum fb_status fb_whole_compare(const struct fb_ref_tensors *whole, enum fb_judged which,
                                const struct fb_tensor *t, enum fb_dtype band,
                                struct fb_metrics *metrics, char text[256])
{
    const int64_t count = t->shape[0] * t->shape[1] * t->shape[2];
    const double *reference = fb_judged_array(whole, which), sampled = metrics->row_rel_l2;
    struct row *rows = malloc((size_t)(count + 1) * sizeof *rows);
    double atol, rtol;
    text[0] = '\0';
    if (!rows)
        return fb_fail(FB_NO_MEMORY, "no memory to compare %s", fb_judged_name(which));
    fb_metrics_band(band, &atol, &rtol);
#pragma omp parallel for schedule(static)
    for (int64_t r = 0; r < count; r++)
        rows[r] = compare_row(t, r, reference + r * t->shape[3], atol, rtol);
    const int64_t worst = sum_rows(rows, count, metrics);
    metrics->elements = count * t->shape[3];
    if (metrics->row_rel_l2 > FB_WHOLE_PART && metrics->row_rel_l2 > FB_WHOLE_TIMES * sampled)
        say(which, t, worst, metrics->row_rel_l2, sampled, text);
    free(rows);
    return FB_OK;
}
