/* SPDX-License-Identifier: BSD-3-Clause
 *
 * speed.h: the table of time, rate and energy.
 */
#ifndef FB_REPORT_TABLES_SPEED_H
#define FB_REPORT_TABLES_SPEED_H

#include "report/grouping.h"
#include "report/sheet.h"

/* Fills an empty sheet; without data it is left without rows. Relative times are to
 * the variant `baseline`, NULL for the first that was timed. */
void fb_table_speed(struct fb_sheet *sheet, const struct fb_grouping *grouping,
                    const char *baseline);

#endif
