/* SPDX-License-Identifier: BSD-3-Clause
 *
 * columns.c: columns.def as a table at run time, and typed access to a record through it.
 */
#include <math.h>
#include <string.h>

#include "store/record.h"

#define CASE_ENTRY(kind, name, unit, text)                                                         \
    {#name, NULL, FB_KIND_##kind, unit, text, offsetof(struct fb_record, name)},
#define TENSOR_ENTRY(of, kind, name, unit, text)                                                   \
    {#of "_" #name, #of, FB_KIND_##kind, unit, text, offsetof(struct fb_record, tensor.of.name)},
#define TENSOR_ENTRIES(of) FB_TENSOR_COLUMNS(TENSOR_ENTRY, of)

const struct fb_column fb_columns[] = {FB_RECORD_COLUMNS(CASE_ENTRY)
                                           FB_RESULT_TENSORS(TENSOR_ENTRIES)};
const size_t fb_column_count = sizeof fb_columns / sizeof *fb_columns;

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

const char *fb_column_text(const struct fb_column *column, const struct fb_record *record)
{
    return fb_text(*(char *const *)slot_of(column, record));
}

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
        return !*fb_column_text(column, record);
    case FB_KIND_INT:
        return fb_column_int(column, record) == FB_MISSING_INT;
    case FB_KIND_UINT:
        return fb_column_uint(column, record) == FB_MISSING_UINT;
    case FB_KIND_REAL:
        break;
    }
    return isnan(fb_column_real(column, record));
}
