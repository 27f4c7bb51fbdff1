/* SPDX-License-Identifier: BSD-3-Clause
 *
 * figures.h: which records make which figure. A figure is a name (of its script, plots/NAME.gp, and
 * of its picture) and a function that picks its data. A new figure has a row in figures.c and the
 * files that doc/architecture.md names.
 */
#ifndef FB_REPORT_FIGURES_H
#define FB_REPORT_FIGURES_H

#include "report/figures/figure.h"

struct fb_figure {
    const char *name;
    const char *shows;                         /* one line for --help */
    void (*pick)(struct fb_figure_data *data); /* fills the chart, or the reason why not */
};

extern const struct fb_figure fb_figures[];
extern const size_t fb_figure_count;

#endif
