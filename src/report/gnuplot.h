/* SPDX-License-Identifier: BSD-3-Clause
 *
 * gnuplot.h: running gnuplot on a script, and what must be there before.
 */
#ifndef FB_REPORT_GNUPLOT_H
#define FB_REPORT_GNUPLOT_H

#include "flashback.h"

/* The fonts that figures are set in must be installed: gnuplot would leave all text out and say
 * nothing. FB_IO names the font. */
enum fb_status fb_gnuplot_check_font(void);

/* Runs `gnuplot script` in the folder (no shell, no init files, C locale) with the variables FORMAT
 * and OUTPUT set. FB_IO with gnuplot's first line of complaint, or that it is not installed. */
enum fb_status fb_gnuplot_run(const char *folder, const char *script, const char *format,
                              const char *output);

#endif
