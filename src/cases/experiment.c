/* SPDX-License-Identifier: BSD-3-Clause */
#include "cases/experiment.h"

#include <errno.h>
#include <ini.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/status.h"
#include "cases/grid.h"

/* inih reads lines into a buffer of 200 bytes and would split a longer one in silence. */
enum { LINE_LIMIT = 198 };

/* What some editors put before a text in UTF-8. */
#define BYTE_ORDER_MARK "\xEF\xBB\xBF"

struct reader {
    struct fb_experiment *experiment;
    struct fb_grid *grids;
    size_t grid_count;
    const char *rest; /* of the text: what inih has not read yet */
    int line;         /* the last one that it read, from 1 */
    int heading;      /* the line of the section's heading */
    bool keyed;       /* a key stood below it: an indented line goes on with the value */
    int measured[FB_MEASURE_KEYS]; /* the line of each key of [measure]; 0: none yet */
    int refused;                   /* the line whose key was refused first; 0: none */
    int fault;                     /* where its fault is, if it is not that line */
    enum fb_status status;
};

/* ---- [experiment] and sections ----------------------------------------------------------------
 */

/* A later line of the same key continues the text. */
static enum fb_status add_text(char **text, const char *value)
{
    char *longer = NULL;
    if (asprintf(&longer, "%s%s%s", *text ? *text : "", *text ? " " : "", value) < 0)
        return fb_fail(FB_NO_MEMORY, "no memory for a text");
    free(*text);
    *text = longer;
    return FB_OK;
}

static enum fb_status set_experiment(struct fb_experiment *e, const char *key, const char *value)
{
    if (!strcmp(key, "question"))
        return add_text(&e->question, value);
    if (!strcmp(key, "shows"))
        return add_text(&e->shows, value);
    return fb_fail(FB_USAGE, "unknown key '%s' in [experiment]; allowed: question, shows", key);
}

/* A further line of a list goes on with it; of the other keys one value would be lost. */
static enum fb_status set_measure(struct reader *reader, const char *key, const char *value)
{
    struct fb_measure *measure = &reader->experiment->measure;
    const unsigned what = measure->what;
    int i = 0;
    FB_TRY(fb_measure_set(measure, key, value));
    while (strcmp(fb_measure_key(i), key) != 0)
        i++;
    const int before = reader->measured[i];
    reader->measured[i] = reader->line;
    if (before && strcmp(key, "what") != 0)
        return fb_fail(FB_USAGE, "%s is given twice, in line %d too", key, before);
    if (before)
        measure->what |= what;
    return FB_OK;
}

static enum fb_status new_grid(struct reader *reader, const char *name)
{
    struct fb_grid *grown = realloc(reader->grids, (reader->grid_count + 1) * sizeof *grown);
    if (grown)
        reader->grids = grown;
    char *copy = grown ? strdup(name) : NULL;
    if (!copy)
        return fb_fail(FB_NO_MEMORY, "no memory for a grid");
    grown[reader->grid_count++] = (struct fb_grid){.name = copy, .line = reader->heading};
    return FB_OK;
}

/* The grid of the section under way, the last one. A heading that comes again would add its lists
 * to those of the first, which nobody means. */
static enum fb_status find_grid(struct reader *reader, const char *name, struct fb_grid **grid)
{
    for (size_t i = 0; i < reader->grid_count; i++) {
        if (strcmp(reader->grids[i].name, name) || reader->grids[i].line == reader->heading)
            continue;
        reader->fault = reader->heading;
        return fb_fail(FB_USAGE,
                       "[%s] is there already, in line %d; another grid needs a name of its own, "
                       "as [grid NAME]",
                       name, reader->grids[i].line);
    }
    if (!reader->grid_count || reader->grids[reader->grid_count - 1].line != reader->heading)
        FB_TRY(new_grid(reader, name));
    *grid = &reader->grids[reader->grid_count - 1];
    return FB_OK;
}

