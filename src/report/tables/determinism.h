/* SPDX-License-Identifier: BSD-3-Clause
 *
 * determinism.h: the table of which bits repeat.
 */
#ifndef FB_REPORT_TABLES_DETERMINISM_H
#define FB_REPORT_TABLES_DETERMINISM_H

#include "report/grouping.h"
#include "report/sheet.h"

/* Fills an empty sheet; without data it is left without rows. */
void fb_table_determinism(struct fb_sheet *sheet, const struct fb_grouping *grouping);

#endif
