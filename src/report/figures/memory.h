/* SPDX-License-Identifier: BSD-3-Clause
 *
 * memory.h: the figure of bytes against length.
 */
#ifndef FB_REPORT_FIGURES_MEMORY_H
#define FB_REPORT_FIGURES_MEMORY_H

#include "report/figures/figure.h"

/* Fills the chart, or the reason why it cannot be drawn. */
void fb_pick_memory(struct fb_figure_data *data);

#endif
