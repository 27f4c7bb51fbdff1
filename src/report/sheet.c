/* SPDX-License-Identifier: BSD-3-Clause
 *
 * sheet.c: building a sheet.
 */
#include "report/sheet.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"

static char *copy_text(struct fb_sheet *sheet, const char *text)
{
    char *copy = strdup(text);
    sheet->failed |= !copy;
    return copy;
}

void fb_sheet_init(struct fb_sheet *sheet, const char *title, const char *group_head)
{
    memset(sheet, 0, sizeof *sheet);
    sheet->title = copy_text(sheet, title);
    sheet->group_head = copy_text(sheet, group_head);
}

void fb_sheet_free(struct fb_sheet *sheet)
{
    for (size_t i = 0; i < sheet->row_count; i++) {
        free(sheet->rows[i].group);
        for (size_t c = 0; c < FB_SHEET_COLUMNS; c++) {
            free(sheet->rows[i].cells[c].text);
            free(sheet->rows[i].cells[c].raw);
        }
    }
    for (size_t i = 0; i < sheet->note_count; i++)
        free(sheet->notes[i]);
    free(sheet->rows);
    free(sheet->notes);
    free(sheet->title);
    free(sheet->group_head);
    memset(sheet, 0, sizeof *sheet);
}

void fb_sheet_column(struct fb_sheet *sheet, const char *head)
{
    if (sheet->column_count == FB_SHEET_COLUMNS) {
        sheet->failed = true;
        return;
    }
    sheet->left[sheet->column_count] = *head == '<';
    sheet->heads[sheet->column_count++] = *head == '<' ? head + 1 : head;
}

void fb_sheet_row(struct fb_sheet *sheet, const char *group)
{
    if (sheet->row_count == sheet->row_room) {
        size_t room = sheet->row_room ? 2 * sheet->row_room : 32;
        struct fb_sheet_row *rows = realloc(sheet->rows, room * sizeof *rows);
        if (!rows) {
            sheet->failed = true;
            return;
        }
        sheet->rows = rows;
        sheet->row_room = room;
    }
    memset(&sheet->rows[sheet->row_count], 0, sizeof *sheet->rows);
    sheet->rows[sheet->row_count++].group = copy_text(sheet, group);
    sheet->at = 0;
}

static void fill(struct fb_sheet *sheet, const char *text, const char *raw)
{
    if (sheet->failed || sheet->at == sheet->column_count) {
        sheet->failed = true;
        return;
    }
    struct fb_cell *cell = &sheet->rows[sheet->row_count - 1].cells[sheet->at++];
    cell->text = copy_text(sheet, text);
    cell->raw = raw ? copy_text(sheet, raw) : NULL;
}

void fb_sheet_text(struct fb_sheet *sheet, const char *format, ...)
{
    va_list arguments;
    char *text;
    va_start(arguments, format);
    int length = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (length < 0) {
        sheet->failed = true;
        return;
    }
    fill(sheet, text, NULL);
    free(text);
}

void fb_sheet_both(struct fb_sheet *sheet, const char *text, const char *raw)
{
    fill(sheet, text, raw);
}

void fb_sheet_real(struct fb_sheet *sheet, const char *format, double value)
{
    char text[64], raw[FB_REAL_TEXT];
    if (isnan(value)) {
        fill(sheet, "-", "");
        return;
    }
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(text, sizeof text, format, value);
#pragma GCC diagnostic pop
    fb_real_print(value, raw);
    fill(sheet, text, raw);
}

void fb_sheet_four(struct fb_sheet *sheet, double value)
{
    double size = fabs(value);
    fb_sheet_real(sheet,
                  size < 1      ? "%.4f"
                  : size < 10   ? "%.3f"
                  : size < 100  ? "%.2f"
                  : size < 1000 ? "%.1f"
                                : "%.0f",
                  value);
}

void fb_sheet_bytes(struct fb_sheet *sheet, double bytes)
{
    static const char *const units[] = {"kB", "MB", "GB", "TB"};
    char text[64], raw[FB_REAL_TEXT];
    double value = bytes;
    int unit = -1;
    if (!(bytes >= 0)) {
        fill(sheet, "-", "");
        return;
    }
    while (value >= 1000 && unit < 3) {
        value /= 1000;
        unit++;
    }
    if (unit < 0)
        snprintf(text, sizeof text, "%.0f B", value);
    else
        snprintf(text, sizeof text,
                 value < 10    ? "%.2f %s"
                 : value < 100 ? "%.1f %s"
                               : "%.0f %s",
                 value, units[unit]);
    fb_real_print(bytes, raw);
    fill(sheet, text, raw);
}

void fb_sheet_dashes(struct fb_sheet *sheet)
{
    while (!sheet->failed && sheet->at < sheet->column_count)
        fill(sheet, "-", "");
}

size_t fb_sheet_note(struct fb_sheet *sheet, const char *format, ...)
{
    va_list arguments;
    char *note;
    va_start(arguments, format);
    int length = vasprintf(&note, format, arguments);
    va_end(arguments);
    if (length < 0) {
        sheet->failed = true;
        return 0;
    }
    for (size_t i = 0; i < sheet->note_count; i++)
        if (!strcmp(sheet->notes[i], note)) {
            free(note);
            return i + 1;
        }
    char **notes = realloc(sheet->notes, (sheet->note_count + 1) * sizeof *notes);
    if (!notes) {
        sheet->failed = true;
        free(note);
        return 0;
    }
    sheet->notes = notes;
    notes[sheet->note_count++] = note;
    return sheet->note_count;
}

void fb_sheet_remark(struct fb_sheet *sheet, const char *word, const char *reason)
{
    if (*reason)
        fb_sheet_text(sheet, "%s%s[%zu]", word, *word ? " " : "",
                      fb_sheet_note(sheet, "%s", reason));
    else
        fb_sheet_text(sheet, "%s", word);
}
