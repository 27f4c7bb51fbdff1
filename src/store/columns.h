/* SPDX-License-Identifier: BSD-3-Clause
 *
 * columns.h: columns.def as a table at run time, for everything that treats all columns alike, and
 * the names of values.
 */
#ifndef FB_STORE_COLUMNS_H
#define FB_STORE_COLUMNS_H

#include "store/record.h"

enum fb_kind {
    FB_KIND_TEXT,
    FB_KIND_ENUM,
    FB_KIND_SET,
    FB_KIND_INT,
    FB_KIND_UINT,
    FB_KIND_REAL,
    FB_KIND_COUNT
};

/* A value of an ENUM, or a bit of a SET. */
struct fb_value {
    int value;
    const char *name;
};

/* fb_values_outcome and so on, ended by a name of NULL. */
#define FB_EXTERN(list) extern const struct fb_value fb_values_##list[];
FB_VALUE_LISTS(FB_EXTERN)
#undef FB_EXTERN

/* The value's name, "" for one that is missing. */
const char *fb_value_name(const struct fb_value *values, int value);

struct fb_column {
    const char *name;   /* "dq_max_abs" */
    const char *family; /* "dq" or "bwd", or NULL for a column of the case */
    enum fb_kind kind;
    const char *unit;
    const struct fb_value *values; /* of an ENUM or a SET, else NULL */
    const char *text;              /* what it means */
    size_t offset;                 /* in struct fb_record */
};

extern const struct fb_column fb_columns[];
extern const size_t fb_column_count;

const struct fb_column *fb_column_find(const char *name); /* NULL if there is none */

/* "text", "int64", "uint64" or "float64": what files hold. */
const char *fb_kind_name(enum fb_kind kind);

/* Is it a text in files: TEXT, ENUM or SET? */
bool fb_column_is_text(const struct fb_column *column);

/* The text that files hold, "" where it is missing; a SET's is put together in `room`. */
#define FB_SET_TEXT 64
const char *fb_column_text(const struct fb_column *column, const struct fb_record *record,
                           char room[FB_SET_TEXT]);

/* The other way round. FB_CORRUPT for a name that is not in the column's list, which is told. */
enum fb_status fb_column_take(const struct fb_column *column, struct fb_record *record,
                              const char *text);

/* A text column of schema 1 that is none any more (status, verdict): takes it and says so. */
enum fb_status fb_column_take_old(const char *name, struct fb_record *record, const char *text,
                                  bool *taken);

/* The name that a column had in schema 1, NULL where it had the same or was not there. */
const char *fb_column_old_name(const struct fb_column *column);

/* Typed access to a number; the column must have that kind. */
int64_t fb_column_int(const struct fb_column *column, const struct fb_record *record);
uint64_t fb_column_uint(const struct fb_column *column, const struct fb_record *record);
double fb_column_real(const struct fb_column *column, const struct fb_record *record);
void *fb_column_slot(const struct fb_column *column, struct fb_record *record);
bool fb_column_missing(const struct fb_column *column, const struct fb_record *record);

#endif
