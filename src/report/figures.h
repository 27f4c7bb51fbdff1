/* SPDX-License-Identifier: BSD-3-Clause
 *
 * figures.h: which records make which figure. A figure is a name (of its script, plots/NAME.gp, and
 * of its picture) and a function that picks its data. A new figure is one line in figures.c.
 */
#ifndef FB_REPORT_FIGURES_H
#define FB_REPORT_FIGURES_H

#include "report/chart.h"
#include "store/results.h"

#define FB_REASON 256

struct fb_figure_data {
    struct fb_chart chart;
    char title[320];
    char subtitle[160]; /* the machine, where it matters */
    char y_label[96];
    double ceiling;         /* GEMM rate in the unit of y; NaN: none */
    char reason[FB_REASON]; /* why the figure cannot be drawn; "" if it can */
    char remark[FB_REASON]; /* what the figure leaves out; "" if nothing */
};

struct fb_figure {
    const char *name;
    const char *shows; /* one line for --help */
    /* Picks the data out of the records with this dtype. */
    void (*pick)(struct fb_figure_data *data, const struct fb_results *results, const char *dtype);
};

extern const struct fb_figure fb_figures[];
extern const size_t fb_figure_count;

/* ---- For the figures themselves ---------------------------------------------------------------
 */

/* Timed, passed or not checked, and not the variant that does nothing. */
bool fb_figure_timed(const struct fb_record *record, const char *dtype);

/* May stand beside others in a figure of variants: standard numerics, unless none was timed with
 * these. */
bool fb_figure_comparable(const struct fb_results *results, const struct fb_record *record);

/* "Intel Xeon ..., 2 threads": the machine of the first run. */
void fb_figure_machine(const struct fb_results *results, char text[160]);

/* Rates in GFLOP/s while none of the chart's reaches 1 TFLOP/s; scales y, low, high, ceiling. */
void fb_figure_scale_rates(struct fb_figure_data *data);

/* Distinct texts (mask, recipe ...) or numbers of threads among the records. */
bool fb_figure_several_recipes(const struct fb_results *results, const char *dtype);
bool fb_figure_several_threads(const struct fb_results *results, const char *dtype);

/* "causal, head size 64", and recipe and threads where they vary. */
void fb_figure_panel(const struct fb_results *results, const struct fb_record *record,
                     char text[160]);

/* The panels of the records that `want` accepts: a row a head size, a column a mask. */
#define FB_MOST_PANELS 12
struct fb_panels {
    char names[FB_MOST_PANELS][160];
    size_t count, columns;
    bool cut; /* there were more */
};
void fb_figure_panels(struct fb_panels *panels, const struct fb_results *results, const char *dtype,
                      bool (*want)(const struct fb_record *, const char *dtype));
bool fb_panels_have(const struct fb_panels *panels, const char *name);

void fb_pick_speed(struct fb_figure_data *, const struct fb_results *, const char *dtype);
void fb_pick_memory(struct fb_figure_data *, const struct fb_results *, const char *dtype);
void fb_pick_drift(struct fb_figure_data *, const struct fb_results *, const char *dtype);
void fb_pick_determinism(struct fb_figure_data *, const struct fb_results *, const char *dtype);

#endif
