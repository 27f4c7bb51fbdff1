/* SPDX-License-Identifier: BSD-3-Clause
 *
 * drift.c: relative L2 error of dq, dk and dv against length. The series are accumulators
 * (of the variant that ran with most of them), or variants where the file has one accumulator only.
 * With several seeds a point is their median and the whisker their range.
 */
#include "report/figures/drift.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/registry.h"
#include "report/grouping.h"
#include "store/columns.h"

struct slice {
    const struct fb_record *like;
    bool by_accumulator;
};

static bool usable(const struct fb_record *r, int dtype)
{
    return r->dtype == dtype && r->nq == r->nk && r->nq > 0 && fb_record_done(r) &&
           !isnan(r->tensor.dq.rel_l2) && !fb_registry_is_idle(fb_text(r->variant));
}

/* Equal but for length, seed, batch and heads (the error does not grow with these) and for what the
 * series vary. */
static bool in_slice(const struct fb_record *r, const struct slice *slice)
{
    const struct fb_record *like = slice->like;
    return r->h * like->hk == like->h * r->hk && r->d == like->d && r->dv == like->dv &&
           !fb_threads_differ(r, like) && r->mask == like->mask &&
           r->round_step == like->round_step && fb_figure_same_distribution(r, like) &&
           (slice->by_accumulator ? !strcmp(fb_text(r->variant), fb_text(like->variant))
                                  : !strcmp(fb_text(r->numerics), fb_text(like->numerics)));
}

static const char *series_of(const struct fb_record *r, const struct slice *slice)
{
    return slice->by_accumulator ? fb_value_name(fb_values_acc, r->acc_dq) : fb_text(r->variant);
}

/* Distinct pairs of series and length that the slice has. */
static size_t size_of(const struct fb_results *results, const struct slice *slice, int dtype,
                      size_t *lengths, size_t *series)
{
    size_t pairs = 0;
    *lengths = *series = 0;
    for (size_t i = 0; i < results->record_count; i++) {
        const struct fb_record *r = &results->records[i];
        if (!usable(r, dtype) || !in_slice(r, slice))
            continue;
        bool new_pair = true, new_length = true, new_series = true;
        for (size_t before = 0; before < i; before++) {
            const struct fb_record *other = &results->records[before];
            if (!usable(other, dtype) || !in_slice(other, slice))
                continue;
            bool length = other->nq == r->nq;
            bool name = !strcmp(series_of(other, slice), series_of(r, slice));
            new_pair &= !(length && name);
            new_length &= !length;
            new_series &= !name;
        }
        pairs += new_pair;
        *lengths += new_length;
        *series += new_series;
    }
    return pairs;
}

/* Has an earlier record the same slice? */
static bool seen_before(const struct fb_results *results, size_t i, const struct slice *slice,
                        int dtype)
{
    for (size_t before = 0; before < i; before++)
        if (usable(&results->records[before], dtype) && in_slice(&results->records[before], slice))
            return true;
    return false;
}

/* The slice that gives the most points, accumulators before variants. */
static size_t best_slice(const struct fb_results *results, int dtype, struct slice *best)
{
    size_t most = 0;
    for (int by_accumulator = 1; by_accumulator >= 0 && !most; by_accumulator--)
        for (size_t i = 0; i < results->record_count; i++) {
            struct slice slice = {&results->records[i], by_accumulator};
            size_t lengths, series;
            if (!usable(slice.like, dtype) || seen_before(results, i, &slice, dtype))
                continue;
            size_t pairs = size_of(results, &slice, dtype, &lengths, &series);
            if (lengths >= 2 && (series >= 2 || !by_accumulator) && pairs > most) {
                most = pairs;
                *best = slice;
            }
        }
    return most;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Median and range over the seeds of all records like r. */
static void add_point(struct fb_figure_data *data, const struct fb_results *results,
                      const struct slice *slice, const struct fb_record *r, const char *tensor)
{
    double *values = malloc((results->record_count + 1) * sizeof *values);
    char tick[24];
    size_t count = 0;
    if (!values) {
        data->chart.failed = true;
        return;
    }
    const char *name = strcmp(tensor, "dq") && slice->by_accumulator
                           ? fb_value_name(fb_values_acc, r->acc_dkv)
                           : series_of(r, slice);
    for (size_t i = 0; i < results->record_count; i++) {
        struct fb_record *other = &results->records[i];
        const char *other_name = strcmp(tensor, "dq") && slice->by_accumulator
                                     ? fb_value_name(fb_values_acc, other->acc_dkv)
                                     : series_of(other, slice);
        double value = fb_record_tensor(other, tensor)->rel_l2;
        if (usable(other, r->dtype) && in_slice(other, slice) && other->nq == r->nq &&
            !strcmp(name, other_name) && isfinite(value))
            values[count++] = value;
    }
    qsort(values, count, sizeof *values, by_value);
    if (count) {
        fb_length_label(r->nq, tick);
        struct fb_point point = {.panel = fb_chart_panel(&data->chart, tensor),
                                 .series = fb_chart_series(&data->chart, name),
                                 .x = (double)r->nq,
                                 .y = (values[(count - 1) / 2] + values[count / 2]) / 2,
                                 .low = values[0],
                                 .high = values[count - 1],
                                 .tick = tick,
                                 .state = "ok"};
        fb_chart_add(&data->chart, &point);
    }
    free(values);
}

void fb_pick_drift(struct fb_figure_data *data)
{
    const struct fb_results *results = data->results;
    int dtype = data->dtype;
    static const char *const tensors[] = {"dq", "dk", "dv"};
    struct slice slice = {NULL, false};
    if (!best_slice(results, dtype, &slice)) {
        snprintf(data->reason, sizeof data->reason,
                 "it needs errors of one shape at two lengths or more");
        return;
    }
    for (size_t t = 0; t < sizeof tensors / sizeof *tensors; t++)
        for (size_t i = 0; i < results->record_count; i++)
            if (usable(&results->records[i], dtype) && in_slice(&results->records[i], &slice))
                add_point(data, results, &slice, &results->records[i], tensors[t]);
    data->chart.columns = data->chart.panel_count;
    const struct fb_record *like = slice.like;
    snprintf(data->title, sizeof data->title,
             "Error of the gradients by %s, %s%s%s, head size %lld, %s",
             slice.by_accumulator ? "accumulator" : "variant",
             slice.by_accumulator ? fb_text(like->variant) : "", slice.by_accumulator ? ", " : "",
             fb_value_name(fb_values_dtype, dtype), (long long)like->d,
             fb_value_name(fb_values_mask, like->mask));
    snprintf(data->y_label, sizeof data->y_label, "relative L2 error");
}
