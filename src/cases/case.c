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

enum fb_status fb_terms_read(struct fb_terms *terms, const char *problem, const char *numerics,
                             const char *recipe)
{
    enum fb_status status;
    memset(terms, 0, sizeof *terms);
    FB_TRY_OUT(fb_problem_parse(&terms->problem, problem));
    FB_TRY_OUT(fb_numerics_parse(&terms->numerics, numerics));
    FB_TRY_OUT(fb_source_parse(&terms->source, recipe));
out:
    if (status != FB_OK)
        fb_terms_free(terms);
    return status;
}

static enum fb_status copy_terms(struct fb_terms *to, const struct fb_terms *from)
{
    FB_TRY(fb_problem_copy(&to->problem, &from->problem));
    to->numerics = from->numerics;
    return fb_source_copy(&to->source, &from->source);
}

void fb_terms_free(struct fb_terms *terms)
{
    fb_problem_free(&terms->problem);
    fb_source_free(&terms->source);
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

enum fb_status fb_case_make(struct fb_case *out, const char *variant, const struct fb_terms *terms,
                            int threads)
{
    char numerics[FB_NUMERICS_TEXT];
    enum fb_status status;
    memset(out, 0, sizeof *out);
    fb_numerics_print(&terms->numerics, numerics);
    FB_TRY_OUT(copy_terms(&out->terms, terms));
    out->threads = threads;
    out->variant = strdup(variant);
    out->problem = fb_problem_print(&terms->problem);
    out->numerics = strdup(numerics);
    out->recipe = strdup(terms->source.text);
    if (!out->variant || !out->problem || !out->numerics || !out->recipe) {
        status = fb_fail(FB_NO_MEMORY, "no memory for a case");
        goto out;
    }
    FB_TRY_OUT(build_key(out));
out:
    if (status != FB_OK)
        fb_case_free(out);
    return status;
}

enum fb_status fb_case_parse(struct fb_case *out, const char *variant, const char *problem,
                             const char *numerics, const char *recipe, int threads)
{
    struct fb_terms terms;
    enum fb_status status;
    FB_TRY(fb_terms_read(&terms, problem, numerics, recipe));
    FB_TRY_OUT(fb_source_check(&terms.source, &terms.problem));
    FB_TRY_OUT(fb_case_make(out, variant, &terms, threads));
out:
    fb_terms_free(&terms);
    return status;
}

void fb_case_free(struct fb_case *one)
{
    fb_terms_free(&one->terms);
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
