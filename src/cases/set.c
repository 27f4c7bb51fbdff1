/* SPDX-License-Identifier: BSD-3-Clause */
#include "cases/set.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/log.h"
#include "core/host/paths.h"
#include "core/registry.h"
#include "core/status.h"
#include "cases/golden.h"

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

/* A case that is there already, from an option given twice say, is not judged twice. */
static enum fb_status add_terms(struct fb_case_set *to, const struct fb_check_set *set,
                                const struct fb_terms *terms)
{
    for (size_t v = 0; v < set->variant_count; v++) {
        struct fb_case one;
        FB_TRY(fb_case_make(&one, set->variants[v], terms, 0));
        FB_TRY(fb_case_set_add(to, &one));
    }
    return FB_OK;
}

static enum fb_status add_problem(struct fb_case_set *to, const struct fb_check_set *set,
                                  const struct fb_check_options *o, const char *problem)
{
    struct fb_terms terms;
    enum fb_status status;
    FB_TRY(fb_terms_read(&terms, problem, o->numerics, o->recipe ? o->recipe : "randn@1"));
    FB_TRY_OUT(fb_source_check(&terms.source, &terms.problem));
    FB_TRY_OUT(add_terms(to, set, &terms));
out:
    fb_terms_free(&terms);
    return status;
}

/* Threads are for those who time: a check takes all there are. */
static enum fb_status add_cases(struct fb_case_set *to, const struct fb_check_set *set,
                                const struct fb_experiment *e)
{
    for (size_t i = 0; i < e->case_count; i++) {
        const struct fb_case *from = &e->cases[i];
        struct fb_case one;
        if (!is_used(set, from->variant))
            continue;
        FB_TRY(fb_case_make(&one, from->variant, &from->terms, 0));
        FB_TRY(fb_case_set_add(to, &one));
    }
    return FB_OK;
}

static enum fb_status add_experiment(struct fb_case_set *to, struct fb_check_set *set,
                                     const char *path, const char *const *settings, size_t count)
{
    struct fb_experiment experiment;
    FB_TRY(fb_experiment_read(&experiment, path, settings, count));
    const enum fb_status status = add_cases(to, set, &experiment);
    set->measure = experiment.measure;
    fb_experiment_free(&experiment);
    return status;
}

/* "variant=NAME NAME ...", of those in use. NULL without memory. */
static char *variant_setting(const struct fb_check_set *set)
{
    char *text = strdup("variant=");
    for (size_t v = 0; text && v < set->variant_count; v++) {
        char *longer = NULL;
        if (asprintf(&longer, "%s%s ", text, set->variants[v]) < 0)
            longer = NULL;
        free(text);
        text = longer;
    }
    return text;
}

/* A set that comes with the program: an experiment that names no variants. */
static enum fb_status add_shipped(struct fb_case_set *to, struct fb_check_set *set,
                                  const struct fb_check_options *o, const char *name)
{
    char path[4096], *settings[3] = {variant_setting(set), NULL, NULL};
    size_t count = 1;
    enum fb_status status = FB_OK;
    snprintf(path, sizeof path, "%s/experiments/%s", fb_datadir(), name);
    if (*o->numerics && asprintf(&settings[count++], "numerics=%s", o->numerics) < 0)
        settings[count - 1] = NULL;
    if (o->recipe && asprintf(&settings[count++], "recipe=%s", o->recipe) < 0)
        settings[count - 1] = NULL;
    for (size_t i = 0; i < count; i++)
        if (!settings[i])
            status = fb_fail(FB_NO_MEMORY, "no memory for the settings of a check");
    if (status == FB_OK && access(path, R_OK))
        status = fb_fail(FB_IO,
                         "the problems of check are not at '%s': FLASHBACK_DATADIR names the "
                         "folder that holds experiments/",
                         path);
    if (status == FB_OK)
        status = add_experiment(to, set, path, (const char *const *)settings, count);
    for (size_t i = 0; i < count; i++)
        free(settings[i]);
    return status;
}

static enum fb_status add_default(struct fb_case_set *to, struct fb_check_set *set,
                                  const struct fb_check_options *o)
{
    char path[4096];
    set->is_default = true;
    if (!set->variant_count)
        return FB_OK;
    FB_TRY(add_shipped(to, set, o, "check.ini"));
    if (o->is_long)
        FB_TRY(add_shipped(to, set, o, "check-long.ini"));
    snprintf(path, sizeof path, "%s/tests/golden/handed.h5", fb_datadir());
    if (access(path, R_OK)) {
        fb_log_note("no golden data at %s: checked without", path);
        return FB_OK;
    }
    return fb_golden_cases(path, set->variants, set->variant_count, to);
}

static enum fb_status add_asked(struct fb_case_set *to, struct fb_check_set *set,
                                const struct fb_check_options *o)
{
    if (o->experiment)
        FB_TRY(add_experiment(to, set, o->experiment, o->settings, o->setting_count));
    for (size_t i = 0; i < o->problem_count; i++)
        FB_TRY(add_problem(to, set, o, o->problems[i]));
    if (o->golden)
        FB_TRY(fb_golden_cases(o->golden, set->variants, set->variant_count, to));
    if (!o->experiment && !o->problem_count && !o->golden)
        FB_TRY(add_default(to, set, o));
    return FB_OK;
}

enum fb_status fb_check_set_make(struct fb_check_set *set, const struct fb_check_options *o)
{
    struct fb_case_set cases = {0};
    enum fb_status status;
    memset(set, 0, sizeof *set);
    if ((*o->numerics || o->recipe) && (o->experiment || o->golden))
        return fb_fail(FB_USAGE, "check: --numerics and --recipe go with --problem or the default "
                                 "set, not with EXPERIMENT or --golden");
    if (o->is_long && (o->experiment || o->golden || o->problem_count))
        return fb_fail(FB_USAGE, "check: --long is a set of its own; EXPERIMENT, --problem and "
                                 "--golden do not go with it");
    FB_TRY_OUT(choose_variants(set, o));
    FB_TRY_OUT(add_asked(&cases, set, o));
out:
    set->cases = fb_case_set_release(&cases, &set->count);
    if (status != FB_OK)
        fb_check_set_free(set);
    return status;
}

void fb_check_set_free(struct fb_check_set *set)
{
    fb_cases_free(set->cases, set->count);
    free(set->variants);
    memset(set, 0, sizeof *set);
}
