/* SPDX-License-Identifier: BSD-3-Clause
 *
 * speed.h: the figure of rates by length, head size and mask.
 */
#ifndef FB_REPORT_FIGURES_SPEED_H
#define FB_REPORT_FIGURES_SPEED_H

#include "report/figures/figure.h"

/* Fills the chart, or the reason why it cannot be drawn. */
void fb_pick_speed(struct fb_figure_data *data);

#endif
