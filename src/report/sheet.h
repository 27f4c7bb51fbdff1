/* SPDX-License-Identifier: BSD-3-Clause
 *
 * sheet.h: a table on its way to paper: a title, columns, rows that may stand in groups, notes. It
 * is built cell by cell and printed as aligned text, Markdown, LaTeX or CSV.
 */
#ifndef FB_REPORT_SHEET_H
#define FB_REPORT_SHEET_H

#include <stdbool.h>
#include <stddef.h>

#define FB_SHEET_COLUMNS 24

struct fb_cell {
    char *text; /* as people read it */
    char *raw;  /* as programs read it; NULL: the same */
};

struct fb_sheet_row {
    char *group; /* consecutive rows of one group stand under its name */
    struct fb_cell cells[FB_SHEET_COLUMNS];
};

struct fb_sheet {
    char *title;
    char *group_head; /* what groups are, for the formats that print them as a column */
    const char *heads[FB_SHEET_COLUMNS];
    bool left[FB_SHEET_COLUMNS]; /* words stand left, numbers right */
    size_t column_count;
    struct fb_sheet_row *rows;
    size_t row_count, row_room;
    size_t at; /* the cell to be filled next */
    char **notes;
    size_t note_count;
    bool failed; /* no memory; told by fb_sheet_print */
};

void fb_sheet_init(struct fb_sheet *sheet, const char *title, const char *group_head);
void fb_sheet_free(struct fb_sheet *sheet);

/* `head` lives as long as the sheet; a '<' in front of it asks for a column of words. */
void fb_sheet_column(struct fb_sheet *sheet, const char *head);
void fb_sheet_row(struct fb_sheet *sheet, const char *group);

/* Fill the next cell of the last row. */
void fb_sheet_text(struct fb_sheet *sheet, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* A text for people and another for programs. */
void fb_sheet_both(struct fb_sheet *sheet, const char *text, const char *raw);
/* "-" where the value is NaN, and nothing at all in CSV. The text may hold one %g-like format. */
void fb_sheet_real(struct fb_sheet *sheet, const char *format, double value);
/* With digits after the point so that four are significant. */
void fb_sheet_four(struct fb_sheet *sheet, double value);
/* "8.39 MB"; "-" for a negative number. CSV gets the bytes. */
void fb_sheet_bytes(struct fb_sheet *sheet, double bytes);
/* The rest of the row: "-". */
void fb_sheet_dashes(struct fb_sheet *sheet);

/* Adds a note unless it is there already; its number, from 1. */
size_t fb_sheet_note(struct fb_sheet *sheet, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The last cell of a row: what there is to say, with the reason, "" for none, as a numbered note.
 */
void fb_sheet_remark(struct fb_sheet *sheet, const char *word, const char *reason);

#endif
