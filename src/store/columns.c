/* SPDX-License-Identifier: BSD-3-Clause
 *
 * columns.c: columns.def as a table at run time, and typed access to a record through it.
 */
#include "store/columns.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/status.h"

#define VALUE_ENTRY(constant, name) {(int)constant, name},
#define VALUE_LIST(list)                                                                           \
    const struct fb_value fb_values_##list[] = {FB_VALUES_##list(VALUE_ENTRY){0, NULL}};
FB_VALUE_LISTS(VALUE_LIST)

/* The third word of a line: a unit, or the list of values. */
#define WORD_TEXT(unit) unit, NULL
#define WORD_ENUM(list) "", fb_values_##list
#define WORD_SET(list) "", fb_values_##list
#define WORD_INT(unit) unit, NULL
#define WORD_UINT(unit) unit, NULL
#define WORD_REAL(unit) unit, NULL

#define CASE_ENTRY(kind, name, word, text)                                                         \
    {#name, NULL, FB_KIND_##kind, WORD_##kind(word), text, offsetof(struct fb_record, name)},
#define PASS_ENTRY(of, kind, name, word, text)                                                     \
    {#of "_" #name,     #of,  FB_KIND_##kind,                                                      \
     WORD_##kind(word), text, offsetof(struct fb_record, of.name)},
#define TENSOR_ENTRY(of, kind, name, word, text)                                                   \
    {#of "_" #name,     #of,  FB_KIND_##kind,                                                      \
     WORD_##kind(word), text, offsetof(struct fb_record, tensor.of.name)},
#define PASS_ENTRIES(of) FB_PASS_COLUMNS(PASS_ENTRY, of)
#define TENSOR_ENTRIES(of) FB_TENSOR_COLUMNS(TENSOR_ENTRY, of)

const struct fb_column fb_columns[] = {FB_RECORD_COLUMNS(CASE_ENTRY) FB_RESULT_PASSES(PASS_ENTRIES)
                                           FB_RESULT_TENSORS(TENSOR_ENTRIES)};
const size_t fb_column_count = sizeof fb_columns / sizeof *fb_columns;

const char *fb_kind_name(enum fb_kind kind)
{
    static const char *const names[FB_KIND_COUNT] = {"text",  "text",   "text",
                                                     "int64", "uint64", "float64"};
    return names[kind];
}

const char *fb_value_name(const struct fb_value *values, int value)
{
    while (values->name && values->value != value)
        values++;
    return values->name ? values->name : "";
}

const struct fb_column *fb_column_find(const char *name)
{
    for (size_t i = 0; i < fb_column_count; i++)
        if (!strcmp(fb_columns[i].name, name))
            return &fb_columns[i];
    return NULL;
}

void *fb_column_slot(const struct fb_column *column, struct fb_record *record)
{
    return (char *)record + column->offset;
}

static const void *slot_of(const struct fb_column *column, const struct fb_record *record)
{
    return (const char *)record + column->offset;
}

static int value_of(const struct fb_column *column, const struct fb_record *record)
{
    return *(const int *)slot_of(column, record);
}

bool fb_column_is_text(const struct fb_column *column)
{
    return column->kind == FB_KIND_TEXT || column->values;
}

/* ---- Texts --------------------------------------------------------------------------------------
 */

static const char *print_set(const struct fb_value *values, int set, char room[FB_SET_TEXT])
{
    size_t used = 0;
    if (set == FB_MISSING_ENUM)
        return "";
    snprintf(room, FB_SET_TEXT, "none");
    for (; values->name; values++)
        if (set & values->value)
            used += (size_t)snprintf(room + used, FB_SET_TEXT - used, "%s%s", used ? "+" : "",
                                     values->name);
    return room;
}

const char *fb_column_text(const struct fb_column *column, const struct fb_record *record,
                           char room[FB_SET_TEXT])
{
    if (column->kind == FB_KIND_ENUM)
        return fb_value_name(column->values, value_of(column, record));
    if (column->kind == FB_KIND_SET)
        return print_set(column->values, value_of(column, record), room);
    return fb_text(*(char *const *)slot_of(column, record));
}

/* The value of that name; NULL if there is none. */
static const struct fb_value *find_value(const struct fb_value *values, const char *name,
                                         size_t length)
{
    for (; values->name; values++)
        if (strlen(values->name) == length && !memcmp(values->name, name, length))
            return values;
    return NULL;
}

static enum fb_status refuse_name(const char *column, const struct fb_value *values,
                                  const char *text)
{
    char allowed[256] = "";
    size_t used = 0;
    for (; values->name && used < sizeof allowed; values++)
        used += (size_t)snprintf(allowed + used, sizeof allowed - used, "%s%s", used ? ", " : "",
                                 values->name);
    return fb_fail(FB_CORRUPT, "column %s: '%.80s' is not one of %s", column, text, allowed);
}

static enum fb_status take_set(const struct fb_column *column, int *slot, const char *text)
{
    int set = 0;
    size_t length;
    for (const char *at = text; strcmp(text, "none"); at += length + 1) {
        length = strcspn(at, "+");
        const struct fb_value *found = find_value(column->values, at, length);
        if (!found)
            return refuse_name(column->name, column->values, text);
        set |= found->value;
        if (!at[length])
            break;
    }
    *slot = set;
    return FB_OK;
}

enum fb_status fb_column_take(const struct fb_column *column, struct fb_record *record,
                              const char *text)
{
    void *slot = fb_column_slot(column, record);
    if (column->kind == FB_KIND_TEXT)
        return *text ? fb_text_set(slot, "%s", text) : FB_OK;
    if (!*text)
        return FB_OK;
    if (column->kind == FB_KIND_SET)
        return take_set(column, slot, text);
    const struct fb_value *found = find_value(column->values, text, strlen(text));
    if (!found)
        return refuse_name(column->name, column->values, text);
    *(int *)slot = found->value;
    return FB_OK;
}

/* ---- Schema 1 -----------------------------------------------------------------------------------
 * It had a status (done, refused ...) and a verdict (empty where nothing was judged) where there is
 * one outcome now, and columns of the backward without its name.
 */

const char *fb_column_old_name(const struct fb_column *column)
{
    static const char *const renamed[][2] = {{"bwd_n_samples", "n_samples"},
                                             {"bwd_stop_rule", "stop_rule"}};
    for (size_t i = 0; i < sizeof renamed / sizeof *renamed; i++)
        if (!strcmp(column->name, renamed[i][0]))
            return renamed[i][1];
    return NULL;
}

/* In either order: a status other than done is the outcome, else a verdict is. */
enum fb_status fb_column_take_old(const char *name, struct fb_record *record, const char *text,
                                  bool *taken)
{
    static const struct fb_value fates[] = {
        {FB_OUTCOME_UNJUDGED, "done"},   {FB_OUTCOME_REFUSED, "refused"},
        {FB_OUTCOME_CRASHED, "crashed"}, {FB_OUTCOME_HUNG, "deadline"},
        {FB_OUTCOME_CRASHED, "error"},   {0, NULL}};
    const bool is_status = !strcmp(name, "status");
    const struct fb_value *values = is_status ? fates : fb_values_outcome;
    *taken = is_status || !strcmp(name, "verdict");
    if (!*taken || !*text)
        return FB_OK;
    const struct fb_value *found = find_value(values, text, strlen(text));
    if (!found)
        return refuse_name(name, values, text);
    const bool open = record->outcome == FB_MISSING_ENUM;
    if (is_status ? open || found->value != FB_OUTCOME_UNJUDGED
                  : open || record->outcome == FB_OUTCOME_UNJUDGED)
        record->outcome = found->value;
    return FB_OK;
}

/* ---- Numbers ------------------------------------------------------------------------------------
 */

int64_t fb_column_int(const struct fb_column *column, const struct fb_record *record)
{
    return *(const int64_t *)slot_of(column, record);
}

uint64_t fb_column_uint(const struct fb_column *column, const struct fb_record *record)
{
    return *(const uint64_t *)slot_of(column, record);
}

double fb_column_real(const struct fb_column *column, const struct fb_record *record)
{
    return *(const double *)slot_of(column, record);
}

bool fb_column_missing(const struct fb_column *column, const struct fb_record *record)
{
    switch (column->kind) {
    case FB_KIND_TEXT:
        return !*fb_text(*(char *const *)slot_of(column, record));
    case FB_KIND_ENUM:
    case FB_KIND_SET:
        return value_of(column, record) == FB_MISSING_ENUM;
    case FB_KIND_INT:
        return fb_column_int(column, record) == FB_MISSING_INT;
    case FB_KIND_UINT:
        return fb_column_uint(column, record) == FB_MISSING_UINT;
    case FB_KIND_REAL:
    case FB_KIND_COUNT:
        break;
    }
    return isnan(fb_column_real(column, record));
}
