/* SPDX-License-Identifier: BSD-3-Clause
 *
 * export.c: results as plain columns, parted by one blank, that gnuplot, awk and pandas read. The
 * first line names the columns; a text that is empty or holds blanks stands in double quotes.
 */
#include "report/export.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/status.h"
#include "store/columns.h"

static const char *const kind_names[] = {"records", "samples", "run", "columns"};

enum fb_status fb_export_kind_parse(enum fb_export_kind *kind, const char *text)
{
    for (int i = 0; i < 4; i++)
        if (!strcmp(text, kind_names[i])) {
            *kind = (enum fb_export_kind)i;
            return FB_OK;
        }
    return fb_fail(FB_USAGE, "kind: '%s' is not one of records, samples, run, columns", text);
}

static void put_text(const char *text)
{
    bool plain = *text && !text[strcspn(text, " \t\n\r\"#'")];
    if (plain) {
        fputs(text, stdout);
        return;
    }
    putchar('"');
    for (; *text; text++) { /* no reader agrees with another on quotes and line feeds in quotes */
        if (*text == '"')
            putchar('\'');
        else
            putchar(*text == '\n' || *text == '\r' || *text == '\t' ? ' ' : *text);
    }
    putchar('"');
}

static void put_real(double value)
{
    char text[FB_REAL_TEXT];
    fb_real_print(value, text);
    fputs(text, stdout);
}

static void put_value(const struct fb_column *column, const struct fb_record *record)
{
    char room[FB_SET_TEXT];
    if (fb_column_is_text(column))
        put_text(fb_column_text(column, record, room));
    else if (column->kind == FB_KIND_INT)
        printf("%" PRId64, fb_column_int(column, record));
    else if (column->kind == FB_KIND_REAL)
        put_real(fb_column_real(column, record));
    else if (fb_column_missing(column, record))
        fputs("-1", stdout);
    else
        printf("%" PRIu64, fb_column_uint(column, record));
}

static void export_records(const struct fb_results *results)
{
    for (size_t c = 0; c < fb_column_count; c++)
        printf("%s%s", c ? " " : "", fb_columns[c].name);
    putchar('\n');
    for (size_t i = 0; i < results->record_count; i++)
        for (size_t c = 0; c < fb_column_count; c++) {
            put_value(&fb_columns[c], &results->records[i]);
            putchar(c + 1 == fb_column_count ? '\n' : ' ');
        }
}

static void put_samples(size_t number, const struct fb_record *record, const char *name,
                        const struct fb_pass_result *pass)
{
    for (size_t i = 0; i < pass->sample_count; i++) {
        printf("%zu ", number);
        put_text(fb_text(record->variant));
        printf(" %s %zu ", name, i);
        put_real(pass->samples[i]);
        putchar('\n');
    }
}

static void export_samples(const struct fb_results *results)
{
    puts("case variant pass sample ms");
    for (size_t i = 0; i < results->record_count; i++) {
        const struct fb_record *r = &results->records[i];
        put_samples(i, r, "fwd", &r->fwd);
        put_samples(i, r, "bwd", &r->bwd);
    }
}

static void export_run(const struct fb_results *results)
{
    puts("run fact value");
    for (size_t i = 0; i < results->run_count; i++)
        for (size_t f = 0; f < results->runs[i].fact_count; f++) {
            printf("%zu %s ", i, results->runs[i].facts[f].name);
            put_text(fb_text(results->runs[i].facts[f].value));
            putchar('\n');
        }
}

static void export_columns(void)
{
    puts("column kind unit meaning");
    for (size_t c = 0; c < fb_column_count; c++) {
        printf("%s %s ", fb_columns[c].name, fb_kind_name(fb_columns[c].kind));
        put_text(fb_columns[c].unit);
        putchar(' ');
        put_text(fb_columns[c].text);
        putchar('\n');
    }
}

enum fb_status fb_export(const struct fb_results *results, enum fb_export_kind kind)
{
    switch (kind) {
    case FB_EXPORT_RECORDS:
        export_records(results);
        break;
    case FB_EXPORT_SAMPLES:
        export_samples(results);
        break;
    case FB_EXPORT_RUN:
        export_run(results);
        break;
    case FB_EXPORT_COLUMNS:
        export_columns();
        break;
    }
    if (fflush(stdout) || ferror(stdout))
        return fb_fail(FB_IO, "cannot write to standard output: %s", strerror(errno));
    return FB_OK;
}
