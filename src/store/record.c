/* SPDX-License-Identifier: BSD-3-Clause
 *
 * record.c: a record's life, and its form as one JSON object.
 */
#include "store/record.h"

#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/numbers.h"
#include "core/status.h"
#include "store/columns.h"

void fb_record_init(struct fb_record *record)
{
    memset(record, 0, sizeof *record);
    for (size_t i = 0; i < fb_column_count; i++) {
        void *slot = fb_column_slot(&fb_columns[i], record);
        switch (fb_columns[i].kind) {
        case FB_KIND_TEXT:
            *(char **)slot = NULL;
            break;
        case FB_KIND_ENUM:
        case FB_KIND_SET:
            *(int *)slot = FB_MISSING_ENUM;
            break;
        case FB_KIND_INT:
            *(int64_t *)slot = FB_MISSING_INT;
            break;
        case FB_KIND_UINT:
            *(uint64_t *)slot = FB_MISSING_UINT;
            break;
        case FB_KIND_REAL:
        case FB_KIND_COUNT:
            *(double *)slot = NAN;
            break;
        }
    }
}

void fb_record_free(struct fb_record *record)
{
    for (size_t i = 0; i < fb_column_count; i++)
        if (fb_columns[i].kind == FB_KIND_TEXT)
            free(*(char **)fb_column_slot(&fb_columns[i], record));
    free(record->fwd.samples);
    free(record->bwd.samples);
    fb_record_init(record);
}

enum fb_status fb_text_set(char **text, const char *format, ...)
{
    va_list arguments;
    char *made;
    va_start(arguments, format);
    int length = vasprintf(&made, format, arguments);
    va_end(arguments);
    if (length < 0)
        return fb_fail(FB_NO_MEMORY, "out of memory for a text of a record");
    free(*text);
    *text = made;
    return FB_OK;
}

const char *fb_text(const char *text)
{
    return text ? text : "";
}

enum fb_status fb_samples_set(struct fb_pass_result *pass, const double *values, size_t count)
{
    double *copy = NULL;
    if (count) {
        copy = malloc(count * sizeof *copy);
        if (!copy)
            return fb_fail(FB_NO_MEMORY, "out of memory for %zu samples", count);
        memcpy(copy, values, count * sizeof *copy);
    }
    free(pass->samples);
    pass->samples = copy;
    pass->sample_count = count;
    return FB_OK;
}

bool fb_record_done(const struct fb_record *record)
{
    return record->outcome != FB_OUTCOME_REFUSED && record->outcome != FB_OUTCOME_CRASHED &&
           record->outcome != FB_OUTCOME_HUNG;
}

bool fb_record_ranked(const struct fb_record *record)
{
    return fb_record_done(record) && record->bwd.clock != FB_CLOCK_DIFFERS;
}

const char *fb_record_word(const struct fb_record *record)
{
    const bool silent = record->outcome == FB_OUTCOME_UNJUDGED;
    return silent ? "" : fb_value_name(fb_values_outcome, record->outcome);
}

