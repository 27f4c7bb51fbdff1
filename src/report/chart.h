/* SPDX-License-Identifier: BSD-3-Clause
 *
 * chart.h: the data of one figure: points in panels and series. It is written as gnuplot variables
 * and one datablock, in one form for all figures, so that the hand-written scripts in plots/ need
 * to know nothing else:
 *
 *     TITLE = '...'                    and other variables a figure sets
 *     NP, NS, NCOL                     panels, series, panels in a row
 *     array PANEL[NP], SERIES[NS]      their names
 *     array GROUPS[NP]                 distinct x of each panel
 *     TOP, LOW                         largest y, smallest y above 0, over all panels
 *     XLOW, XTOP                       smallest and largest x
 *     $TICKS                           block p-1: the x of panel p with their names, x "tick"
 *     $DATA                            block (p-1)*NS + (s-1) holds series s of panel p, a row a
 * point: x y low high "tick" "state"
 *
 * State is "ok", or says why y is NaN. A series without points in a panel has one row of NaN.
 */
#ifndef FB_REPORT_CHART_H
#define FB_REPORT_CHART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "flashback.h"

struct fb_point {
    size_t panel, series;
    double x, y, low, high;
    char *tick, *state;
};

struct fb_chart {
    char **panels, **series;
    size_t panel_count, series_count;
    struct fb_point *points;
    size_t point_count;
    size_t columns;   /* panels in a row */
    bool categorical; /* x only orders: it is replaced by its rank in the panel, from 1 */
    bool failed;      /* no memory */
};

void fb_chart_init(struct fb_chart *chart);
void fb_chart_free(struct fb_chart *chart);

/* Index of the name in the list, which it joins if it is new. */
size_t fb_chart_panel(struct fb_chart *chart, const char *name);
size_t fb_chart_series(struct fb_chart *chart, const char *name);

/* A point; one that is there already (same panel, series and x) stays. */
void fb_chart_add(struct fb_chart *chart, const struct fb_point *point);

/* Distinct values of x in a panel, or in all for panel >= panel_count. */
size_t fb_chart_distinct_x(const struct fb_chart *chart, size_t panel);

/* Variables and the datablock. */
void fb_chart_write(const struct fb_chart *chart, FILE *out);

/* NAME = 'text' with gnuplot's quoting, NAME = number. */
void fb_chart_write_text(FILE *out, const char *name, const char *text);
void fb_chart_write_real(FILE *out, const char *name, double value);

/* "512", "1k", "16k", "1M": a length as figures say it. */
void fb_length_label(long long n, char label[24]);

#endif
