/* SPDX-License-Identifier: BSD-3-Clause */
#include "cases/source.h"

#include <stdlib.h>
#include <string.h>

#include "core/status.h"

static enum fb_status read_drawn(struct fb_source *source, const char *text)
{
    char canonical[FB_RECIPE_TEXT];
    FB_TRY(fb_recipe_parse(&source->recipe, text));
    fb_recipe_print(&source->recipe, canonical);
    free(source->text);
    source->text = strdup(canonical);
    return source->text ? FB_OK : fb_fail(FB_NO_MEMORY, "no memory for a recipe string");
}

static enum fb_status read_file(struct fb_source *source, const char *rest)
{
    return fb_input_file_read(&source->file, source->text, rest);
}

static enum fb_status check_file(const struct fb_source *source, const struct fb_problem *problem)
{
    return fb_input_file_check(&source->file, problem);
}

/* A name without a group is refused by who would read it. */
static enum fb_status read_golden(struct fb_source *source, const char *rest)
{
    const char *hash = strrchr(rest, '#');
    if (!hash)
        return FB_OK;
    source->file.path = strdup(rest);
    if (!source->file.path)
        return fb_fail(FB_NO_MEMORY, "no memory for a file name");
    source->file.path[hash - rest] = '\0';
    source->file.group = source->file.path + (hash - rest) + 1;
    return FB_OK;
}

/* One row a kind, the prefix that tells it from those below it. read: of the text behind the
 * prefix; check: does it hold what a problem needs, NULL: whatever is needed. */
static const struct {
    const char *prefix;
    enum fb_status (*read)(struct fb_source *source, const char *rest);
    enum fb_status (*check)(const struct fb_source *source, const struct fb_problem *problem);
} sources[FB_SOURCES] = {
    [FB_SOURCE_FILE] = {"file:", read_file, check_file},
    [FB_SOURCE_GOLDEN] = {"golden:", read_golden, NULL},
    [FB_SOURCE_DRAWN] = {"", read_drawn, NULL},
};

enum fb_source_kind fb_source_kind_of(const char *text)
{
    int kind = 0;
    while (strncmp(text, sources[kind].prefix, strlen(sources[kind].prefix)) != 0)
        kind++;
    return (enum fb_source_kind)kind;
}

enum fb_status fb_source_parse(struct fb_source *source, const char *text)
{
    enum fb_status status;
    *source = (struct fb_source){.kind = fb_source_kind_of(text), .text = strdup(text)};
    if (!source->text) {
        status = fb_fail(FB_NO_MEMORY, "no memory for a recipe string");
        goto out;
    }
    FB_TRY_OUT(sources[source->kind].read(source, text + strlen(sources[source->kind].prefix)));
out:
    if (status != FB_OK)
        fb_source_free(source);
    return status;
}

enum fb_status fb_source_copy(struct fb_source *to, const struct fb_source *from)
{
    *to = *from;
    to->text = strdup(from->text);
    to->file.path = to->file.group = NULL;
    if (from->file.path) {
        const size_t offset = (size_t)(from->file.group - from->file.path);
        const size_t bytes = offset + strlen(from->file.group) + 1;
        to->file.path = malloc(bytes);
        if (to->file.path)
            to->file.group = (char *)memcpy(to->file.path, from->file.path, bytes) + offset;
    }
    if (to->text && (to->file.path || !from->file.path))
        return FB_OK;
    fb_source_free(to);
    return fb_fail(FB_NO_MEMORY, "no memory for a recipe");
}

void fb_source_free(struct fb_source *source)
{
    free(source->text);
    free(source->file.path);
    *source = (struct fb_source){.kind = FB_SOURCE_DRAWN};
}

enum fb_status fb_source_check(const struct fb_source *source, const struct fb_problem *problem)
{
    return sources[source->kind].check ? sources[source->kind].check(source, problem) : FB_OK;
}
