/* SPDX-License-Identifier: BSD-3-Clause
 *
 * chart.c: points in panels and series, written for gnuplot. Numbers are printed by fb_real_print,
 * so that the bytes do not depend on the locale.
 */
#include "report/chart.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"

void fb_chart_init(struct fb_chart *chart)
{
    memset(chart, 0, sizeof *chart);
    chart->columns = 1;
}

static void free_names(char **names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(names[i]);
    free(names);
}

void fb_chart_free(struct fb_chart *chart)
{
    for (size_t i = 0; i < chart->point_count; i++) {
        free(chart->points[i].tick);
        free(chart->points[i].state);
    }
    free(chart->points);
    free_names(chart->panels, chart->panel_count);
    free_names(chart->series, chart->series_count);
    fb_chart_init(chart);
}

static size_t find_or_add(struct fb_chart *chart, char ***names, size_t *count, const char *name)
{
    for (size_t i = 0; i < *count; i++)
        if (!strcmp((*names)[i], name))
            return i;
    char **grown = realloc(*names, (*count + 1) * sizeof *grown);
    char *copy = strdup(name);
    if (grown)
        *names = grown;
    if (!grown || !copy) {
        free(copy);
        chart->failed = true;
        return 0;
    }
    grown[*count] = copy;
    return (*count)++;
}

size_t fb_chart_panel(struct fb_chart *chart, const char *name)
{
    return find_or_add(chart, &chart->panels, &chart->panel_count, name);
}

size_t fb_chart_series(struct fb_chart *chart, const char *name)
{
    return find_or_add(chart, &chart->series, &chart->series_count, name);
}

void fb_chart_add(struct fb_chart *chart, const struct fb_point *point)
{
    for (size_t i = 0; i < chart->point_count; i++) {
        const struct fb_point *there = &chart->points[i];
        if (there->panel == point->panel && there->series == point->series && there->x == point->x)
            return;
    }
    struct fb_point *points = realloc(chart->points, (chart->point_count + 1) * sizeof *points);
    if (!points) {
        chart->failed = true;
        return;
    }
    chart->points = points;
    points += chart->point_count++;
    *points = *point;
    points->tick = strdup(point->tick);
    points->state = strdup(point->state);
    chart->failed |= !points->tick || !points->state;
}

/* ---- What is in it ----------------------------------------------------------------------------
 */

static bool in_panel(const struct fb_chart *chart, const struct fb_point *point, size_t panel)
{
    return panel >= chart->panel_count || point->panel == panel;
}

/* Distinct x of the panel that are less than x. */
static size_t rank_below(const struct fb_chart *chart, size_t panel, double x)
{
    size_t count = 0;
    for (size_t i = 0; i < chart->point_count; i++) {
        const struct fb_point *point = &chart->points[i];
        bool first = in_panel(chart, point, panel) && point->x < x;
        for (size_t before = 0; before < i && first; before++)
            first = !in_panel(chart, &chart->points[before], panel) ||
                    chart->points[before].x != point->x;
        count += first;
    }
    return count;
}

size_t fb_chart_distinct_x(const struct fb_chart *chart, size_t panel)
{
    return rank_below(chart, panel, INFINITY);
}

/* A whisker longer than this part of its bar does not make the other bars small: it is cut off. */
#define LONG_WHISKER 1.25

struct range {
    double top, low, x_top, x_low;
};

static struct range range_of(const struct fb_chart *chart)
{
    struct range range = {0, INFINITY, -INFINITY, INFINITY};
    for (size_t i = 0; i < chart->point_count; i++) {
        const struct fb_point *point = &chart->points[i];
        if (isfinite(point->y)) {
            double high = isfinite(point->high) ? point->high : 0;
            range.top = fmax(range.top, fmax(point->y, fmin(high, LONG_WHISKER * point->y)));
            if (point->y > 0)
                range.low = fmin(range.low, point->y);
        }
        range.x_top = fmax(range.x_top, point->x);
        range.x_low = fmin(range.x_low, point->x);
    }
    if (!(range.top > 0))
        range.top = 1;
    if (!isfinite(range.low))
        range.low = range.top / 10;
    return range;
}

/* ---- Writing ----------------------------------------------------------------------------------
 */

static void put_quoted(FILE *out, const char *text)
{
    putc('\'', out);
    for (; *text; text++) {
        if (*text == '\'')
            putc('\'', out);
        putc(*text == '\n' ? ' ' : *text, out);
    }
    putc('\'', out);
}

static void put_real(FILE *out, double value)
{
    char text[FB_REAL_TEXT];
    fb_real_print(isinf(value) ? NAN : value, text);
    fputs(text, out);
}

