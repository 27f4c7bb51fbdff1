/* SPDX-License-Identifier: BSD-3-Clause
 *
 * table_private.h: one function a kind of table, and what they share.
 */
#ifndef FB_REPORT_TABLE_PRIVATE_H
#define FB_REPORT_TABLE_PRIVATE_H

#include "report/grouping.h"
#include "report/sheet.h"

/* Each fills an empty sheet; a kind without data leaves it without rows. */
void fb_table_speed(struct fb_sheet *sheet, const struct fb_grouping *grouping,
                    const char *baseline);
void fb_table_memory(struct fb_sheet *sheet, const struct fb_grouping *grouping);
void fb_table_error(struct fb_sheet *sheet, const struct fb_grouping *grouping);
void fb_table_determinism(struct fb_sheet *sheet, const struct fb_grouping *grouping);

/* The last cell of a row: what there is to say, with the reason as a numbered note. */
void fb_table_remark(struct fb_sheet *sheet, const struct fb_record *record, const char *word);

/* Saved and workspace bytes, what a variant takes beyond the tensors; NaN if unknown. */
double fb_record_extra_bytes(const struct fb_record *record);

/* o, lse and delta: what a variant without n x n storage keeps. */
double fb_record_linear_bytes(const struct fb_record *record);

#endif
