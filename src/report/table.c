/* SPDX-License-Identifier: BSD-3-Clause
 *
 * table.c: kinds and formats by name, and the tables that were asked for.
 */
#include "report/table.h"

#include <stdio.h>
#include <string.h>

#include "core/status.h"
#include "report/tables/determinism.h"
#include "report/tables/error.h"
#include "report/tables/memory.h"
#include "report/tables/speed.h"

static const char *const kind_names[] = {"all", "speed", "memory", "error", "determinism"};
static const char *const format_names[] = {"text", "md", "tex", "csv"};

static int find_name(const char *const *names, int count, const char *text)
{
    for (int i = 0; i < count; i++)
        if (!strcmp(names[i], text))
            return i;
    return -1;
}

enum fb_status fb_table_kind_parse(enum fb_table_kind *kind, const char *text)
{
    int found = find_name(kind_names, 5, text);
    if (found < 0)
        return fb_fail(FB_USAGE, "kind: '%s' is not one of all, speed, memory, error, determinism",
                       text);
    *kind = (enum fb_table_kind)found;
    return FB_OK;
}

enum fb_status fb_format_parse(enum fb_format *format, const char *text)
{
    int found = find_name(format_names, 4, text);
    if (found < 0)
        return fb_fail(FB_USAGE, "format: '%s' is not one of text, md, tex, csv", text);
    *format = (enum fb_format)found;
    return FB_OK;
}

/* ---- Files without numbers ----------------------------------------------------------------------
 */

#define FATES_TEXT 640

/* What became of cases that have no numbers. */
static const struct {
    enum fb_outcome outcome;
    const char *word;
} fates[] = {{FB_OUTCOME_FAIL, "failed the check"},
             {FB_OUTCOME_CRASHED, "crashed"},
             {FB_OUTCOME_HUNG, "hung"},
             {FB_OUTCOME_REFUSED, "refused"},
             {FB_OUTCOME_NOT_CHECKABLE, "not checkable"},
             {FB_OUTCOME_PASS, "passed"}};

/* ": of 6 cases 2 crashed, 4 refused; the first reason: ...", "" where there is no case. */
static void tell_fates(const struct fb_results *results, char text[FATES_TEXT])
{
    const char *reason = "", *comma = " ";
    int used = 0;
    text[0] = '\0';
    if (results->record_count)
        used = snprintf(text, FATES_TEXT, ": of %zu case%s", results->record_count,
                        results->record_count == 1 ? "" : "s");
    for (size_t f = 0; f < sizeof fates / sizeof *fates; f++) {
        size_t count = 0;
        for (size_t i = 0; i < results->record_count; i++) {
            const struct fb_record *r = &results->records[i];
            bool alike = r->outcome == (int)fates[f].outcome;
            count += alike;
            if (alike && !*reason)
                reason = fb_text(r->reason);
        }
        if (count) {
            used += snprintf(text + used, FATES_TEXT - (size_t)used, "%s%zu %s", comma, count,
                             fates[f].word);
            comma = ", ";
        }
    }
    if (*reason)
        snprintf(text + used, FATES_TEXT - (size_t)used,
                 "; the first reason: %.400s; 'flashback export' has them all", reason);
}

/* ---- Kinds --------------------------------------------------------------------------------------
 */

static enum fb_status print_kind(const struct fb_grouping *grouping, enum fb_table_kind kind,
                                 enum fb_format format, const char *baseline, const char *fate,
                                 size_t *printed)
{
    struct fb_sheet sheet;
    bool asked = !printed; /* a kind that was asked for is printed even if it is empty */
    switch (kind) {
    case FB_TABLE_ALL:
        return FB_OK;
    case FB_TABLE_SPEED:
        fb_table_speed(&sheet, grouping, baseline);
        break;
    case FB_TABLE_MEMORY:
        fb_table_memory(&sheet, grouping);
        break;
    case FB_TABLE_ERROR:
        fb_table_error(&sheet, grouping);
        break;
    case FB_TABLE_DETERMINISM:
        fb_table_determinism(&sheet, grouping);
        break;
    }
    enum fb_status status = FB_OK;
    if (!sheet.row_count && !sheet.failed)
        fb_sheet_note(&sheet, "the file has no record with %s in it%s", kind_names[kind], fate);
    if (asked || sheet.row_count || sheet.failed) {
        if (printed && (*printed)++)
            putchar('\n');
        status = fb_sheet_print(&sheet, format);
    }
    fb_sheet_free(&sheet);
    return status;
}

enum fb_status fb_table_print(const struct fb_results *results, enum fb_table_kind kind,
                              enum fb_format format, const char *baseline)
{
    struct fb_grouping grouping;
    enum fb_status status = FB_OK;
    size_t printed = 0;
    char fate[FATES_TEXT];
    if (baseline)
        FB_TRY(fb_results_need(results, "--baseline", baseline));
    FB_TRY(fb_grouping_make(&grouping, results));
    tell_fates(results, fate);
    if (kind != FB_TABLE_ALL)
        status = print_kind(&grouping, kind, format, baseline, fate, NULL);
    for (int each = FB_TABLE_SPEED; kind == FB_TABLE_ALL && each <= FB_TABLE_DETERMINISM; each++)
        if (status == FB_OK)
            status =
                print_kind(&grouping, (enum fb_table_kind)each, format, baseline, fate, &printed);
    if (status == FB_OK && kind == FB_TABLE_ALL && !printed)
        printf("No record in this file has numbers%s.\n", fate);
    fb_grouping_free(&grouping);
    return status;
}
