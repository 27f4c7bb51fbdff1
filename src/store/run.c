/* SPDX-License-Identifier: BSD-3-Clause
 *
 * run.c: the facts about a run.
 */
#include "store/run.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "core/status.h"
#include "store/record.h"

void fb_run_init(struct fb_run *run)
{
    memset(run, 0, sizeof *run);
}

void fb_run_free(struct fb_run *run)
{
    for (size_t i = 0; i < run->fact_count; i++) {
        free(run->facts[i].name);
        free(run->facts[i].value);
    }
    free(run->facts);
    fb_run_init(run);
}

static struct fb_fact *find_fact(const struct fb_run *run, const char *name)
{
    for (size_t i = 0; i < run->fact_count; i++)
        if (!strcmp(run->facts[i].name, name))
            return &run->facts[i];
    return NULL;
}

static struct fb_fact *add_fact(struct fb_run *run, const char *name)
{
    struct fb_fact *facts = realloc(run->facts, (run->fact_count + 1) * sizeof *facts);
    if (!facts)
        return NULL;
    run->facts = facts;
    facts += run->fact_count;
    facts->value = NULL;
    facts->name = strdup(name);
    if (!facts->name)
        return NULL;
    run->fact_count++;
    return facts;
}

enum fb_status fb_run_set(struct fb_run *run, const char *name, const char *format, ...)
{
    va_list arguments;
    char *value;
    struct fb_fact *fact = find_fact(run, name);
    va_start(arguments, format);
    int length = vasprintf(&value, format, arguments);
    va_end(arguments);
    if (length < 0)
        return fb_fail(FB_NO_MEMORY, "out of memory for a fact of the run");
    if (!fact)
        fact = add_fact(run, name);
    if (!fact) {
        free(value);
        return fb_fail(FB_NO_MEMORY, "out of memory for a fact of the run");
    }
    free(fact->value);
    fact->value = value;
    return FB_OK;
}

const char *fb_run_get(const struct fb_run *run, const char *name)
{
    const struct fb_fact *fact = find_fact(run, name);
    return fact ? fb_text(fact->value) : "";
}

void fb_run_write_json(const struct fb_run *run, struct fb_json *json)
{
    fb_json_begin(json, "run", '{');
    fb_json_string(json, "schema_name", FB_SCHEMA_NAME);
    fb_json_int(json, "schema_version", FB_SCHEMA_VERSION);
    fb_json_begin(json, "facts", '{');
    for (size_t i = 0; i < run->fact_count; i++)
        fb_json_string(json, run->facts[i].name, run->facts[i].value);
    fb_json_end(json);
    fb_json_end(json);
}

enum fb_status fb_run_parse(struct fb_run *run, const json_t *object)
{
    const char *name;
    json_t *value;
    const char *schema = json_string_value(json_object_get(object, "schema_name"));
    json_int_t version = json_integer_value(json_object_get(object, "schema_version"));
    fb_run_init(run);
    if (!schema || strcmp(schema, FB_SCHEMA_NAME) != 0)
        return fb_fail(FB_CORRUPT, "not a journal of flashback");
    if (version < 1 || version > FB_SCHEMA_VERSION)
        return fb_fail(FB_CORRUPT, "journal of schema version %d, this program reads 1 to %d",
                       (int)version, FB_SCHEMA_VERSION);
    json_object_foreach(json_object_get(object, "facts"), name, value)
    {
        if (json_is_string(value))
            FB_TRY(fb_run_set(run, name, "%s", json_string_value(value)));
    }
    return FB_OK;
}
