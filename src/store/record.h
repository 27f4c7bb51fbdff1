/* SPDX-License-Identifier: BSD-3-Clause
 *
 * record.h: all that one case produced, as a struct with a member a column of columns.def.
 *
 *     struct fb_record r;
 *     fb_record_init(&r);
 *     FB_TRY(fb_text_set(&r.variant, "cpu-atomic"));
 *     r.outcome = FB_OUTCOME_PASS;
 *     r.bwd.ms = 12.5;
 *     r.tensor.dq.max_abs = 3e-7;
 *     FB_TRY(fb_samples_set(&r.bwd, values, count));
 *     ...
 *     fb_record_free(&r);
 *
 * What is not known keeps the value that fb_record_init gave it: NULL, -1, 2^64-1 or NaN.
 */
#ifndef FB_STORE_RECORD_H
#define FB_STORE_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/json.h"
#include "flashback.h"
#include "store/columns.def"

#define FB_MISSING_ENUM (-1) /* of a SET, too */
#define FB_MISSING_INT ((int64_t)-1)
#define FB_MISSING_UINT UINT64_MAX

enum fb_kind {
    FB_KIND_TEXT,
    FB_KIND_ENUM,
    FB_KIND_SET,
    FB_KIND_INT,
    FB_KIND_UINT,
    FB_KIND_REAL,
    FB_KIND_COUNT
};

/* enum fb_outcome, fb_mode, fb_l2, fb_stop_rule and fb_control: what the columns of these names
 * hold. The constants of the other lists are flashback.h's. */
#define FB_CONSTANT(constant, name) constant,
#define FB_ENUM(list) enum fb_##list{FB_VALUES_##list(FB_CONSTANT)};
FB_OWN_VALUE_LISTS(FB_ENUM)
#undef FB_ENUM
#undef FB_CONSTANT

enum fb_level { FB_LEVEL_D1 = 1, FB_LEVEL_D2 = 2, FB_LEVEL_D4 = 4 };

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

/* C types of the kinds, for the struct below. */
#define FB_CTYPE_TEXT char *
#define FB_CTYPE_ENUM int
#define FB_CTYPE_SET int
#define FB_CTYPE_INT int64_t
#define FB_CTYPE_UINT uint64_t
#define FB_CTYPE_REAL double

#define FB_MEMBER(kind, name, unit, text) FB_CTYPE_##kind name;
#define FB_FAMILY_MEMBER(family, kind, name, unit, text) FB_CTYPE_##kind name;
#define FB_PASS_STRUCT(pass) struct fb_pass_result pass;
#define FB_TENSOR_STRUCT(tensor) struct fb_tensor_result tensor;

/* What was measured of one pass. */
struct fb_pass_result {
    FB_PASS_COLUMNS(FB_FAMILY_MEMBER, any)
    double *samples; /* ms, in the order taken; owned */
    size_t sample_count;
};

/* What the check and the determinism test found for one tensor. */
struct fb_tensor_result {
    FB_TENSOR_COLUMNS(FB_FAMILY_MEMBER, any)
};

struct fb_record {
    FB_RECORD_COLUMNS(FB_MEMBER)
    FB_RESULT_PASSES(FB_PASS_STRUCT) /* fwd, bwd */
    struct {
        FB_RESULT_TENSORS(FB_TENSOR_STRUCT) /* o, dq, dk, dv, dbias, dsink */
    } tensor;
};

void fb_record_init(struct fb_record *record);
void fb_record_free(struct fb_record *record); /* leaves it as fb_record_init does */

/* Replaces an owned text by a formatted one. FB_NO_MEMORY leaves it as it was. */
enum fb_status fb_text_set(char **text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The text, "" for NULL. */
const char *fb_text(const char *text);

/* Replaces the samples of a pass by a copy of count values. */
enum fb_status fb_samples_set(struct fb_pass_result *pass, const double *values, size_t count);

/* False for what was refused, crashed or hung: it has no numbers. */
bool fb_record_done(const struct fb_record *record);

/* May its backward's time stand beside others? Not where the supervisor's clock contradicts it. */
bool fb_record_ranked(const struct fb_record *record);

/* The outcome as reports say it: "" where there is nothing to be said, since nothing was judged. */
const char *fb_record_word(const struct fb_record *record);

/* "o", "dq", "dk", "dv", "dbias" or "dsink"; NULL for any other name. */
struct fb_tensor_result *fb_record_tensor(struct fb_record *record, const char *name);

/* One JSON object (a member `name` of the one that is open, or NULL), missing values left out,
 * infinities as "inf" and "-inf". No line feed in it. */
void fb_record_write_json(const struct fb_record *record, struct fb_json *json, const char *name);

/* The same as a malloc'd text, for the pipe; NULL without memory. */
char *fb_record_to_json(const struct fb_record *record);

/* Fills *record (which the caller has not to init, but to free) from such an object. Members that
 * this program does not know are skipped. FB_CORRUPT when it is not a record, or a value has a name
 * that is not in its list: the column is named. */
enum fb_status fb_record_from_json(struct fb_record *record, const char *text);

/* ---- The table at run time, for everything that treats all columns alike. ---------------------
 */

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
