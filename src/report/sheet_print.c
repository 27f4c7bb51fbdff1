/* SPDX-License-Identifier: BSD-3-Clause
 *
 * sheet_print.c: a sheet as aligned text, Markdown, LaTeX or CSV, on stdout.
 */
#include "report/sheet_print.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/status.h"

static bool new_group(const struct fb_sheet *sheet, size_t row)
{
    return row == 0 || strcmp(sheet->rows[row].group, sheet->rows[row - 1].group) != 0;
}

/* ---- Text -------------------------------------------------------------------------------------
 */

static void put_padded(const char *text, size_t width, bool left)
{
    printf("%*s", left ? -(int)width : (int)width, text);
}

static void print_line(const struct fb_sheet *sheet, const size_t *widths,
                       const struct fb_sheet_row *row)
{
    size_t last = sheet->column_count;
    while (last > 0 && row && sheet->left[last - 1] && !*row->cells[last - 1].text)
        last--; /* no blanks at the end of a line */
    for (size_t c = 0; c < last; c++) {
        const char *text = row ? row->cells[c].text : sheet->heads[c];
        fputs(c ? "  " : "  ", stdout);
        put_padded(text, c + 1 == last && sheet->left[c] ? 0 : widths[c], sheet->left[c]);
    }
    putchar('\n');
}

static void print_text(const struct fb_sheet *sheet)
{
    size_t widths[FB_SHEET_COLUMNS];
    for (size_t c = 0; c < sheet->column_count; c++) {
        widths[c] = strlen(sheet->heads[c]);
        for (size_t r = 0; r < sheet->row_count; r++) {
            size_t length = strlen(sheet->rows[r].cells[c].text);
            widths[c] = length > widths[c] ? length : widths[c];
        }
    }
    printf("%s\n\n", sheet->title);
    if (sheet->row_count)
        print_line(sheet, widths, NULL);
    for (size_t r = 0; r < sheet->row_count; r++) {
        if (new_group(sheet, r) && *sheet->rows[r].group)
            printf("%s\n", sheet->rows[r].group);
        print_line(sheet, widths, &sheet->rows[r]);
    }
    if (sheet->note_count)
        putchar('\n');
    for (size_t i = 0; i < sheet->note_count; i++)
        printf("[%zu] %s\n", i + 1, sheet->notes[i]);
}

/* ---- Markdown ---------------------------------------------------------------------------------
 */

static void put_markdown(const char *text)
{
    for (; *text; text++) {
        if (strchr("|*_`<", *text))
            putchar('\\');
        putchar(*text);
    }
}

static void print_markdown(const struct fb_sheet *sheet)
{
    printf("**");
    put_markdown(sheet->title);
    printf("**\n\n| ");
    put_markdown(sheet->group_head);
    for (size_t c = 0; c < sheet->column_count; c++) {
        printf(" | ");
        put_markdown(sheet->heads[c]);
    }
    printf(" |\n|---");
    for (size_t c = 0; c < sheet->column_count; c++)
        printf(sheet->left[c] ? "|---" : "|--:");
    printf("|\n");
    for (size_t r = 0; r < sheet->row_count; r++) {
        printf("| ");
        put_markdown(new_group(sheet, r) ? sheet->rows[r].group : "");
        for (size_t c = 0; c < sheet->column_count; c++) {
            printf(" | ");
            put_markdown(sheet->rows[r].cells[c].text);
        }
        printf(" |\n");
    }
    if (sheet->note_count)
        putchar('\n');
    for (size_t i = 0; i < sheet->note_count; i++) {
        printf("%zu. ", i + 1);
        put_markdown(sheet->notes[i]);
        putchar('\n');
    }
}

/* ---- LaTeX ------------------------------------------------------------------------------------
 */

static void put_latex(const char *text)
{
    for (; *text; text++) {
        if (strchr("&%$#_{}", *text))
            printf("\\%c", *text);
        else if (*text == '\\')
            printf("\\textbackslash{}");
        else if (*text == '~' || *text == '^')
            printf("\\%c{}", *text);
        else if (*text == '<' || *text == '>' || *text == '|')
            printf("$%c$", *text);
        else
            putchar(*text);
    }
}

static void print_latex(const struct fb_sheet *sheet)
{
    printf("%% ");
    puts(sheet->title);
    printf("\\begin{tabular}{");
    for (size_t c = 0; c < sheet->column_count; c++)
        putchar(sheet->left[c] ? 'l' : 'r');
    printf("}\n\\hline\n");
    for (size_t c = 0; c < sheet->column_count; c++) {
        printf(c ? " & " : "");
        put_latex(sheet->heads[c]);
    }
    printf(" \\\\\n\\hline\n");
    for (size_t r = 0; r < sheet->row_count; r++) {
        if (new_group(sheet, r) && *sheet->rows[r].group) {
            printf("\\multicolumn{%zu}{l}{\\itshape ", sheet->column_count);
            put_latex(sheet->rows[r].group);
            printf("} \\\\\n");
        }
        for (size_t c = 0; c < sheet->column_count; c++) {
            printf(c ? " & " : "");
            put_latex(sheet->rows[r].cells[c].text);
        }
        printf(" \\\\\n");
    }
    printf("\\hline\n\\end{tabular}\n");
    for (size_t i = 0; i < sheet->note_count; i++) {
        printf("\\par\\footnotesize [%zu] ", i + 1);
        put_latex(sheet->notes[i]);
        putchar('\n');
    }
}

/* ---- CSV --------------------------------------------------------------------------------------
 */

static void put_csv(const char *text)
{
    if (!text[strcspn(text, ",\"\n\r")]) {
        fputs(text, stdout);
        return;
    }
    putchar('"');
    for (; *text; text++) {
        if (*text == '"')
            putchar('"');
        putchar(*text);
    }
    putchar('"');
}

static void print_csv(const struct fb_sheet *sheet)
{
    put_csv(sheet->group_head);
    for (size_t c = 0; c < sheet->column_count; c++) {
        putchar(',');
        put_csv(sheet->heads[c]);
    }
    putchar('\n');
    for (size_t r = 0; r < sheet->row_count; r++) {
        put_csv(sheet->rows[r].group);
        for (size_t c = 0; c < sheet->column_count; c++) {
            const struct fb_cell *cell = &sheet->rows[r].cells[c];
            putchar(',');
            put_csv(cell->raw ? cell->raw : cell->text);
        }
        putchar('\n');
    }
}

enum fb_status fb_sheet_print(const struct fb_sheet *sheet, enum fb_format format)
{
    if (sheet->failed)
        return fb_fail(FB_NO_MEMORY, "out of memory for a table");
    switch (format) {
    case FB_FORMAT_TEXT:
        print_text(sheet);
        break;
    case FB_FORMAT_MD:
        print_markdown(sheet);
        break;
    case FB_FORMAT_TEX:
        print_latex(sheet);
        break;
    case FB_FORMAT_CSV:
        print_csv(sheet);
        break;
    }
    if (fflush(stdout) || ferror(stdout))
        return fb_fail(FB_IO, "cannot write to standard output: %s", strerror(errno));
    return FB_OK;
}
