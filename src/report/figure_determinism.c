/* SPDX-License-Identifier: BSD-3-Clause
 *
 * figure_determinism.c: the rate of each variant, coloured by whether its bits repeated; a panel a
 * mask and head size, at the longest length that was both timed and hashed.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/figures.h"
#include "report/grouping.h"

static bool usable(const struct fb_record *r, const char *dtype)
{
    return fb_figure_timed(r, dtype) && r->det_runs > 1 && r->det_equal >= 1;
}

/* The longest of this panel; the first shape that has it. */
static const struct fb_record *longest(const struct fb_figure_data *data, const char *panel)
{
    const struct fb_record *best = NULL;
    for (size_t i = 0; i < data->results->record_count; i++) {
        const struct fb_record *r = &data->results->records[i];
        char name[160];
        if (!usable(r, data->dtype))
            continue;
        fb_figure_panel(data, r, name);
        if (!strcmp(name, panel) && (!best || r->nq > best->nq))
            best = r;
    }
    return best;
}

static bool same_shape(const struct fb_record *a, const struct fb_record *b)
{
    return a->nq == b->nq && a->nk == b->nk && a->b == b->b && a->h == b->h && a->hk == b->hk;
}

static void add_record(struct fb_figure_data *data, const struct fb_record *r, const char *panel,
                       size_t position)
{
    char name[FB_LABEL], title[320], state[96], n[24];
    bool repeats = r->det_equal == r->det_runs;
    fb_label_variant(r, name);
    fb_length_label(r->nq, n);
    snprintf(title, sizeof title, "%.160s, n=%s", panel, n);
    snprintf(state, sizeof state, "%lld of %lld equal%s%.20s", (long long)r->det_equal,
             (long long)r->det_runs, repeats && *fb_text(r->det_level) ? ", " : "",
             repeats ? fb_text(r->det_level) : "");
    struct fb_point point = {.panel = fb_chart_panel(&data->chart, title),
                             .series = repeats ? 0 : 1,
                             .x = (double)position,
                             .y = r->bwd_tflops,
                             .low = r->bwd_flops / r->bwd_ms_hi * 1e-9,
                             .high = r->bwd_flops / r->bwd_ms_lo * 1e-9,
                             .tick = name,
                             .state = state};
    fb_chart_add(&data->chart, &point);
}

void fb_pick_determinism(struct fb_figure_data *data)
{
    const struct fb_results *results = data->results;
    char panel[160];
    struct fb_panels panels;
    data->chart.categorical = true;
    fb_chart_series(&data->chart, "the same bits in every run");
    fb_chart_series(&data->chart, "bits differ from run to run");
    fb_figure_panels(&panels, data, usable);
    for (size_t p = 0; p < panels.count; p++) {
        const struct fb_record *like = longest(data, panels.names[p]);
        for (size_t i = 0; i < results->record_count; i++) {
            const struct fb_record *r = &results->records[i];
            fb_figure_panel(data, r, panel);
            if (usable(r, data->dtype) && fb_figure_comparable(data, r) && same_shape(r, like) &&
                !strcmp(panel, panels.names[p]))
                add_record(data, r, panel, i);
        }
    }
    if (!panels.count) {
        snprintf(data->reason, sizeof data->reason,
                 "no variant was both timed and run twice for "
                 "its bits");
        return;
    }
    data->chart.columns = panels.columns;
    if (panels.cut)
        snprintf(data->remark, sizeof data->remark, "only the first %d panels are drawn",
                 FB_MOST_PANELS);
    fb_figure_machine(data);
    fb_figure_scale_rates(data);
    snprintf(data->title, sizeof data->title, "Determinism and speed of the backward pass, %s",
             data->dtype);
}