static enum fb_status set_key(struct reader *reader, const char *section, const char *key,
                              const char *value)
{
    if (!strcmp(section, "experiment"))
        return set_experiment(reader->experiment, key, value);
    if (!strcmp(section, "measure"))
        return set_measure(reader, key, value);
    if (strncmp(section, "grid", 4) || (section[4] && section[4] != ' '))
        return fb_fail(FB_USAGE,
                       "unknown section [%s]; allowed: experiment, grid, grid NAME, "
                       "measure",
                       section);
    struct fb_grid *grid = NULL;
    FB_TRY(find_grid(reader, section, &grid));
    return fb_grid_add(grid, key, value, reader->line);
}

/* fgets for inih, whose handler is not told the line. It has room for any line that check_lines
 * lets pass. */
static char *read_line(char *buffer, int room, void *user)
{
    struct reader *reader = user;
    size_t length = strcspn(reader->rest, "\n");
    length += reader->rest[length] == '\n';
    if (!length || length >= (size_t)room)
        return NULL;
    memcpy(buffer, reader->rest, length);
    buffer[length] = '\0';
    reader->rest += length;
    reader->line++;
    const char *first = buffer + strspn(buffer, " \t\r");
    if (*first == '[' && (first == buffer || !reader->keyed)) {
        reader->heading = reader->line;
        reader->keyed = false;
    }
    return buffer;
}

/* inih's callback: 0 makes ini_parse return the number of this line, the first such one wins. */
static int take_line(void *user, const char *section, const char *key, const char *value)
{
    struct reader *reader = user;
    reader->keyed = true;
    if (reader->status != FB_OK)
        return 1;
    reader->status = set_key(reader, section, key, value);
    if (reader->status != FB_OK)
        reader->refused = reader->line;
    return reader->status == FB_OK;
}

/* ---- Settings from the command line ------------------------------------------------------------
 */

/* KEY=VALUE replaces a key of [measure], or a list in every grid. */
static enum fb_status apply_setting(struct reader *reader, const char *setting)
{
    const char *equals = strchr(setting, '=');
    char key[64];
    if (!equals || equals == setting || (size_t)(equals - setting) >= sizeof key)
        return fb_fail(FB_USAGE, "--set %s: expected KEY=VALUE", setting);
    snprintf(key, sizeof key, "%.*s", (int)(equals - setting), setting);
    if (fb_measure_has(key))
        return fb_measure_set(&reader->experiment->measure, key, equals + 1);
    for (size_t i = 0; i < reader->grid_count; i++)
        FB_TRY(fb_grid_add(&reader->grids[i], key, equals + 1, 0));
    return FB_OK;
}

/* ---- The file ----------------------------------------------------------------------------------
 */

static enum fb_status read_text(const char *path, char **text)
{
    enum { LARGEST = 1 << 20 };
    FILE *file = fopen(path, "r");
    if (!file)
        return fb_fail(FB_IO, "cannot read experiment '%s': %s", path, strerror(errno));
    char *buffer = malloc(LARGEST + 1);
    size_t length = buffer ? fread(buffer, 1, LARGEST + 1, file) : 0;
    int failed = ferror(file), cause = errno;
    fclose(file);
    if (!buffer)
        return fb_fail(FB_NO_MEMORY, "no memory to read '%s'", path);
    if (failed || length > LARGEST) {
        free(buffer);
        return failed ? fb_fail(FB_IO, "cannot read experiment '%s': %s", path, strerror(cause))
                      : fb_fail(FB_USAGE, "experiment '%s' is larger than 1 MiB", path);
    }
    buffer[length] = '\0';
    if (strlen(buffer) != length) {
        size_t line = 1;
        for (const char *c = buffer; *c; c++)
            line += *c == '\n';
        free(buffer);
        return fb_fail(FB_USAGE, "%s:%zu: a NUL byte; an experiment is text", path, line);
    }
    *text = buffer;
    return FB_OK;
}

