/* SPDX-License-Identifier: BSD-3-Clause
 *
 * memory.h: the table of bytes beyond inputs and outputs.
 */
#ifndef FB_REPORT_TABLES_MEMORY_H
#define FB_REPORT_TABLES_MEMORY_H

#include "report/grouping.h"
#include "report/sheet.h"

/* Fills an empty sheet; without data it is left without rows. */
void fb_table_memory(struct fb_sheet *sheet, const struct fb_grouping *grouping);

#endif
