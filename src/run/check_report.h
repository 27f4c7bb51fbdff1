/* SPDX-License-Identifier: BSD-3-Clause
 *
 * check_report.h: the rows of a check, on stdout as they come and in a JSON file at the end.
 * Private to src/run.
 */
#ifndef FB_RUN_CHECK_REPORT_H
#define FB_RUN_CHECK_REPORT_H

#include "cases/set.h"
#include "run/tally.h"
#include "store/record.h"

struct fb_check_report;

/* FB_IO where the JSON file that is asked for could not be written at the end. */
enum fb_status fb_check_report_open(struct fb_check_report **report,
                                    const struct fb_check_options *options);
enum fb_status fb_check_report_row(struct fb_check_report *report, const struct fb_record *record);
void fb_check_report_reference(struct fb_check_report *report, const char *group, double ratio,
                               bool passed);
/* What is to be said below the rows. */
void fb_check_report_end(const struct fb_check_report *report);
/* Writes the JSON file, where one was asked for, to a temporary name and renames it. complete: no
 * signal cut the check short. */
enum fb_status fb_check_report_save(struct fb_check_report *report, const struct fb_tally *tally,
                                    bool complete);
void fb_check_report_close(struct fb_check_report *report); /* NULL is fine */

#endif
