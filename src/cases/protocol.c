/* SPDX-License-Identifier: BSD-3-Clause */
#include "cases/protocol.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "core/numbers.h"
#include "core/status.h"

const char *fb_stage_name(enum fb_stage stage)
{
    static const char *const names[] = {"idle",     "reference", "prepare", "forward",
                                        "backward", "release",   "load"};
    return (size_t)stage < sizeof names / sizeof *names ? names[stage] : "unknown";
}

/* ---- Words --------------------------------------------------------------------------------------
 */

static const struct {
    const char *text;
    bool alone;
} words[FB_WORD_NONE] = {
    [FB_WORD_GROUP] = {"group", false},     [FB_WORD_MEASURE] = {"measure", false},
    [FB_WORD_CASE] = {"case", false},       [FB_WORD_GO] = {"go", true},
    [FB_WORD_RECORD] = {"record", false},   [FB_WORD_UNREAD] = {"unread", false},
    [FB_WORD_BEGIN] = {"begin", false},     [FB_WORD_END] = {"end", false},
    [FB_WORD_DONE] = {"done", true},        [FB_WORD_LEAVE] = {"leave", true},
    [FB_WORD_VARIANT] = {"variant", false}, [FB_WORD_REFUSED] = {"refused", false}};

void fb_word_put(FILE *to, enum fb_word word, const char *format, ...)
{
    va_list arguments;
    fputs(words[word].text, to);
    if (!words[word].alone)
        putc(' ', to);
    va_start(arguments, format);
    vfprintf(to, format, arguments);
    va_end(arguments);
    putc('\n', to);
}

enum fb_word fb_word_take(char *line, char **rest)
{
    const size_t length = strcspn(line, " ");
    const bool alone = !line[length];
    for (int i = 0; i < FB_WORD_NONE; i++)
        if (strlen(words[i].text) == length && !memcmp(words[i].text, line, length) &&
            words[i].alone == alone) {
            line[length] = '\0';
            *rest = line + length + !alone;
            return (enum fb_word)i;
        }
    return FB_WORD_NONE;
}

/* ---- Writing ------------------------------------------------------------------------------------
 */

void fb_beacon_set(struct fb_beacon *beacon, int index, enum fb_stage stage)
{
    atomic_store_explicit(&beacon->since, fb_clock_ns(), memory_order_relaxed);
    atomic_store_explicit(&beacon->stage, stage, memory_order_relaxed);
    atomic_store_explicit(&beacon->index, index, memory_order_release);
}

static void write_measure(FILE *to, const struct fb_measure *measure)
{
    char value[FB_MEASURE_TEXT];
    for (int i = 0; i < FB_MEASURE_KEYS; i++) {
        if (!measure->what && !strcmp(fb_measure_key(i), "what"))
            continue; /* nothing is asked but whether the cases are taken */
        fb_measure_print(measure, i, value);
        fb_word_put(to, FB_WORD_MEASURE, "%s %s", fb_measure_key(i), value);
    }
}

enum fb_status fb_group_write(FILE *to, const struct fb_case *cases, const size_t *todo,
                              size_t count, const struct fb_measure *measure, bool timed)
{
    const struct fb_case *first = &cases[todo[0]];
    fb_word_put(to, FB_WORD_GROUP, "%d %d %s %s", first->threads, timed, first->problem,
                first->recipe);
    write_measure(to, measure);
    for (size_t i = 0; i < count; i++)
        fb_word_put(to, FB_WORD_CASE, "%zu %s %s", i, cases[todo[i]].variant,
                    cases[todo[i]].numerics);
    fb_word_put(to, FB_WORD_GO, "%s", "");
    return fflush(to) ? fb_fail(FB_IO, "a worker does not take its orders") : FB_OK;
}

/* ---- Reading -----------------------------------------------------------------------------------
 */

static enum fb_status malformed(const char *line)
{
    return fb_fail(FB_INTERNAL, "worker: cannot read the order '%.80s'", line);
}

static enum fb_status read_header(struct fb_group *group, char *line)
{
    char *rest = line;
    int64_t threads, timed;
    const char *first = strsep(&rest, " "), *second = rest ? strsep(&rest, " ") : NULL;
    const char *problem = rest ? strsep(&rest, " ") : NULL;
    if (!rest || !fb_number_int(first, &threads) || !fb_number_int(second, &timed))
        return malformed(line);
    group->threads = (int)threads;
    group->timed = timed != 0;
    group->problem = strdup(problem);
    group->recipe = strdup(rest);
    return group->problem && group->recipe ? FB_OK : fb_fail(FB_NO_MEMORY, "no memory");
}

static enum fb_status read_measure(struct fb_measure *measure, char *line)
{
    char *rest = line;
    const char *key = strsep(&rest, " ");
    return rest ? fb_measure_set(measure, key, rest) : malformed(line);
}

static enum fb_status read_case(struct fb_group *group, char *line)
{
    char *rest = line;
    strsep(&rest, " ");
    const char *variant = rest ? strsep(&rest, " ") : NULL;
    if (!rest)
        return malformed(line);
    size_t count = group->count + 1;
    char **variants = realloc(group->variant, count * sizeof *variants);
    if (variants)
        group->variant = variants;
    char **numerics = realloc(group->numerics, count * sizeof *numerics);
    if (numerics)
        group->numerics = numerics;
    if (!variants || !numerics)
        return fb_fail(FB_NO_MEMORY, "no memory for %zu cases", count);
    group->variant[count - 1] = strdup(variant);
    group->numerics[count - 1] = strdup(rest);
    group->count = count;
    return group->variant[count - 1] && group->numerics[count - 1]
               ? FB_OK
               : fb_fail(FB_NO_MEMORY, "no memory for %zu cases", count);
}

/* *complete: the order to begin. */
static enum fb_status read_order(struct fb_group *group, char *line, bool *complete)
{
    char *rest;
    switch (fb_word_take(line, &rest)) {
    case FB_WORD_GROUP:
        return read_header(group, rest);
    case FB_WORD_MEASURE:
        return read_measure(&group->measure, rest);
    case FB_WORD_CASE:
        return read_case(group, rest);
    case FB_WORD_GO:
        *complete = true;
        return FB_OK;
    default:
        return malformed(line);
    }
}

enum fb_status fb_group_read(FILE *from, struct fb_group *group, bool *end)
{
    enum fb_status status = FB_OK;
    char *line = NULL;
    size_t room = 0;
    bool complete = false;

    memset(group, 0, sizeof *group);
    *end = false;
    while (status == FB_OK && !complete && getline(&line, &room, from) > 0) {
        line[strcspn(line, "\n")] = '\0';
        status = read_order(group, line, &complete);
    }
    if (status == FB_OK && !complete) {
        *end = true;
        if (group->problem)
            status = fb_fail(FB_INTERNAL, "worker: the orders break off");
    } else if (status == FB_OK && (!group->problem || !group->count)) {
        status = malformed("go");
    }
    free(line);
    if (status != FB_OK || *end)
        fb_group_free(group);
    return status;
}

void fb_group_free(struct fb_group *group)
{
    for (size_t i = 0; i < group->count; i++) {
        free(group->variant[i]);
        free(group->numerics[i]);
    }
    free(group->variant);
    free(group->numerics);
    free(group->problem);
    free(group->recipe);
    memset(group, 0, sizeof *group);
}
