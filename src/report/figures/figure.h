/* SPDX-License-Identifier: BSD-3-Clause
 *
 * figure.h: what picking the data of figures has in common: the data of one figure, which records
 * may stand in it, its panels.
 */
#ifndef FB_REPORT_FIGURES_FIGURE_H
#define FB_REPORT_FIGURES_FIGURE_H

#include "report/chart.h"
#include "store/results.h"

#define FB_REASON 256
#define FB_MOST_PANELS 12

struct fb_figure_data {
    const struct fb_results *results;
    int dtype;                   /* only records of this one are drawn */
    bool distributions, threads; /* several in the file: panels are told apart by them */
    bool only_other_numerics;    /* nothing was timed with standard numerics */
    struct fb_chart chart;
    char title[320];
    char subtitle[160]; /* the machine, where it matters */
    char y_label[96];
    double ceilings[FB_MOST_PANELS]; /* GEMM rate of each panel in the unit of y; NaN: none */
    char reason[FB_REASON];          /* why the figure cannot be drawn; "" if it can */
    char remark[FB_REASON];          /* what the figure leaves out; "" if nothing */
};

/* Timed, passed or not checked, and not the variant that does nothing. */
bool fb_figure_timed(const struct fb_record *record, int dtype);

/* Looks once at all records, for what the calls below need. */
void fb_figure_begin(struct fb_figure_data *data, const struct fb_results *results, int dtype);

/* May stand beside others in a figure of variants: standard numerics, unless none was timed with
 * these. */
bool fb_figure_comparable(const struct fb_figure_data *data, const struct fb_record *record);

/* The subtitle: "Intel Xeon ..., 2 threads", "NVIDIA H200"; two machines where two have been timed,
 * the processor for what ran on it though there is a device. */
void fb_figure_machine(struct fb_figure_data *data);

/* Rates in GFLOP/s while none of the chart's reaches 1 TFLOP/s; scales y, low, high, ceilings. */
void fb_figure_scale_rates(struct fb_figure_data *data);

/* "causal, head size 64", and distribution and threads where they vary. */
void fb_figure_panel(const struct fb_figure_data *data, const struct fb_record *record,
                     char text[160]);

/* The panels of the records that `want` accepts: a row a head size, a column a mask. */
struct fb_panels {
    char names[FB_MOST_PANELS][160];
    size_t count, columns;
    bool cut; /* there were more */
};
void fb_figure_panels(struct fb_panels *panels, const struct fb_figure_data *data,
                      bool (*want)(const struct fb_record *, int dtype));
bool fb_panels_have(const struct fb_panels *panels, const char *name);

/* The same distribution of inputs, whatever the seed ("randn@1" and "randn@2"). */
bool fb_figure_same_distribution(const struct fb_record *a, const struct fb_record *b);

#endif
