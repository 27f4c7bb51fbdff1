/* SPDX-License-Identifier: BSD-3-Clause */
#include "cases/case.h"

#include <search.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/numerics.h"
#include "core/problem.h"
#include "core/status.h"
#include "core/recipe.h"
#include "cases/golden.h"
#include "cases/input_file.h"

static enum fb_status canonical_problem(const char *text, char **out)
{
    struct fb_problem problem;
    enum fb_status status = fb_problem_parse(&problem, text);
    if (status == FB_OK) {
        *out = fb_problem_print(&problem);
        if (!*out)
            status = fb_fail(FB_NO_MEMORY, "no memory for a problem string");
    }
    fb_problem_free(&problem);
    return status;
}

static enum fb_status canonical_numerics(const char *text, char **out)
{
    struct fb_numerics numerics;
    char buffer[FB_NUMERICS_TEXT];
    FB_TRY(fb_numerics_parse(&numerics, text));
    fb_numerics_print(&numerics, buffer);
    *out = strdup(buffer);
    return *out ? FB_OK : fb_fail(FB_NO_MEMORY, "no memory for a numerics string");
}

static enum fb_status canonical_recipe(const char *text, char **out)
{
    struct fb_recipe recipe;
    char buffer[FB_RECIPE_TEXT];
    if (fb_golden_is_recipe(text) || fb_input_file_is_recipe(text)) {
        *out = strdup(text);
    } else {
        FB_TRY(fb_recipe_parse(&recipe, text));
        fb_recipe_print(&recipe, buffer);
        *out = strdup(buffer);
    }
    return *out ? FB_OK : fb_fail(FB_NO_MEMORY, "no memory for a recipe string");
}

enum fb_status fb_case_check_recipe(const char *text)
{
    char *canonical = NULL;
    enum fb_status status = canonical_recipe(text, &canonical);
    free(canonical);
    return status;
}

/* A file that does not fit is told before anything runs. */
static enum fb_status check_file(const struct fb_case *one)
{
    struct fb_problem problem;
    if (!fb_input_file_is_recipe(one->recipe))
        return FB_OK;
    FB_TRY(fb_problem_parse(&problem, one->problem));
    enum fb_status status = fb_input_file_check(one->recipe, &problem);
    fb_problem_free(&problem);
    return status;
}

static enum fb_status build_key(struct fb_case *one)
{
    int length = one->threads ? asprintf(&one->key, "%s|%s|%s|%s|threads=%d", one->variant,
                                         one->problem, one->numerics, one->recipe, one->threads)
                              : asprintf(&one->key, "%s|%s|%s|%s", one->variant, one->problem,
                                         one->numerics, one->recipe);
    if (length >= 0)
        return FB_OK;
    one->key = NULL;
    return fb_fail(FB_NO_MEMORY, "no memory for a case key");
}

enum fb_status fb_case_make(struct fb_case *out, const char *variant, const char *problem,
                            const char *numerics, const char *recipe, int threads)
{
    enum fb_status status;
    memset(out, 0, sizeof *out);
    out->threads = threads;
    out->variant = strdup(variant);
    if (!out->variant) {
        status = fb_fail(FB_NO_MEMORY, "no memory for a case");
        goto out;
    }
    FB_TRY_OUT(canonical_problem(problem, &out->problem));
    FB_TRY_OUT(canonical_numerics(numerics, &out->numerics));
    FB_TRY_OUT(canonical_recipe(recipe, &out->recipe));
    FB_TRY_OUT(check_file(out));
    FB_TRY_OUT(build_key(out));
out:
    if (status != FB_OK)
        fb_case_free(out);
    return status;
}

void fb_case_free(struct fb_case *one)
{
    free(one->variant);
    free(one->problem);
    free(one->numerics);
    free(one->recipe);
    free(one->key);
    memset(one, 0, sizeof *one);
}

void fb_cases_free(struct fb_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++)
        fb_case_free(&cases[i]);
    free(cases);
}

/* ---- Sets ---------------------------------------------------------------------------------------
 */

static int compare_keys(const void *a, const void *b)
{
    return strcmp(a, b);
}

static bool make_room(struct fb_case_set *set)
{
    size_t room = set->room ? 2 * set->room : 64;
    if (set->count < set->room)
        return true;
    struct fb_case *grown = realloc(set->cases, room * sizeof *grown);
    if (!grown)
        return false;
    set->cases = grown;
    set->room = room;
    return true;
}

enum fb_status fb_case_set_add(struct fb_case_set *set, struct fb_case *one)
{
    char **found = make_room(set) ? tsearch(one->key, &set->keys, compare_keys) : NULL;
    if (found && *found == one->key) {
        set->cases[set->count++] = *one;
        return FB_OK;
    }
    fb_case_free(one);
    return found ? FB_OK : fb_fail(FB_NO_MEMORY, "no memory for %zu cases", set->count + 1);
}

static void keep_key(void *key)
{
    (void)key; /* the case owns it */
}

struct fb_case *fb_case_set_release(struct fb_case_set *set, size_t *count)
{
    struct fb_case *cases = set->cases;
    *count = set->count;
    tdestroy(set->keys, keep_key);
    memset(set, 0, sizeof *set);
    return cases;
}

int fb_case_same_group(const struct fb_case *a, const struct fb_case *b)
{
    return a->threads == b->threads && !strcmp(a->problem, b->problem) &&
           !strcmp(a->recipe, b->recipe);
}

/* FNV-1a, 64 bit. */
static uint64_t hash_text(uint64_t hash, const char *c)
{
    do
        hash = (hash ^ (unsigned char)*c) * 1099511628211u;
    while (*c++);
    return hash;
}

uint64_t fb_case_hash(uint64_t hash, const struct fb_case *one)
{
    return hash_text(hash, one->key);
}

int fb_case_shard(const struct fb_case *one, int shards)
{
    uint64_t hash = hash_text(hash_text(FB_CASE_HASH, one->problem), one->recipe);
    hash += (uint64_t)one->threads;
    hash ^= hash >> 32; /* the low bits of FNV-1a mix poorly */
    return (int)(hash % (uint64_t)shards);
}
