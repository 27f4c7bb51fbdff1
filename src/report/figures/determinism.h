/* SPDX-License-Identifier: BSD-3-Clause
 *
 * determinism.h: the figure of rates, and whether bits repeat.
 */
#ifndef FB_REPORT_FIGURES_DETERMINISM_H
#define FB_REPORT_FIGURES_DETERMINISM_H

#include "report/figures/figure.h"

/* Fills the chart, or the reason why it cannot be drawn. */
void fb_pick_determinism(struct fb_figure_data *data);

#endif
