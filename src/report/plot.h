/* SPDX-License-Identifier: BSD-3-Clause
 *
 * plot.h: figures from a results file. For each figure a self-contained script (data, style and the
 * hand-written plots/NAME.gp) is written next to the picture; `gnuplot NAME.gp` draws it again.
 */
#ifndef FB_REPORT_PLOT_H
#define FB_REPORT_PLOT_H

#include "store/results.h"

struct fb_plot_options {
    const char *folder; /* made if it is not there */
    const char *format; /* svg, png or pdf */
    const char *figure; /* one figure's name; NULL: all that the data can fill */
};

/* FB_USAGE names the allowed formats or figures. */
enum fb_status fb_plot_check(const struct fb_plot_options *options);

/* Draws, and prints a line a figure on stdout: the picture's path, or why it was skipped. *drawn
 * counts pictures. */
enum fb_status fb_plot(const struct fb_results *results, const struct fb_plot_options *options,
                       size_t *drawn);

#endif
