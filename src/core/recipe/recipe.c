/* SPDX-License-Identifier: BSD-3-Clause
 *
 * recipe.c: recipes as text, DIST[:key=value]...@SEED.
 */
#include "core/recipe/recipe.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/numbers.h"
#include "core/status.h"

const struct fb_recipe_form fb_recipe_forms[] = {
#define FB_DISTRIBUTION(name, summary, value, term, ...) {name, summary, {__VA_ARGS__}},
#include "core/recipe/distributions.def"
#undef FB_DISTRIBUTION
};

const int fb_recipe_form_count = sizeof fb_recipe_forms / sizeof *fb_recipe_forms;

static enum fb_status find_distribution(int *dist, const char *name)
{
    char allowed[400] = "";
    for (int i = 0; i < fb_recipe_form_count; i++) {
        size_t used = strlen(allowed);
        if (!strcmp(fb_recipe_forms[i].name, name)) {
            *dist = i;
            return FB_OK;
        }
        snprintf(allowed + used, sizeof allowed - used, "%s%s", i ? ", " : "",
                 fb_recipe_forms[i].name);
    }
    return fb_fail(FB_USAGE, "recipe '%s' is not one of %s; nor file:PATH", name, allowed);
}

static int param_count(const struct fb_recipe_form *dist)
{
    int count = 0;
    while (count < FB_RECIPE_PARAMS && dist->param[count].key)
        count++;
    return count;
}

static enum fb_status refuse_key(const struct fb_recipe_form *dist, const char *key)
{
    char allowed[80] = "";
    for (int i = 0; i < param_count(dist); i++) {
        size_t used = strlen(allowed);
        snprintf(allowed + used, sizeof allowed - used, "%s%s=", i ? ", " : "", dist->param[i].key);
    }
    return fb_fail(FB_USAGE, "recipe %s knows no '%s'; allowed: %s", dist->name, key,
                   *allowed ? allowed : "no parameters");
}

static enum fb_status take_param(struct fb_recipe *recipe, char *text, unsigned *seen)
{
    const struct fb_recipe_form *dist = &fb_recipe_forms[recipe->dist];
    int index = 0;
    double value;
    char *equals = strchr(text, '=');
    if (equals)
        *equals = '\0';
    while (index < param_count(dist) && strcmp(dist->param[index].key, text))
        index++;
    if (index == param_count(dist) || !equals)
        return refuse_key(dist, text);
    if (*seen & 1u << index)
        return fb_fail(FB_USAGE, "recipe %s: %s is given twice", dist->name, text);
    *seen |= 1u << index;
    const struct fb_param *param = &dist->param[index];
    if (!fb_number_real(equals + 1, &value) || !(value >= param->least && value <= param->most))
        return fb_fail(FB_USAGE, "recipe %s: %s=%s is not a number in %g..%g", dist->name, text,
                       equals + 1, param->least, param->most);
    recipe->param[index] = value;
    return FB_OK;
}

enum fb_status fb_recipe_parse(struct fb_recipe *recipe, const char *text)
{
    char copy[FB_RECIPE_TEXT], *rest = copy;
    unsigned seen = 0;
    memset(recipe, 0, sizeof *recipe);
    if ((size_t)snprintf(copy, sizeof copy, "%s", text) >= sizeof copy)
        return fb_fail(FB_USAGE, "the recipe '%.40s...' is longer than %d characters", text,
                       FB_RECIPE_TEXT - 1);
    char *at = strrchr(copy, '@');
    if (!at || !fb_number_uint(at + 1, &recipe->seed))
        return fb_fail(FB_USAGE, "recipe '%s' does not end in @SEED, a whole number in 0..2^64-1",
                       text);
    *at = '\0';
    FB_TRY(find_distribution(&recipe->dist, strsep(&rest, ":")));
    for (int i = 0; i < FB_RECIPE_PARAMS; i++)
        recipe->param[i] = fb_recipe_forms[recipe->dist].param[i].value;
    for (char *item; (item = strsep(&rest, ":"));)
        FB_TRY(take_param(recipe, item, &seen));
    return FB_OK;
}

void fb_recipe_print(const struct fb_recipe *recipe, char text[FB_RECIPE_TEXT])
{
    const struct fb_recipe_form *dist = &fb_recipe_forms[recipe->dist];
    size_t used = (size_t)snprintf(text, FB_RECIPE_TEXT, "%s", dist->name);
    for (int i = 0; i < param_count(dist); i++) {
        char number[FB_NUMBER_TEXT];
        if (recipe->param[i] == dist->param[i].value)
            continue;
        fb_number_print_real(number, recipe->param[i]);
        used += (size_t)snprintf(text + used, FB_RECIPE_TEXT - used, ":%s=%s", dist->param[i].key,
                                 number);
    }
    snprintf(text + used, FB_RECIPE_TEXT - used, "@%" PRIu64, recipe->seed);
}
