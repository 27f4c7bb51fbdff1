/* SPDX-License-Identifier: BSD-3-Clause
 *
 * speed.c: grouped bars as the FlashAttention papers draw them: a panel a mask and head
 * size, a group a length, a bar a variant. Standard numerics, unless the file holds nothing else.
 */
#include "report/figures/speed.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/registry.h"
#include "report/grouping.h"
#include "store/columns.h"

#define MOST_SERIES 8 /* colours that people can tell apart */

/* Do two shapes of this panel share the length? Then the ticks must name batch and heads too. */
static bool ambiguous(const struct fb_results *results, const struct fb_record *r)
{
    for (size_t i = 0; i < results->record_count; i++) {
        const struct fb_record *other = &results->records[i];
        if (other->dtype == r->dtype && other->mask == r->mask && other->d == r->d &&
            other->nq == r->nq &&
            (other->b != r->b || other->h != r->h || other->nk != r->nk || other->hk != r->hk))
            return true;
    }
    return false;
}

static void tick_of(const struct fb_results *results, const struct fb_record *r, char tick[64])
{
    char n[24], k[24];
    fb_length_label(r->nq, n);
    fb_length_label(r->nk, k);
    int at = snprintf(tick, 64, r->nq == r->nk ? "%s" : "%s:%s", n, k);
    if (ambiguous(results, r))
        snprintf(tick + at, 64 - (size_t)at, " b%lld h%lld", (long long)r->b, (long long)r->h);
}

/* Orders shapes by length, then keys, batch and heads: by logarithms behind the point, since a
 * double has no room for all of them as they are. */
static double order_of(const struct fb_record *r)
{
    const int64_t minor[] = {r->hk, r->h, r->b, r->nk};
    double behind = 0;
    for (size_t i = 0; i < sizeof minor / sizeof *minor; i++)
        behind = (log2((double)minor[i] + 1) + behind) / 64;
    return (double)r->nq + behind;
}

static void add_record(struct fb_figure_data *data, const struct fb_record *r)
{
    char panel[160], series[FB_LABEL], tick[64], state[24];
    struct fb_point point = {
        .tick = tick, .state = state, .x = order_of(r), .y = NAN, .low = NAN, .high = NAN};
    fb_figure_panel(data, r, panel);
    fb_label_variant(r, series);
    tick_of(data->results, r, tick);
    point.panel = fb_chart_panel(&data->chart, panel);
    point.series = fb_chart_series(&data->chart, series);
    bool failed = r->outcome == FB_OUTCOME_FAIL;
    bool timed = fb_record_ranked(r) && !failed;
    snprintf(state, sizeof state, "%s",
             timed               ? "ok"
             : failed            ? "failed"
             : fb_record_done(r) ? "clock"
                                 : fb_value_name(fb_values_outcome, r->outcome));
    if (timed) {
        point.y = r->bwd.tflops;
        point.low = r->bwd.flops / r->bwd.ms_hi * 1e-9;
        point.high = r->bwd.flops / r->bwd.ms_lo * 1e-9;
        double *ceiling = &data->ceilings[point.panel];
        if (r->gemm_tflops > 0 && !(*ceiling >= r->gemm_tflops))
            *ceiling = r->gemm_tflops;
    }
    fb_chart_add(&data->chart, &point);
}

/* Does the chart have room for the record's variant? */
static bool fits(struct fb_figure_data *data, const struct fb_record *r)
{
    char series[FB_LABEL];
    bool known = false;
    fb_label_variant(r, series);
    for (size_t i = 0; i < data->chart.series_count; i++)
        known |= !strcmp(data->chart.series[i], series);
    return known || data->chart.series_count < MOST_SERIES;
}

/* First pass: what has a number. Second pass: what has none, in panels that have others. */
static void add_records(struct fb_figure_data *data, const struct fb_panels *panels,
                        bool timed_ones, size_t *left_out)
{
    for (size_t i = 0; i < data->results->record_count; i++) {
        const struct fb_record *r = &data->results->records[i];
        char panel[160];
        if (r->dtype != data->dtype || fb_figure_timed(r, data->dtype) != timed_ones ||
            !fb_figure_comparable(data, r) || fb_registry_is_idle(fb_text(r->variant)) ||
            (fb_record_done(r) && isnan(r->bwd.ms)))
            continue;
        fb_figure_panel(data, r, panel);
        if (fb_panels_have(panels, panel) && fits(data, r))
            add_record(data, r);
        else
            *left_out += timed_ones;
    }
}

void fb_pick_speed(struct fb_figure_data *data)
{
    size_t left_out = 0;
    struct fb_panels panels;
    data->chart.categorical = true;
    fb_figure_panels(&panels, data, fb_figure_timed);
    for (size_t p = 0; p < panels.count; p++)
        fb_chart_panel(&data->chart, panels.names[p]);
    add_records(data, &panels, true, &left_out);
    if (!data->chart.point_count) {
        snprintf(data->reason, sizeof data->reason, "no variant was timed");
        return;
    }
    add_records(data, &panels, false, &left_out);
    data->chart.columns = panels.columns;
    fb_figure_machine(data);
    fb_figure_scale_rates(data);
    snprintf(data->title, sizeof data->title, "Speed of the backward pass, %s",
             fb_value_name(fb_values_dtype, data->dtype));
    if (left_out)
        snprintf(data->remark, sizeof data->remark,
                 "%zu records left out: at most %d variants and %d panels", left_out, MOST_SERIES,
                 FB_MOST_PANELS);
}
