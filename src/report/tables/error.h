/* SPDX-License-Identifier: BSD-3-Clause
 *
 * error.h: the table of distances from the reference.
 */
#ifndef FB_REPORT_TABLES_ERROR_H
#define FB_REPORT_TABLES_ERROR_H

#include "report/grouping.h"
#include "report/sheet.h"

/* Fills an empty sheet; without data it is left without rows. */
void fb_table_error(struct fb_sheet *sheet, const struct fb_grouping *grouping);

#endif
