/* SPDX-License-Identifier: BSD-3-Clause
 *
 * determinism.c: the rate of each variant, coloured by whether its bits repeated; a panel a
 * mask and head size, at the shape where most variants were both timed and hashed; of several at
 * the longest.
 */
#include "report/figures/determinism.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/grouping.h"
#include "store/columns.h"

static bool usable(const struct fb_record *r, int dtype)
{
    return fb_figure_timed(r, dtype) && r->det_runs > 1 && r->det_equal >= 1;
}

static bool same_shape(const struct fb_record *a, const struct fb_record *b)
{
    return a->nq == b->nq && a->nk == b->nk && a->b == b->b && a->h == b->h && a->hk == b->hk;
}

/* May it be a bar of this panel? */
static bool is_in(const struct fb_figure_data *data, const struct fb_record *r, const char *panel)
{
    char name[160];
    if (!usable(r, data->dtype) || !fb_figure_comparable(data, r))
        return false;
    fb_figure_panel(data, r, name);
    return !strcmp(name, panel);
}

static size_t bars_like(const struct fb_figure_data *data, const struct fb_record *like,
                        const char *panel)
{
    size_t bars = 0;
    for (size_t i = 0; i < data->results->record_count; i++) {
        const struct fb_record *r = &data->results->records[i];
        bars += same_shape(r, like) && is_in(data, r, panel);
    }
    return bars;
}

/* A record of the shape that the panel shows: that with the most bars to compare, of these the
 * longest, of these the first. NULL where the panel has none. */
static const struct fb_record *shape_of(const struct fb_figure_data *data, const char *panel)
{
    const struct fb_record *best = NULL;
    size_t most = 0;
    for (size_t i = 0; i < data->results->record_count; i++) {
        const struct fb_record *r = &data->results->records[i];
        if ((best && same_shape(r, best)) || !is_in(data, r, panel))
            continue;
        const size_t bars = bars_like(data, r, panel);
        if (bars > most || (bars == most && r->nq > best->nq)) {
            most = bars;
            best = r;
        }
    }
    return best;
}

enum series { REPEATS, DIFFERS, LUCKY };

/* Equal bits mean more where the variant promises them: sums in any order may agree by chance. */
static enum series series_of(const struct fb_record *r)
{
    if (r->det_equal < r->det_runs)
        return DIFFERS;
    return r->det_claim == FB_DET_ALL ? REPEATS : LUCKY;
}

static void add_record(struct fb_figure_data *data, const struct fb_record *r, const char *panel,
                       size_t position)
{
    char name[FB_LABEL], title[320], state[96], n[24], room[FB_SET_TEXT];
    bool repeats = r->det_equal == r->det_runs;
    const char *level = repeats ? fb_column_text(fb_column_find("det_level"), r, room) : "";
    fb_label_variant(r, name);
    fb_length_label(r->nq, n);
    snprintf(title, sizeof title, "%.160s, n=%s", panel, n);
    snprintf(state, sizeof state, "%lld of %lld equal%s%.20s", (long long)r->det_equal,
             (long long)r->det_runs, *level ? ", " : "", level);
    struct fb_point point = {.panel = fb_chart_panel(&data->chart, title),
                             .series = series_of(r),
                             .x = (double)position,
                             .y = r->bwd.tflops,
                             .low = r->bwd.flops / r->bwd.ms_hi * 1e-9,
                             .high = r->bwd.flops / r->bwd.ms_lo * 1e-9,
                             .tick = name,
                             .state = state};
    fb_chart_add(&data->chart, &point);
}

void fb_pick_determinism(struct fb_figure_data *data)
{
    const struct fb_results *results = data->results;
    struct fb_panels panels;
    data->chart.categorical = true;
    fb_chart_series(&data->chart, "the same bits in every run");
    fb_chart_series(&data->chart, "bits differ from run to run");
    fb_chart_series(&data->chart, "no run differed, but none is ruled out");
    fb_figure_panels(&panels, data, usable);
    for (size_t p = 0; p < panels.count; p++) {
        const char *panel = panels.names[p];
        const struct fb_record *like = shape_of(data, panel);
        for (size_t i = 0; i < results->record_count && like; i++) {
            const struct fb_record *r = &results->records[i];
            if (same_shape(r, like) && is_in(data, r, panel))
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
             fb_value_name(fb_values_dtype, data->dtype));
}
