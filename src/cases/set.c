/* SPDX-License-Identifier: BSD-3-Clause */
#include "cases/set.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/log.h"
#include "core/paths.h"
#include "core/registry.h"
#include "core/status.h"
#include "cases/golden.h"

struct problem {
    const char *problem, *recipe;
};

static const struct problem default_set[] = {
#include "cases/default_set.def"
};

static const struct problem long_set[] = {
    {"b=2,h=16,n=2048,d=128,dtype=bf16", "randn@1"}, /* the lecture's, without a mask */
    {"b=1,h=4,n=8192,d=64,dtype=fp16", "randn@1"},
#include "cases/long_set.def"
};

static bool has_case(const struct fb_check_set *set, const struct fb_case *one)
{
    for (size_t i = 0; i < set->count; i++)
        if (!strcmp(set->cases[i].key, one->key))
            return true;
    return false;
}

/* A case that is there already, from an option given twice say, is not judged twice. */
static enum fb_status add_case(struct fb_check_set *set, const char *variant, const char *problem,
                               const char *numerics, const char *recipe)
{
    struct fb_case *grown = realloc(set->cases, (set->count + 1) * sizeof *grown);
    if (!grown)
        return fb_fail(FB_NO_MEMORY, "no memory for %zu cases", set->count + 1);
    set->cases = grown;
    FB_TRY(fb_case_make(&grown[set->count], variant, problem, numerics, recipe, 0));
    if (has_case(set, &grown[set->count]))
        fb_case_free(&grown[set->count]);
    else
        set->count++;
    return FB_OK;
}

static enum fb_status add_problem(struct fb_check_set *set, const char *problem,
                                  const char *numerics, const char *recipe)
{
    for (size_t v = 0; v < set->variant_count; v++)
        FB_TRY(add_case(set, set->variants[v], problem, numerics, recipe));
    return FB_OK;
}

static bool is_used(const struct fb_check_set *set, const char *variant)
{
    for (size_t i = 0; i < set->variant_count; i++)
        if (!strcmp(set->variants[i], variant))
            return true;
    return false;
}

/* ---- Variants -----------------------------------------------------------------------------------
 */

static enum fb_status use_named(struct fb_check_set *set, const struct fb_check_options *o)
{
    for (size_t i = 0; i < o->variant_count; i++) {
        FB_TRY(fb_registry_require(o->variants[i]));
        if (!is_used(set, o->variants[i]))
            set->variants[set->variant_count++] = o->variants[i];
    }
    return FB_OK;
}

static enum fb_status choose_variants(struct fb_check_set *set, const struct fb_check_options *o)
{
    const struct fb_variant *variant;
    size_t room = o->variant_count + 1;
    for (int i = 0; fb_registry_at(i); i++)
        room++;
    set->variants = calloc(room, sizeof *set->variants);
    if (!set->variants)
        return fb_fail(FB_NO_MEMORY, "no memory for %zu names", room);
    if (o->variant_count)
        return use_named(set, o);
    for (int i = 0; (variant = fb_registry_at(i)); i++)
        if (!fb_variant_is_trap(variant) && !fb_variant_is_idle(variant) &&
            (!o->plugin_count || fb_variant_is_plugin(variant)))
            set->variants[set->variant_count++] = variant->name;
    return FB_OK;
}

/* ---- Cases --------------------------------------------------------------------------------------
 */

static enum fb_status add_experiment(struct fb_check_set *set, const struct fb_check_options *o)
{
    FB_TRY(fb_experiment_read(&set->experiment, o->experiment, o->settings, o->setting_count));
    for (size_t i = 0; i < set->experiment.case_count; i++) {
        const struct fb_case *one = &set->experiment.cases[i];
        if (is_used(set, one->variant))
            FB_TRY(add_case(set, one->variant, one->problem, one->numerics, one->recipe));
    }
    return FB_OK;
}

static enum fb_status add_table(struct fb_check_set *set, const struct fb_check_options *o,
                                const struct problem *table, size_t count)
{
    for (size_t i = 0; i < count; i++)
        FB_TRY(add_problem(set, table[i].problem, o->numerics,
                           o->recipe ? o->recipe : table[i].recipe));
    return FB_OK;
}

static enum fb_status add_default(struct fb_check_set *set, const struct fb_check_options *o)
{
    char path[4096];
    set->is_default = true;
    FB_TRY(add_table(set, o, default_set, sizeof default_set / sizeof *default_set));
    if (o->is_long)
        FB_TRY(add_table(set, o, long_set, sizeof long_set / sizeof *long_set));
    snprintf(path, sizeof path, "%s/tests/golden/handed.h5", fb_datadir());
    if (access(path, R_OK)) {
        fb_log_note("no golden data at %s: checked without", path);
        return FB_OK;
    }
    return fb_golden_cases(path, set->variants, set->variant_count, &set->cases, &set->count);
}

enum fb_status fb_check_set_make(struct fb_check_set *set, const struct fb_check_options *o)
{
    enum fb_status status;
    memset(set, 0, sizeof *set);
    if ((*o->numerics || o->recipe) && (o->experiment || o->golden))
        return fb_fail(FB_USAGE, "check: --numerics and --recipe go with --problem or the default "
                                 "set, not with EXPERIMENT or --golden");
    if (o->is_long && (o->experiment || o->golden || o->problem_count))
        return fb_fail(FB_USAGE, "check: --long is a set of its own; EXPERIMENT, --problem and "
                                 "--golden do not go with it");
    FB_TRY_OUT(choose_variants(set, o));
    if (o->experiment)
        FB_TRY_OUT(add_experiment(set, o));
    for (size_t i = 0; i < o->problem_count; i++)
        FB_TRY_OUT(
            add_problem(set, o->problems[i], o->numerics, o->recipe ? o->recipe : "randn@1"));
    if (o->golden)
        FB_TRY_OUT(fb_golden_cases(o->golden, set->variants, set->variant_count, &set->cases,
                                   &set->count));
    if (!o->experiment && !o->problem_count && !o->golden)
        FB_TRY_OUT(add_default(set, o));
out:
    if (status != FB_OK)
        fb_check_set_free(set);
    return status;
}

void fb_check_set_free(struct fb_check_set *set)
{
    fb_cases_free(set->cases, set->count);
    fb_experiment_free(&set->experiment);
    free(set->variants);
    memset(set, 0, sizeof *set);
}