static enum fb_status check_lines(const char *path, const char *text)
{
    int number = 1;
    for (const char *line = text; *line; number++) {
        size_t length = strcspn(line, "\n");
        if (length > LINE_LIMIT)
            return fb_fail(FB_USAGE,
                           "%s:%d: line of %zu bytes; at most %d (continue it on an "
                           "indented line)",
                           path, number, length, LINE_LIMIT);
        line += length + (line[length] == '\n');
    }
    return FB_OK;
}

/* Puts file:line before the message that a line left behind; 0: the file alone, since the value is
 * the command line's. */
static enum fb_status locate(struct reader *reader, const char *path, int line)
{
    char message[400];
    const enum fb_status status = reader->status;
    snprintf(message, sizeof message, "%s", fb_status_message());
    fb_status_clear();
    if (!line)
        return fb_fail(status, "%s: %s", path, message);
    return fb_fail(status, "%s:%d: %s", path, line,
                   *message ? message : "expected '[section]', 'key = value' or '# comment'");
}

/* The first fault of the text, which inih found in this line: a key that was refused, or a line
 * that is no key at all, after which inih goes on and a key may have been refused as well. */
static enum fb_status locate_first(struct reader *reader, const char *path, int line)
{
    if (line == reader->refused)
        return locate(reader, path, reader->fault ? reader->fault : line);
    fb_status_clear();
    reader->status = FB_USAGE;
    return locate(reader, path, line);
}

static enum fb_status expand_all(struct reader *reader, const char *path)
{
    struct fb_experiment *e = reader->experiment;
    struct fb_case_set set = {0};
    int line = 0;
    for (size_t i = 0; i < reader->grid_count && reader->status == FB_OK; i++)
        reader->status = fb_grid_expand(&reader->grids[i], &set, &line);
    e->cases = fb_case_set_release(&set, &e->case_count);
    FB_TRY(reader->status == FB_OK ? FB_OK : locate(reader, path, line));
    return e->case_count ? FB_OK : fb_fail(FB_USAGE, "%s: no [grid] section, so no case", path);
}

static enum fb_status check_measure(const struct fb_measure *m, const char *path)
{
    if (m->max_samples < m->min_samples)
        return fb_fail(FB_USAGE, "%s: max_samples=%d is below min_samples=%d", path, m->max_samples,
                       m->min_samples);
    return FB_OK;
}

static char *stem(const char *path)
{
    const char *base = strrchr(path, '/');
    char *name = strdup(base ? base + 1 : path);
    char *ending = name ? strrchr(name, '.') : NULL;
    if (ending && ending != name)
        *ending = '\0';
    return name;
}

enum fb_status fb_experiment_read(struct fb_experiment *experiment, const char *path,
                                  const char *const *settings, size_t setting_count)
{
    struct reader reader = {.experiment = experiment};
    enum fb_status status;
    memset(experiment, 0, sizeof *experiment);
    fb_measure_default(&experiment->measure);
    FB_TRY_OUT(read_text(path, &experiment->text));
    FB_TRY_OUT(check_lines(path, experiment->text));
    experiment->name = stem(path);
    reader.rest = experiment->text;
    if (!strncmp(reader.rest, BYTE_ORDER_MARK, strlen(BYTE_ORDER_MARK)))
        reader.rest += strlen(BYTE_ORDER_MARK);
    int line = ini_parse_stream(read_line, &reader, take_line, &reader);
    if (line)
        FB_TRY_OUT(locate_first(&reader, path, line));
    for (size_t i = 0; i < setting_count; i++)
        FB_TRY_OUT(apply_setting(&reader, settings[i]));
    FB_TRY_OUT(check_measure(&experiment->measure, path));
    FB_TRY_OUT(expand_all(&reader, path));
out:
    for (size_t i = 0; i < reader.grid_count; i++)
        fb_grid_free(&reader.grids[i]);
    free(reader.grids);
    if (status != FB_OK)
        fb_experiment_free(experiment);
    return status;
}

void fb_experiment_free(struct fb_experiment *experiment)
{
    fb_cases_free(experiment->cases, experiment->case_count);
    free(experiment->name);
    free(experiment->text);
    free(experiment->question);
    free(experiment->shows);
    memset(experiment, 0, sizeof *experiment);
}