void fb_chart_write_text(FILE *out, const char *name, const char *text)
{
    fprintf(out, "%s = ", name);
    put_quoted(out, text);
    putc('\n', out);
}

void fb_chart_write_real(FILE *out, const char *name, double value)
{
    fprintf(out, "%s = ", name);
    put_real(out, value);
    putc('\n', out);
}

static void put_names(FILE *out, const char *array, char *const *names, size_t count)
{
    fprintf(out, "array %s[%zu]\n", array, count);
    for (size_t i = 0; i < count; i++) {
        fprintf(out, "%s[%zu] = ", array, i + 1);
        put_quoted(out, names[i]);
        putc('\n', out);
    }
}

/* A word of a datablock: quoted, without quotes in it. */
static void put_word(FILE *out, const char *text)
{
    putc('"', out);
    for (; *text; text++)
        putc(*text == '"' || *text == '\n' ? '\'' : *text, out);
    putc('"', out);
}

/* x as the block holds it. */
static double shown_x(const struct fb_chart *chart, const struct fb_point *point)
{
    if (!chart->categorical)
        return point->x;
    return 1 + (double)rank_below(chart, point->panel, point->x);
}

/* The first point of each x of the panel, as x and its name. */
static void put_ticks(FILE *out, const struct fb_chart *chart, size_t panel)
{
    for (size_t i = 0; i < chart->point_count; i++) {
        const struct fb_point *point = &chart->points[i];
        bool first = point->panel == panel;
        for (size_t before = 0; before < i && first; before++)
            first = chart->points[before].panel != panel || chart->points[before].x != point->x;
        if (!first)
            continue;
        put_real(out, shown_x(chart, point));
        putc(' ', out);
        put_word(out, point->tick);
        putc('\n', out);
    }
}

static void put_point(FILE *out, const struct fb_chart *chart, const struct fb_point *point)
{
    const double values[] = {shown_x(chart, point), point->y, point->low, point->high};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        put_real(out, values[i]);
        putc(' ', out);
    }
    put_word(out, point->tick);
    putc(' ', out);
    put_word(out, point->state);
    putc('\n', out);
}

/* The points of one block in the order of x. */
static void put_block(FILE *out, const struct fb_chart *chart, size_t panel, size_t series)
{
    double last = -INFINITY;
    size_t written = 0;
    for (;;) {
        const struct fb_point *next = NULL;
        for (size_t i = 0; i < chart->point_count; i++) {
            const struct fb_point *point = &chart->points[i];
            if (point->panel == panel && point->series == series && point->x > last &&
                (!next || point->x < next->x))
                next = point;
        }
        if (!next)
            break;
        put_point(out, chart, next);
        last = next->x;
        written++;
    }
    if (!written)
        fputs("NaN NaN NaN NaN \"\" \"absent\"\n", out);
}

void fb_chart_write(const struct fb_chart *chart, FILE *out)
{
    struct range range = range_of(chart);
    fprintf(out, "NP = %zu\nNS = %zu\nNCOL = %zu\n", chart->panel_count, chart->series_count,
            chart->columns);
    put_names(out, "PANEL", chart->panels, chart->panel_count);
    put_names(out, "SERIES", chart->series, chart->series_count);
    fprintf(out, "array GROUPS[%zu]\n", chart->panel_count);
    for (size_t p = 0; p < chart->panel_count; p++)
        fprintf(out, "GROUPS[%zu] = %zu\n", p + 1, fb_chart_distinct_x(chart, p));
    fb_chart_write_real(out, "TOP", range.top);
    fb_chart_write_real(out, "LOW", range.low);
    fb_chart_write_real(out, "XTOP", range.x_top);
    fb_chart_write_real(out, "XLOW", range.x_low);
    fputs("$TICKS << EOD\n", out);
    for (size_t p = 0; p < chart->panel_count; p++) {
        put_ticks(out, chart, p);
        fputs("\n\n", out);
    }
    fputs("EOD\n$DATA << EOD\n", out);
    for (size_t p = 0; p < chart->panel_count; p++)
        for (size_t s = 0; s < chart->series_count; s++) {
            fprintf(out, "# panel %zu, series %zu\n", p + 1, s + 1);
            put_block(out, chart, p, s);
            fputs("\n\n", out);
        }
    fputs("EOD\n", out);
}

void fb_length_label(long long n, char label[24])
{
    if (n >= 1 << 20 && n % (1 << 20) == 0)
        snprintf(label, 24, "%lldM", n >> 20);
    else if (n >= 1024 && n % 1024 == 0)
        snprintf(label, 24, "%lldk", n >> 10);
    else
        snprintf(label, 24, "%lld", n);
}
