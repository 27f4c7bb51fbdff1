/* SPDX-License-Identifier: BSD-3-Clause
 *
 * record.h: all that one case produced, as a struct with a member a column of columns.def.
 *
 *     struct fb_record r;
 *     fb_record_init(&r);
 *     FB_TRY(fb_text_set(&r.variant, "cpu-atomic"));
 *     r.bwd_ms = 12.5;
 *     r.tensor.dq.max_abs = 3e-7;
 *     FB_TRY(fb_samples_set(&r.bwd_samples, &r.bwd_sample_count, values, count));
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

#define FB_MISSING_INT ((int64_t)-1)
#define FB_MISSING_UINT UINT64_MAX

enum fb_kind { FB_KIND_TEXT, FB_KIND_INT, FB_KIND_UINT, FB_KIND_REAL };

/* C types of the kinds, for the struct below. */
#define FB_CTYPE_TEXT char *
#define FB_CTYPE_INT int64_t
#define FB_CTYPE_UINT uint64_t
#define FB_CTYPE_REAL double

#define FB_MEMBER(kind, name, unit, text) FB_CTYPE_##kind name;
#define FB_TENSOR_MEMBER(tensor, kind, name, unit, text) FB_CTYPE_##kind name;
#define FB_TENSOR_STRUCT(tensor) struct fb_tensor_result tensor;

/* What the check and the determinism test found for one tensor. */
struct fb_tensor_result {
    FB_TENSOR_COLUMNS(FB_TENSOR_MEMBER, any)
};

struct fb_record {
    FB_RECORD_COLUMNS(FB_MEMBER)
    struct {
        FB_RESULT_TENSORS(FB_TENSOR_STRUCT) /* o, dq, dk, dv, dbias, dsink */
    } tensor;
    double *fwd_samples, *bwd_samples; /* ms, in the order taken; owned */
    size_t fwd_sample_count, bwd_sample_count;
};

void fb_record_init(struct fb_record *record);
void fb_record_free(struct fb_record *record); /* leaves it as fb_record_init does */

/* Replaces an owned text by a formatted one. FB_NO_MEMORY leaves it as it was. */
enum fb_status fb_text_set(char **text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The text, "" for NULL. */
const char *fb_text(const char *text);

/* Replaces an owned list of samples by a copy of count values. */
enum fb_status fb_samples_set(double **samples, size_t *sample_count, const double *values,
                              size_t count);

/* "o", "dq", "dk", "dv", "dbias" or "dsink"; NULL for any other name. */
struct fb_tensor_result *fb_record_tensor(struct fb_record *record, const char *name);

/* One JSON object (a member `name` of the one that is open, or NULL), missing values left out,
 * infinities as "inf" and "-inf". No line feed in it. */
void fb_record_write_json(const struct fb_record *record, struct fb_json *json, const char *name);

/* The same as a malloc'd text, for the pipe; NULL without memory. */
char *fb_record_to_json(const struct fb_record *record);

/* Fills *record (which the caller has not to init, but to free) from such an object. Members that
 * this program does not know are skipped. FB_CORRUPT when it is not a record. */
enum fb_status fb_record_from_json(struct fb_record *record, const char *text);

/* ---- The table at run time, for everything that treats all columns alike. ---------------------
 */

struct fb_column {
    const char *name;   /* "dq_max_abs" */
    const char *tensor; /* "dq", or NULL for a column of the case */
    enum fb_kind kind;
    const char *unit;
    const char *text; /* what it means */
    size_t offset;    /* in struct fb_record */
};

extern const struct fb_column fb_columns[];
extern const size_t fb_column_count;

const struct fb_column *fb_column_find(const char *name); /* NULL if there is none */

/* Typed access; the column must have that kind. */
const char *fb_column_text(const struct fb_column *column, const struct fb_record *record);
int64_t fb_column_int(const struct fb_column *column, const struct fb_record *record);
uint64_t fb_column_uint(const struct fb_column *column, const struct fb_record *record);
double fb_column_real(const struct fb_column *column, const struct fb_record *record);
void *fb_column_slot(const struct fb_column *column, struct fb_record *record);
bool fb_column_missing(const struct fb_column *column, const struct fb_record *record);

#endif
