/* SPDX-License-Identifier: BSD-3-Clause
 *
 * table.h: what a results file says, as tables on stdout.
 */
#ifndef FB_REPORT_TABLE_H
#define FB_REPORT_TABLE_H

#include "report/sheet_print.h"
#include "store/results.h"

enum fb_table_kind {
    FB_TABLE_ALL, /* each of the others that there is data for */
    FB_TABLE_SPEED,
    FB_TABLE_MEMORY,
    FB_TABLE_ERROR,
    FB_TABLE_DETERMINISM
};

/* FB_USAGE names the allowed kinds or formats. */
enum fb_status fb_table_kind_parse(enum fb_table_kind *kind, const char *text);
enum fb_status fb_format_parse(enum fb_format *format, const char *text);

/* baseline: the variant that relative numbers refer to, NULL for the first that was timed. FB_USAGE
 * when the file has no such variant. */
enum fb_status fb_table_print(const struct fb_results *results, enum fb_table_kind kind,
                              enum fb_format format, const char *baseline);

#endif
