/* SPDX-License-Identifier: BSD-3-Clause
 *
 * drift.h: the figure of errors against length, by accumulator.
 */
#ifndef FB_REPORT_FIGURES_DRIFT_H
#define FB_REPORT_FIGURES_DRIFT_H

#include "report/figures/figure.h"

/* Fills the chart, or the reason why it cannot be drawn. */
void fb_pick_drift(struct fb_figure_data *data);

#endif
