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

/* ---- Words that are read whatever stands beside them --------------------------------------------
 */

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

/* The lists below the problem, each word read once. */
struct lists {
    const struct fb_words *recipe_words, *thread_words, *numerics_words;
    struct fb_source *recipes;
    int *threads;
    struct fb_numerics *numerics;
};

static enum fb_status read_words(struct lists *lists, int *line)
{
    const struct fb_words *r = lists->recipe_words, *t = lists->thread_words,
                          *n = lists->numerics_words;
    lists->recipes = calloc(r->count, sizeof *lists->recipes);
    lists->threads = calloc(t->count, sizeof *lists->threads);
    lists->numerics = calloc(n->count, sizeof *lists->numerics);
    if (!lists->recipes || !lists->threads || !lists->numerics)
        return fb_fail(FB_NO_MEMORY, "no memory for a grid");
    for (size_t i = 0; i < t->count; i++) {
        *line = t->word[i].line;
        FB_TRY(parse_threads(t->word[i].text, &lists->threads[i]));
    }
    for (size_t i = 0; i < n->count; i++) {
        *line = n->word[i].line;
        FB_TRY(fb_numerics_parse(&lists->numerics[i], n->word[i].text));
    }
    for (size_t i = 0; i < r->count; i++) {
        *line = r->word[i].line;
        FB_TRY(fb_source_parse(&lists->recipes[i], r->word[i].text));
    }
    return FB_OK;
}

static void free_lists(struct lists *lists)
{
    for (size_t i = 0; lists->recipes && i < lists->recipe_words->count; i++)
        fb_source_free(&lists->recipes[i]);
    free(lists->recipes);
    free(lists->threads);
    free(lists->numerics);
}

static enum fb_status check_variants(const struct fb_grid *grid, int *line)
{
    for (size_t i = 0; i < grid->variants.count; i++) {
        *line = grid->variants.word[i].line;
        FB_TRY(fb_registry_require(grid->variants.word[i].text));
    }
    return FB_OK;
}

/* ---- The product -------------------------------------------------------------------------------
 */

/* A slip in a list is told at once, not after an hour of multiplying out. */
static enum fb_status check_product(const struct fb_grid *grid, const struct odometer *odometer,
                                    const struct lists *lists)
{
    double product = (double)lists->recipe_words->count * (double)lists->thread_words->count *
                     (double)lists->numerics_words->count * (double)grid->variants.count;
    for (size_t w = 0; w < odometer->wheels; w++)
        product *= (double)odometer->list[w]->count;
    if (product <= FB_GRID_LIMIT)
        return FB_OK;
    return fb_fail(FB_USAGE, "[%s] has %.4g cases; at most %d: split it into several files",
                   grid->name, product, FB_GRID_LIMIT);
}

/* terms holds problem and source: all numerics and variants on them. */
static enum fb_status emit_variants(const struct fb_grid *grid, const struct lists *lists,
                                    struct fb_terms *terms, int threads, struct fb_case_set *set)
{
    for (size_t n = 0; n < lists->numerics_words->count; n++)
        for (size_t v = 0; v < grid->variants.count; v++) {
            struct fb_case one;
            terms->numerics = lists->numerics[n];
            FB_TRY(fb_case_make(&one, grid->variants.word[v].text, terms, threads));
            FB_TRY(fb_case_set_add(set, &one));
        }
    return FB_OK;
}

/* The cases of the problem at which the odometer stands. */
static enum fb_status emit_problem(const struct fb_grid *grid, const struct odometer *odometer,
                                   const struct lists *lists, struct fb_case_set *set, int *line)
{
    struct fb_terms terms;
    char *text = problem_text(grid, odometer);
    if (!text)
        return fb_fail(FB_NO_MEMORY, "no memory for a problem string");
    enum fb_status status = fb_problem_parse(&terms.problem, text);
    free(text);
    if (status != FB_OK)
        *line = line_of_problem(grid, odometer);
    for (size_t r = 0; r < lists->recipe_words->count && status == FB_OK; r++) {
        *line = lists->recipe_words->word[r].line;
        terms.source = lists->recipes[r];
        status = fb_source_check(&terms.source, &terms.problem);
        for (size_t t = 0; t < lists->thread_words->count && status == FB_OK; t++)
            status = emit_variants(grid, lists, &terms, lists->threads[t], set);
    }
    fb_problem_free(&terms.problem);
    return status;
}

enum fb_status fb_grid_expand(const struct fb_grid *grid, struct fb_case_set *set, int *line)
{
    static struct fb_word nothing = {"", 0}, zero = {"0", 0}, plain = {"randn@1", 0};
    static const struct fb_words empty = {&nothing, 1}, all_threads = {&zero, 1},
                                 randn = {&plain, 1};
    struct odometer odometer = {.wheels = 0};
    struct lists lists = {
        .recipe_words = grid->recipes.count ? &grid->recipes : &randn,
        .thread_words = grid->threads.count ? &grid->threads : &all_threads,
        .numerics_words = grid->numerics.count ? &grid->numerics : &empty,
    };
    enum fb_status status;

    FB_TRY_OUT(check_variants(grid, line));
    FB_TRY_OUT(read_words(&lists, line));
    *line = grid->line;
    if (!grid->variants.count) {
        status = fb_fail(FB_USAGE, "[%s] names no variant", grid->name);
        goto out;
    }
    odometer.list[odometer.wheels++] = grid->problems.count ? &grid->problems : &empty;
    for (size_t a = 0; a < grid->axis_count; a++)
        odometer.list[odometer.wheels++] = &grid->axes[a].values;
    FB_TRY_OUT(check_product(grid, &odometer, &lists));
    do
        FB_TRY_OUT(emit_problem(grid, &odometer, &lists, set, line));
    while (odometer_step(&odometer));
out:
    free_lists(&lists);
    return status;
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
