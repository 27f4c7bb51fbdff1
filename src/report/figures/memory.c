/* SPDX-License-Identifier: BSD-3-Clause
 *
 * memory.c: saved and workspace bytes, per head and batch item, against length on log axes.
 * Of the shapes in the file that with the most points is drawn. Batches may differ along a line (a
 * grid of equal tokens), heads may not: scratch of a thread does not grow with them.
 */
#include "report/figures/memory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/registry.h"
#include "report/grouping.h"
#include "store/columns.h"

static bool usable(const struct fb_record *r, int dtype)
{
    return r->dtype == dtype && r->nq == r->nk && r->nq > 0 && r->b > 0 && r->h > 0 &&
           !isnan(fb_record_extra_bytes(r)) && fb_record_done(r) &&
           !fb_registry_is_idle(fb_text(r->variant));
}

/* Equal but for variant, length and batch. */
static bool same_shape(const struct fb_record *a, const struct fb_record *b)
{
    return a->d == b->d && a->dv == b->dv && !fb_threads_differ(a, b) && a->h == b->h &&
           a->hk == b->hk && a->mask == b->mask;
}

/* Has an earlier record the same shape? */
static bool seen_before(const struct fb_results *results, size_t i, int dtype)
{
    for (size_t before = 0; before < i; before++)
        if (usable(&results->records[before], dtype) &&
            same_shape(&results->records[before], &results->records[i]))
            return true;
    return false;
}

/* Distinct pairs of variant and length that the shape has, and distinct lengths. */
static size_t size_of(const struct fb_results *results, const struct fb_record *like, int dtype,
                      size_t *lengths)
{
    size_t pairs = 0;
    *lengths = 0;
    for (size_t i = 0; i < results->record_count; i++) {
        const struct fb_record *r = &results->records[i];
        bool new_pair = usable(r, dtype) && same_shape(r, like), new_length = new_pair;
        for (size_t before = 0; before < i && new_pair; before++) {
            const struct fb_record *other = &results->records[before];
            if (other->nq != r->nq || !usable(other, dtype) || !same_shape(other, like))
                continue;
            new_length = false;
            new_pair = strcmp(fb_text(other->variant), fb_text(r->variant)) != 0;
        }
        pairs += new_pair;
        *lengths += new_length;
    }
    return pairs;
}

static void add_point(struct fb_figure_data *data, size_t series, const struct fb_record *r,
                      double bytes)
{
    char tick[24];
    struct fb_point point = {.series = series,
                             .x = (double)r->nq,
                             .y = bytes / (double)(r->b * r->h),
                             .low = NAN,
                             .high = NAN,
                             .tick = tick,
                             .state = "ok"};
    fb_length_label(r->nq, tick);
    point.panel = fb_chart_panel(&data->chart, "");
    fb_chart_add(&data->chart, &point);
}

void fb_pick_memory(struct fb_figure_data *data)
{
    const struct fb_results *results = data->results;
    int dtype = data->dtype;
    const struct fb_record *best = NULL;
    size_t most = 0;
    for (size_t i = 0; i < results->record_count; i++) {
        const struct fb_record *r = &results->records[i];
        size_t lengths;
        if (!usable(r, dtype) || seen_before(results, i, dtype))
            continue;
        size_t pairs = size_of(results, r, dtype, &lengths);
        if (lengths >= 2 && pairs > most) {
            most = pairs;
            best = r;
        }
    }
    if (!most) {
        snprintf(data->reason, sizeof data->reason,
                 "it needs the memory of one shape at two lengths or more");
        return;
    }
    for (size_t i = 0; i < results->record_count; i++) {
        const struct fb_record *r = &results->records[i];
        if (usable(r, dtype) && same_shape(r, best))
            add_point(data, fb_chart_series(&data->chart, fb_text(r->variant)), r,
                      fb_record_extra_bytes(r));
    }
    size_t linear = fb_chart_series(&data->chart, "o + lse + delta");
    for (size_t i = 0; i < results->record_count; i++)
        if (usable(&results->records[i], dtype) && same_shape(&results->records[i], best))
            add_point(data, linear, &results->records[i],
                      fb_record_linear_bytes(&results->records[i]));
    snprintf(data->title, sizeof data->title,
             "Memory beyond inputs and outputs, per head, %s, head size %lld, %s",
             fb_value_name(fb_values_dtype, dtype), (long long)best->d,
             fb_value_name(fb_values_mask, best->mask));
    snprintf(data->y_label, sizeof data->y_label, "saved + workspace");
}
