/* SPDX-License-Identifier: BSD-3-Clause
 *
 * export.h: results as plain columns on stdout.
 */
#ifndef FB_REPORT_EXPORT_H
#define FB_REPORT_EXPORT_H

#include "store/results.h"

enum fb_export_kind {
    FB_EXPORT_RECORDS, /* a line a case */
    FB_EXPORT_SAMPLES, /* a line a timed call */
    FB_EXPORT_RUN,     /* a line a fact */
    FB_EXPORT_COLUMNS  /* a line a column: name, kind, unit, meaning */
};

/* FB_USAGE names the allowed kinds. */
enum fb_status fb_export_kind_parse(enum fb_export_kind *kind, const char *text);

enum fb_status fb_export(const struct fb_results *results, enum fb_export_kind kind);

#endif
