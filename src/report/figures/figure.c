/* SPDX-License-Identifier: BSD-3-Clause
 *
 * figure.c: what picking the data of figures has in common.
 */
#include "report/figures/figure.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/registry.h"
#include "report/grouping.h"
#include "store/columns.h"

bool fb_figure_timed(const struct fb_record *record, int dtype)
{
    return record->dtype == dtype && fb_record_ranked(record) && record->bwd.tflops > 0 &&
           isfinite(record->bwd.tflops) && record->outcome != FB_OUTCOME_FAIL &&
           !fb_registry_is_idle(fb_text(record->variant));
}

static bool standard(const struct fb_record *r)
{
    char items[FB_LABEL];
    fb_label_numerics(r, items);
    return !*items;
}

bool fb_figure_same_distribution(const struct fb_record *a, const struct fb_record *b)
{
    const char *x = fb_text(a->recipe), *y = fb_text(b->recipe);
    size_t length = strcspn(x, "@");
    return length == strcspn(y, "@") && !strncmp(x, y, length);
}

void fb_figure_begin(struct fb_figure_data *data, const struct fb_results *results, int dtype)
{
    const struct fb_record *first = NULL, *on_cpu = NULL;
    memset(data, 0, sizeof *data);
    fb_chart_init(&data->chart);
    data->results = results;
    data->dtype = dtype;
    for (size_t p = 0; p < FB_MOST_PANELS; p++)
        data->ceilings[p] = NAN;
    data->only_other_numerics = true;
    for (size_t i = 0; i < results->record_count; i++) {
        const struct fb_record *r = &results->records[i];
        if (r->dtype != dtype)
            continue;
        if (fb_figure_timed(r, dtype) && standard(r))
            data->only_other_numerics = false;
        if (!first)
            first = r;
        data->distributions |= !fb_figure_same_distribution(first, r);
        if (!on_cpu && fb_threads_of(r))
            on_cpu = r;
        data->threads |= on_cpu && fb_threads_differ(on_cpu, r);
    }
}

bool fb_figure_comparable(const struct fb_figure_data *data, const struct fb_record *record)
{
    return data->only_other_numerics || standard(record);
}

/* What a record's times are of: the processor, or the device of its run. */
static const char *machine_of(const struct fb_results *results, const struct fb_record *r)
{
    if (r->run < 0 || (size_t)r->run >= results->run_count)
        return "";
    const char *gpu = fb_run_get(&results->runs[r->run], "gpu_name");
    return *gpu && !fb_threads_of(r) ? gpu : fb_run_get(&results->runs[r->run], "cpu_model");
}

void fb_figure_machine(struct fb_figure_data *data)
{
    const size_t room = sizeof data->subtitle;
    const char *names[3] = {NULL};
    size_t count = 0, at = 0;
    long long threads = 0;
    for (size_t i = 0; i < data->results->record_count && count < 3; i++) {
        const struct fb_record *r = &data->results->records[i];
        const char *name = machine_of(data->results, r);
        size_t same = 0;
        if (!fb_figure_timed(r, data->dtype) || !*name)
            continue;
        while (same < count && strcmp(names[same], name) != 0)
            same++;
        threads = threads ? threads : (long long)fb_threads_of(r);
        names[same] = name;
        count += same == count;
    }
    for (size_t i = 0; i < count && i < 2; i++)
        at += (size_t)snprintf(data->subtitle + at, room - at, "%s%.60s", i ? ", " : "", names[i]);
    if (count > 2)
        snprintf(data->subtitle + at, room - at, " and others");
    else if (count == 1 && threads && !data->threads)
        snprintf(data->subtitle + at, room - at, ", %lld threads", threads);
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
    for (size_t p = 0; p < FB_MOST_PANELS; p++)
        data->ceilings[p] *= small ? 1000 : 1;
}

void fb_figure_panel(const struct fb_figure_data *data, const struct fb_record *r, char text[160])
{
    int at = snprintf(text, 160, "%.40s, head size %lld", fb_value_name(fb_values_mask, r->mask),
                      (long long)r->d);
    if (r->dv != r->d)
        at += snprintf(text + at, 160 - (size_t)at, "/%lld", (long long)r->dv);
    if (data->distributions) {
        size_t length = strcspn(fb_text(r->recipe), "@");
        at += snprintf(text + at, 160 - (size_t)at, ", %.*s", length < 40 ? (int)length : 40,
                       fb_text(r->recipe));
    }
    if (data->threads && fb_threads_of(r))
        snprintf(text + at, 160 - (size_t)at, ", %lld threads", (long long)fb_threads_of(r));
}

bool fb_panels_have(const struct fb_panels *panels, const char *name)
{
    for (size_t i = 0; i < panels->count; i++)
        if (!strcmp(panels->names[i], name))
            return true;
    return false;
}

/* Head size, then mask, of which the widest comes first. */
static bool stands_before(const struct fb_record *a, const struct fb_record *b)
{
    if (a->d != b->d)
        return a->d < b->d;
    static const int rank[] = {
        [FB_MASK_FULL] = 0, [FB_MASK_CAUSAL_TOPLEFT] = 1, [FB_MASK_CAUSAL] = 2};
    return a->mask != b->mask && a->mask != FB_MISSING_ENUM &&
           (b->mask == FB_MISSING_ENUM || rank[a->mask] < rank[b->mask]);
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

void fb_figure_panels(struct fb_panels *panels, const struct fb_figure_data *data,
                      bool (*want)(const struct fb_record *, int dtype))
{
    const struct fb_record *of[FB_MOST_PANELS];
    memset(panels, 0, sizeof *panels);
    for (size_t i = 0; i < data->results->record_count; i++) {
        const struct fb_record *r = &data->results->records[i];
        char name[160];
        if (!want(r, data->dtype))
            continue;
        fb_figure_panel(data, r, name);
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