struct fb_tensor_result *fb_record_tensor(struct fb_record *record, const char *name)
{
#define RETURN_IF_NAMED(of)                                                                        \
    if (!strcmp(name, #of))                                                                        \
        return &record->tensor.of;
    FB_RESULT_TENSORS(RETURN_IF_NAMED)
#undef RETURN_IF_NAMED
    return NULL;
}

/* ---- Writing ----------------------------------------------------------------------------------
 */

static void write_column(const struct fb_column *column, const struct fb_record *record,
                         struct fb_json *json)
{
    char text[FB_SET_TEXT];
    if (fb_column_missing(column, record))
        return;
    if (column->kind == FB_KIND_INT) {
        fb_json_int(json, column->name, fb_column_int(column, record));
    } else if (column->kind == FB_KIND_UINT) { /* as text: a reader may not hold 64 unsigned bits */
        snprintf(text, sizeof text, "%llu", (unsigned long long)fb_column_uint(column, record));
        fb_json_string(json, column->name, text);
    } else if (column->kind == FB_KIND_REAL) {
        fb_json_real(json, column->name, fb_column_real(column, record));
    } else {
        fb_json_string(json, column->name, fb_column_text(column, record, text));
    }
}

static void write_samples(struct fb_json *json, const char *name, const struct fb_pass_result *pass)
{
    if (!pass->sample_count)
        return;
    fb_json_begin(json, name, '[');
    for (size_t i = 0; i < pass->sample_count; i++)
        fb_json_real(json, NULL, pass->samples[i]);
    fb_json_end(json);
}

void fb_record_write_json(const struct fb_record *record, struct fb_json *json, const char *name)
{
    fb_json_begin(json, name, '{');
    for (size_t i = 0; i < fb_column_count; i++)
        write_column(&fb_columns[i], record, json);
    write_samples(json, "fwd_ms_samples", &record->fwd);
    write_samples(json, "bwd_ms_samples", &record->bwd);
    fb_json_end(json);
}

char *fb_record_to_json(const struct fb_record *record)
{
    struct fb_json json;
    fb_json_init(&json);
    fb_record_write_json(record, &json, NULL);
    if (!fb_json_text(&json)) {
        fb_json_free(&json);
        return NULL;
    }
    return json.text;
}

/* ---- Reading ----------------------------------------------------------------------------------
 */

static bool read_real(const json_t *value, double *real)
{
    const char *text = json_string_value(value);
    if (json_is_number(value))
        *real = json_number_value(value);
    else if (json_is_null(value))
        *real = NAN;
    else if (text && !strcmp(text, "inf"))
        *real = INFINITY;
    else if (text && !strcmp(text, "-inf"))
        *real = -INFINITY;
    else
        return false;
    return true;
}

static enum fb_status read_column(const struct fb_column *column, const json_t *value,
                                  struct fb_record *record)
{
    void *slot = fb_column_slot(column, record);
    bool good = false;
    if (json_is_null(value))
        return FB_OK;
    switch (column->kind) {
    case FB_KIND_TEXT:
    case FB_KIND_ENUM:
    case FB_KIND_SET:
        if (json_is_string(value))
            return fb_column_take(column, record, json_string_value(value));
        break;
    case FB_KIND_INT:
        good = json_is_integer(value);
        *(int64_t *)slot = (int64_t)json_integer_value(value);
        break;
    case FB_KIND_UINT:
        good = json_is_string(value) && fb_number_uint(json_string_value(value), slot);
        break;
    case FB_KIND_REAL:
    case FB_KIND_COUNT:
        good = read_real(value, slot);
        break;
    }
    return good ? FB_OK
                : fb_fail(FB_CORRUPT, "record: %s has a value of another kind", column->name);
}

static enum fb_status read_samples(const json_t *array, struct fb_pass_result *pass)
{
    if (!json_is_array(array))
        return fb_fail(FB_CORRUPT, "record: the samples are not a list");
    const size_t count = json_array_size(array);
    free(pass->samples);
    pass->sample_count = count;
    pass->samples = calloc(count + 1, sizeof *pass->samples);
    if (!pass->samples)
        return fb_fail(FB_NO_MEMORY, "out of memory for %zu samples", count);
    for (size_t i = 0; i < count; i++)
        if (!read_real(json_array_get(array, i), &pass->samples[i]))
            return fb_fail(FB_CORRUPT, "record: sample %zu is not a number", i);
    return FB_OK;
}

/* The column of that name. Members come in the order of the table as a rule, so the search starts
 * behind the column found last. */
static const struct fb_column *find_after(const struct fb_column *last, const char *name)
{
    size_t start = last ? (size_t)(last - fb_columns) + 1 : 0;
    for (size_t i = 0; i < fb_column_count; i++) {
        const struct fb_column *column = &fb_columns[(start + i) % fb_column_count];
        if (!strcmp(column->name, name))
            return column;
    }
    for (size_t i = 0; i < fb_column_count; i++) {
        const char *old = fb_column_old_name(&fb_columns[i]);
        if (old && !strcmp(old, name))
            return &fb_columns[i];
    }
    return NULL;
}

/* A member that is no column: samples, or something of an earlier or a later day. */
static enum fb_status read_other(const char *name, const json_t *value, struct fb_record *record)
{
    const char *text = json_string_value(value);
    bool taken;
    if (!strcmp(name, "fwd_ms_samples"))
        return read_samples(value, &record->fwd);
    if (!strcmp(name, "bwd_ms_samples"))
        return read_samples(value, &record->bwd);
    return text ? fb_column_take_old(name, record, text, &taken) : FB_OK;
}

enum fb_status fb_record_parse(struct fb_record *record, const json_t *object)
{
    const char *name;
    json_t *value;
    const struct fb_column *last = NULL;
    fb_record_init(record);
    if (!json_is_object(object))
        return fb_fail(FB_CORRUPT, "record: not a JSON object");
    json_object_foreach((json_t *)object, name, value)
    {
        const struct fb_column *column = find_after(last, name);
        last = column ? column : last;
        FB_TRY(column ? read_column(column, value, record) : read_other(name, value, record));
    }
    return FB_OK;
}

enum fb_status fb_record_from_json(struct fb_record *record, const char *text)
{
    json_error_t error;
    json_t *object = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    fb_record_init(record);
    if (!object)
        return fb_fail(FB_CORRUPT, "record: %s", error.text);
    enum fb_status status = fb_record_parse(record, object);
    json_decref(object);
    return status;
}
