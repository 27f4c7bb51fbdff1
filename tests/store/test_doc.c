/* SPDX-License-Identifier: BSD-3-Clause
 *
 * test_doc.c: doc/results-format.md holds the column table as the program has it. With
 * UPDATE_DOC=1 in the environment it is put there instead.
 */
#include <stdlib.h>
#include <string.h>

#include "core/status.h"
#include "store/columns.h"
#include "store/files.h"
#include "store/record.h"
#include "tests/tap.h"

#define BEGIN "<!-- columns: generated, do not edit -->\n"
#define END "<!-- end of columns -->\n"

static void put_meaning(FILE *out, const char *text)
{
    for (; *text; text++) {
        if (strchr("|<", *text))
            putc('\\', out);
        putc(*text, out);
    }
}

/* "fp32, bf16, fp16", or of a set "dq + dk + dv". */
static void put_values(FILE *out, const struct fb_column *column)
{
    const char *between = column->kind == FB_KIND_SET ? " + " : ", ";
    for (const struct fb_value *value = column->values; value && value->name; value++)
        fprintf(out, "%s%s", value == column->values ? "" : between, value->name);
}

/* Does another of its family stand for it: dq's of the tensors, the backward's of the passes? */
static bool is_stood_for(const struct fb_column *column)
{
    return column->family && strcmp(column->family, "dq") && strcmp(column->family, "bwd");
}

static char *table_text(void)
{
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        return NULL;
    fputs("| column | kind | unit or values | meaning |\n|---|---|---|---|\n", out);
    for (size_t i = 0; i < fb_column_count; i++) {
        const struct fb_column *column = &fb_columns[i];
        if (is_stood_for(column))
            continue;
        fprintf(out, "| `%s` | %s | %s", column->name, fb_kind_name(column->kind), column->unit);
        put_values(out, column);
        fputs(" | ", out);
        put_meaning(out, column->text);
        fputs(" |\n", out);
    }
    fclose(out);
    return text;
}

/* The document with the table put between its marks; NULL when it has no marks. */
static char *with_table(const char *document, const char *table)
{
    const char *begin = strstr(document, BEGIN), *end = strstr(document, END);
    char *text;
    if (!begin || !end || end < begin)
        return NULL;
    int head = (int)(begin - document) + (int)strlen(BEGIN);
    return asprintf(&text, "%.*s%s%s", head, document, table, end) < 0 ? NULL : text;
}

int main(void)
{
    char path[4096], *document = NULL;
    size_t length;
    const char *source = getenv("srcdir");
    snprintf(path, sizeof path, "%s/doc/results-format.md", source ? source : ".");
    if (!tap_ok(fb_file_read(path, &document, &length) == FB_OK, "%s is there", path))
        return tap_done();
    char *table = table_text();
    char *wanted = table ? with_table(document, table) : NULL;
    if (tap_ok(wanted != NULL, "it has a place for the columns")) {
        if (getenv("UPDATE_DOC"))
            fb_file_write(path, wanted, strlen(wanted));
        else
            tap_is(document, wanted, "it holds all %zu columns as they are", fb_column_count);
    }
    free(wanted);
    free(table);
    free(document);
    return tap_done();
}
