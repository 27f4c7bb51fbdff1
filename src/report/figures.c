/* SPDX-License-Identifier: BSD-3-Clause
 *
 * figures.c: the list of figures, and what picking their data has in common.
 */
#include "report/figures.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/grouping.h"
#include "report/table_private.h"

const struct fb_figure fb_figures[] = {
    {"speed", "rate of the backward by length, head size and mask", fb_pick_speed},
    {"memory", "bytes beyond inputs and outputs against length", fb_pick_memory},
    {"drift", "error of the gradients against length, by accumulator", fb_pick_drift},
    {"determinism", "rate of each variant and whether its bits repeat", fb_pick_determinism},
};
const size_t fb_figure_count = sizeof fb_figures / sizeof *fb_figures;

bool fb_figure_timed(const struct fb_record *record, const char *dtype)
{
    return !strcmp(fb_text(record->dtype), dtype) && fb_record_done(record) &&
           record->bwd_tflops > 0 && isfinite(record->bwd_tflops) &&
           strcmp(fb_text(record->verdict), "fail") != 0 &&
           strcmp(fb_text(record->variant), "null") != 0;
}

static bool standard(const struct fb_record *r)
{
    char items[FB_LABEL];
    fb_label_numerics(r, items);
    return !*items;
}

/* No record of this dtype was timed with standard numerics. */
static bool only_others(const struct fb_results *results, const char *dtype)
{
    for (size_t i = 0; i < results->record_count; i++)
        if (fb_figure_timed(&results->records[i], dtype) && standard(&results->records[i]))
            return false;
    return true;
}

bool fb_figure_comparable(const struct fb_results *results, const struct fb_record *record)
{
    return standard(record) || only_others(results, fb_text(record->dtype));
}

void fb_figure_machine(const struct fb_results *results, char text[160])
{
    if (!results->run_count) {
        text[0] = '\0';
        return;
    }
    const struct fb_run *run = &results->runs[0];
    const char *gpu = fb_run_get(run, "gpu_name");
    const char *cpu = fb_run_get(run, "cpu_model");
    const char *threads = fb_run_get(run, "threads");
    if (*gpu)
        snprintf(text, 160, "%s", gpu);
    else if (*threads)
        snprintf(text, 160, "%.100s, %.20s threads", cpu, threads);
    else
        snprintf(text, 160, "%s", cpu);
}

void fb_figure_scale_rates(struct fb_figure_data *data)
{
    double most = 0;
    for (size_t i = 0; i < data->chart.point_count; i++)
        most = fmax(most, data->chart.points[i].y); /* fmax passes NaN over */
    bool small = most < 1;
    snprintf(data->y_label, sizeof data->y_label, "%s", small ? "GFLOP/s" : "TFLOP/s");
    for (size_t i = 0; i < data->chart.point_count && small; i++) {
        data->chart.points[i].y *= 1000;
        data->chart.points[i].low *= 1000;
        data->chart.points[i].high *= 1000;
    }
    data->ceiling *= small ? 1000 : 1;
}

bool fb_figure_several_recipes(const struct fb_results *results, const char *dtype)
{
    const char *first = NULL;
    for (size_t i = 0; i < results->record_count; i++) {
        const struct fb_record *r = &results->records[i];
        if (strcmp(fb_text(r->dtype), dtype) != 0)
            continue;
        if (first && strcmp(first, fb_text(r->recipe)) != 0)
            return true;
        first = fb_text(r->recipe);
    }
    return false;
}

bool fb_figure_several_threads(const struct fb_results *results, const char *dtype)
{
    int64_t first = FB_MISSING_INT;
    for (size_t i = 0; i < results->record_count; i++) {
        const struct fb_record *r = &results->records[i];
        if (strcmp(fb_text(r->dtype), dtype) != 0 || r->threads == FB_MISSING_INT)
            continue;
        if (first != FB_MISSING_INT && first != r->threads)
            return true;
        first = r->threads;
    }
    return false;
}

void fb_figure_panel(const struct fb_results *results, const struct fb_record *r, char text[160])
{
    int at = snprintf(text, 160, "%.40s, head size %lld", fb_text(r->mask), (long long)r->d);
    if (r->dv != r->d)
        at += snprintf(text + at, 160 - (size_t)at, "/%lld", (long long)r->dv);
    if (fb_figure_several_recipes(results, fb_text(r->dtype)))
        at += snprintf(text + at, 160 - (size_t)at, ", %.40s", fb_text(r->recipe));
    if (fb_figure_several_threads(results, fb_text(r->dtype)))
        snprintf(text + at, 160 - (size_t)at, ", %lld threads", (long long)r->threads);
}

bool fb_panels_have(const struct fb_panels *panels, const char *name)
{
    for (size_t i = 0; i < panels->count; i++)
        if (!strcmp(panels->names[i], name))
            return true;
    return false;
}

/* Head size, then mask in alphabetical order from the end ("full" before "causal"). */
static bool stands_before(const struct fb_record *a, const struct fb_record *b)
{
    if (a->d != b->d)
        return a->d < b->d;
    return strcmp(fb_text(a->mask), fb_text(b->mask)) > 0;
}

/* Columns: the panels with the head size of the first, if all head sizes have as many. */
static size_t columns_of(const struct fb_record *const *of, size_t count)
{
    size_t first = 1;
    while (first < count && of[first]->d == of[0]->d)
        first++;
    bool even = first <= 3 && count % first == 0;
    for (size_t i = 0; i < count && even; i++)
        even = of[i]->d == of[i - i % first]->d;
    return even ? first : count < 2 ? 1 : 2;
}

void fb_figure_panels(struct fb_panels *panels, const struct fb_results *results, const char *dtype,
                      bool (*want)(const struct fb_record *, const char *dtype))
{
    const struct fb_record *of[FB_MOST_PANELS];
    memset(panels, 0, sizeof *panels);
    for (size_t i = 0; i < results->record_count; i++) {
        const struct fb_record *r = &results->records[i];
        char name[160];
        if (!want(r, dtype))
            continue;
        fb_figure_panel(results, r, name);
        if (fb_panels_have(panels, name))
            continue;
        if (panels->count == FB_MOST_PANELS) {
            panels->cut = true;
            continue;
        }
        size_t at = panels->count++;
        for (; at && stands_before(r, of[at - 1]); at--) {
            of[at] = of[at - 1];
            memcpy(panels->names[at], panels->names[at - 1], sizeof name);
        }
        of[at] = r;
        memcpy(panels->names[at], name, sizeof name);
    }
    panels->columns = columns_of(of, panels->count);
}
