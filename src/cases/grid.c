/* SPDX-License-Identifier: BSD-3-Clause */
#include "cases/grid.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/numerics.h"
#include "core/problem.h"
#include "core/registry.h"
#include "core/status.h"

static const char *const problem_keys[] = {
    "b",      "h",     "hk",      "n",     "nq",   "nk",      "d",     "dv",    "dtype",  "mask",
    "window", "scale", "softcap", "alibi", "bias", "dropout", "qlens", "klens", "layout", NULL};

#define GRID_KEYS                                                                                  \
    "variant, problem, numerics, recipe, threads, b, h, hk, n, nq, nk, d, dv, dtype, mask, "       \
    "window, scale, softcap, alibi, bias, dropout, qlens, klens, layout"

static enum fb_status add_words(struct fb_words *list, const char *value, int line)
{
    enum fb_status status = FB_OK;
    char *copy = strdup(value), *rest = copy;
    if (!copy)
        return fb_fail(FB_NO_MEMORY, "no memory for a list");
    for (char *word; (word = strsep(&rest, " \t\n"));) {
        if (!*word)
            continue;
        struct fb_word *grown = realloc(list->word, (list->count + 1) * sizeof *grown);
        char *text = strdup(word);
        if (grown)
            list->word = grown;
        if (!grown || !text) {
            free(text);
            status = fb_fail(FB_NO_MEMORY, "no memory for a list");
            break;
        }
        grown[list->count++] = (struct fb_word){text, line};
    }
    free(copy);
    return status;
}

static void free_words(struct fb_words *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->word[i].text);
    free(list->word);
    memset(list, 0, sizeof *list);
}

static struct fb_axis *find_axis(struct fb_grid *grid, const char *key)
{
    for (size_t i = 0; i < grid->axis_count; i++)
        if (!strcmp(grid->axes[i].key, key))
            return &grid->axes[i];
    return NULL;
}

static struct fb_axis *new_axis(struct fb_grid *grid, const char *key)
{
    struct fb_axis *grown = realloc(grid->axes, (grid->axis_count + 1) * sizeof *grown);
    if (!grown)
        return NULL;
    grid->axes = grown;
    struct fb_axis *axis = &grown[grid->axis_count];
    memset(axis, 0, sizeof *axis);
    axis->key = strdup(key);
    if (axis->key)
        grid->axis_count++;
    return axis->key ? axis : NULL;
}

static struct fb_words *named_list(struct fb_grid *grid, const char *key)
{
    if (!strcmp(key, "variant"))
        return &grid->variants;
    if (!strcmp(key, "problem"))
        return &grid->problems;
    if (!strcmp(key, "numerics"))
        return &grid->numerics;
    if (!strcmp(key, "recipe"))
        return &grid->recipes;
    return strcmp(key, "threads") ? NULL : &grid->threads;
}

enum fb_status fb_grid_add(struct fb_grid *grid, const char *key, const char *value, int line)
{
    struct fb_words *list = named_list(grid, key);
    if (!list) {
        int known = 0;
        for (int i = 0; problem_keys[i]; i++)
            known |= !strcmp(problem_keys[i], key);
        if (!known)
            return fb_fail(FB_USAGE, "unknown key '%s' in [%s]; allowed: " GRID_KEYS, key,
                           grid->name);
        struct fb_axis *axis = find_axis(grid, key);
        if (!axis)
            axis = new_axis(grid, key);
        if (!axis)
            return fb_fail(FB_NO_MEMORY, "no memory for a grid");
        list = &axis->values;
    }
    if (!line)
        free_words(list);
    if (!value[strspn(value, " \t\n")])
        return fb_fail(FB_USAGE, "key '%s' in [%s] has no value", key, grid->name);
    return add_words(list, value, line);
}

/* One pass of the product: an odometer with a digit for each list. */
struct odometer {
    const struct fb_words *list[32];
    size_t digit[32];
    size_t wheels;
};

static int odometer_step(struct odometer *odometer)
{
    for (size_t w = odometer->wheels; w-- > 0;) {
        if (++odometer->digit[w] < odometer->list[w]->count)
            return 1;
        odometer->digit[w] = 0;
    }
    return 0;
}

static const struct fb_word *wheel_word(const struct odometer *odometer, size_t wheel)
{
    return &odometer->list[wheel]->word[odometer->digit[wheel]];
}

static enum fb_status parse_threads(const char *word, int *threads)
{
    char *end;
    errno = 0;
    long value = strtol(word, &end, 10);
    if (errno || end == word || *end || value < 0 || value > 4096)
        return fb_fail(FB_USAGE, "threads=%s is not a count from 1 to 4096 (0: all processors)",
                       word);
    *threads = (int)value;
    return FB_OK;
}

/* The problem text of the odometer's present state: the base and one item an axis. Malloc'd. */
static char *problem_text(const struct fb_grid *grid, const struct odometer *odometer)
{
    char *text = strdup(wheel_word(odometer, 0)->text);
    for (size_t a = 0; text && a < grid->axis_count; a++) {
        char *longer = NULL;
        if (asprintf(&longer, "%s%s%s=%s", text, *text ? "," : "", grid->axes[a].key,
                     wheel_word(odometer, 1 + a)->text) < 0)
            longer = NULL;
        free(text);
        text = longer;
    }
    return text;
}

