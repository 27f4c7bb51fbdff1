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

#define MOST_PANELS 6

static bool usable(const struct fb_record *r, const char *dtype)
{
    return fb_figure_timed(r, dtype) && r->det_runs > 1 && r->det_equal >= 1;
}

/* The longest of this panel; the first shape that has it. */
static const struct fb_record *longest(const struct fb_results *results, const char *dtype,
                                       const char *panel)
{
    const struct fb_record *best = NULL;
    for (size_t i = 0; i < results->record_count; i++) {
        const struct fb_record *r = &results->records[i];
        char name[160];
        if (!usable(r, dtype))
            continue;
        fb_figure_panel(results, r, name);
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

static bool seen(char panels[MOST_PANELS][160], size_t count, const char *panel)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(panels[i], panel))
            return true;
    return false;
}

void fb_pick_determinism(struct fb_figure_data *data, const struct fb_results *results,
                         const char *dtype)
{
    char panels[MOST_PANELS][160], panel[160], machine[160];
    size_t count = 0;
    data->chart.categorical = true;
    fb_chart_series(&data->chart, "the same bits in every run");
    fb_chart_series(&data->chart, "bits differ from run to run");
    for (size_t i = 0; i < results->record_count; i++) {
        if (!usable(&results->records[i], dtype))
            continue;
        fb_figure_panel(results, &results->records[i], panel);
        if (count == MOST_PANELS && !seen(panels, count, panel))
            snprintf(data->remark, sizeof data->remark, "only the first %d panels are drawn",
                     MOST_PANELS);
        if (count < MOST_PANELS && !seen(panels, count, panel))
            memcpy(panels[count++], panel, sizeof panel);
    }
    for (size_t p = 0; p < count; p++) {
        const struct fb_record *like = longest(results, dtype, panels[p]);
        for (size_t i = 0; i < results->record_count; i++) {
            const struct fb_record *r = &results->records[i];
            fb_figure_panel(results, r, panel);
            if (usable(r, dtype) && same_shape(r, like) && !strcmp(panel, panels[p]))
                add_record(data, r, panels[p], i);
        }
    }
    if (!count) {
        snprintf(data->reason, sizeof data->reason,
                 "no variant was both timed and run twice for "
                 "its bits");
        return;
    }
    data->chart.columns = count < 2 ? 1 : 2;
    fb_figure_machine(results, machine);
    fb_figure_scale_rates(data);
    snprintf(data->title, sizeof data->title, "Determinism and speed of the backward pass, %s (%s)",
             dtype, machine);
}
