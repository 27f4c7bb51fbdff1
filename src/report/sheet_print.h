/* SPDX-License-Identifier: BSD-3-Clause
 *
 * sheet_print.h: a sheet on stdout.
 */
#ifndef FB_REPORT_SHEET_PRINT_H
#define FB_REPORT_SHEET_PRINT_H

#include "flashback.h"
#include "report/sheet.h"

enum fb_format { FB_FORMAT_TEXT, FB_FORMAT_MD, FB_FORMAT_TEX, FB_FORMAT_CSV };

/* FB_IO when stdout could not take it. */
enum fb_status fb_sheet_print(const struct fb_sheet *sheet, enum fb_format format);

#endif
