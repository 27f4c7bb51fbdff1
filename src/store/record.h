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

struct json_t;

#define FB_MISSING_ENUM (-1) /* of a SET, too */
#define FB_MISSING_INT ((int64_t)-1)
#define FB_MISSING_UINT UINT64_MAX

/* enum fb_outcome, fb_mode, fb_l2, fb_stop_rule and fb_control: what the columns of these names
 * hold. The constants of the other lists are flashback.h's. */
#define FB_CONSTANT(constant, name) constant,
#define FB_ENUM(list) enum fb_##list{FB_VALUES_##list(FB_CONSTANT)};
FB_OWN_VALUE_LISTS(FB_ENUM)
#undef FB_ENUM
#undef FB_CONSTANT

enum fb_level { FB_LEVEL_D1 = 1, FB_LEVEL_D2 = 2, FB_LEVEL_D4 = 4 };

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

/* The same of an object of jansson. */
enum fb_status fb_record_parse(struct fb_record *record, const struct json_t *object);

#endif