/* The line to blame for a problem that is refused: that of the item which it is refused for (n
 * where it is nq or nk), else that of the whole problem, else that of the section. */
static int line_of_problem(const struct fb_grid *grid, const struct odometer *odometer)
{
    const char *item = fb_status_item();
    const bool length = !strcmp(item, "nq") || !strcmp(item, "nk");
    for (size_t a = 0; a < grid->axis_count; a++) {
        const char *key = grid->axes[a].key;
        if (!strcmp(key, item) || (length && !strcmp(key, "n")))
            return wheel_word(odometer, 1 + a)->line;
    }
    return grid->problems.count ? wheel_word(odometer, 0)->line : grid->line;
}

static enum fb_status emit_case(const struct fb_grid *grid, const struct odometer *odometer,
                                struct fb_case_set *set, int *line)
{
    size_t next = 1 + grid->axis_count;
    struct fb_case one;
    struct fb_problem problem;
    int threads = 0;
    FB_TRY(parse_threads(wheel_word(odometer, next + 1)->text, &threads));
    char *text = problem_text(grid, odometer);
    if (!text)
        return fb_fail(FB_NO_MEMORY, "no memory for a problem string");
    enum fb_status status = fb_problem_parse(&problem, text);
    fb_problem_free(&problem);
    if (status != FB_OK)
        *line = line_of_problem(grid, odometer);
    else /* all words being fine, what can be wrong is a file that does not fit */
        *line = wheel_word(odometer, next)->line;
    if (status == FB_OK)
        status = fb_case_make(&one, wheel_word(odometer, next + 3)->text, text,
                              wheel_word(odometer, next + 2)->text,
                              wheel_word(odometer, next)->text, threads);
    free(text);
    FB_TRY(status);
    return fb_case_set_add(set, &one);
}

/* ---- Words that are refused whatever stands beside them -----------------------------------------
 */

static enum fb_status check_threads(const char *word)
{
    int threads;
    return parse_threads(word, &threads);
}

static enum fb_status check_numerics(const char *word)
{
    struct fb_numerics numerics;
    return fb_numerics_parse(&numerics, word);
}

static enum fb_status check_list(const struct fb_words *list,
                                 enum fb_status (*check)(const char *word), int *line)
{
    for (size_t i = 0; i < list->count; i++) {
        *line = list->word[i].line;
        FB_TRY(check(list->word[i].text));
    }
    return FB_OK;
}

static enum fb_status check_words(const struct fb_grid *grid, int *line)
{
    FB_TRY(check_list(&grid->variants, fb_registry_require, line));
    FB_TRY(check_list(&grid->threads, check_threads, line));
    FB_TRY(check_list(&grid->numerics, check_numerics, line));
    FB_TRY(check_list(&grid->recipes, fb_case_check_recipe, line));
    *line = grid->line;
    return grid->variants.count ? FB_OK : fb_fail(FB_USAGE, "[%s] names no variant", grid->name);
}

/* A slip in a list is told at once, not after an hour of multiplying out. */
static enum fb_status check_product(const struct fb_grid *grid, const struct odometer *odometer)
{
    double product = 1;
    for (size_t w = 0; w < odometer->wheels; w++)
        product *= (double)odometer->list[w]->count;
    if (product <= FB_GRID_LIMIT)
        return FB_OK;
    return fb_fail(FB_USAGE, "[%s] has %.4g cases; at most %d: split it into several files",
                   grid->name, product, FB_GRID_LIMIT);
}

enum fb_status fb_grid_expand(const struct fb_grid *grid, struct fb_case_set *set, int *line)
{
    static struct fb_word nothing = {"", 0}, zero = {"0", 0}, plain = {"randn@1", 0};
    const struct fb_words no_base = {&nothing, 1}, all_threads = {&zero, 1}, randn = {&plain, 1};
    struct odometer odometer = {.wheels = 0};

    FB_TRY(check_words(grid, line));
    odometer.list[odometer.wheels++] = grid->problems.count ? &grid->problems : &no_base;
    for (size_t a = 0; a < grid->axis_count; a++)
        odometer.list[odometer.wheels++] = &grid->axes[a].values;
    odometer.list[odometer.wheels++] = grid->recipes.count ? &grid->recipes : &randn;
    odometer.list[odometer.wheels++] = grid->threads.count ? &grid->threads : &all_threads;
    odometer.list[odometer.wheels++] = grid->numerics.count ? &grid->numerics : &no_base;
    odometer.list[odometer.wheels++] = &grid->variants;
    FB_TRY(check_product(grid, &odometer));
    do
        FB_TRY(emit_case(grid, &odometer, set, line));
    while (odometer_step(&odometer));
    return FB_OK;
}

void fb_grid_free(struct fb_grid *grid)
{
    free(grid->name);
    free_words(&grid->variants);
    free_words(&grid->problems);
    free_words(&grid->numerics);
    free_words(&grid->recipes);
    free_words(&grid->threads);
    for (size_t a = 0; a < grid->axis_count; a++) {
        free(grid->axes[a].key);
        free_words(&grid->axes[a].values);
    }
    free(grid->axes);
    memset(grid, 0, sizeof *grid);
}
