/* SPDX-License-Identifier: BSD-3-Clause
 *
 * recipe.h: how inputs are drawn, as text:
 *
 *     DIST[:key=value[:key=value]...]@SEED        randn@1   sink:logit=12@7   outliers:p=0.01@3
 */
#ifndef FB_CORE_RECIPE_RECIPE_H
#define FB_CORE_RECIPE_RECIPE_H

#include <stdbool.h>
#include <stdint.h>

#include "flashback.h"

#define FB_RECIPE_TEXT 192
#define FB_RECIPE_PARAMS 3

struct fb_recipe {
    int dist; /* row of the table of distributions */
    double param[FB_RECIPE_PARAMS];
    uint64_t seed;
};

struct fb_param {
    const char *key; /* NULL: no more */
    double value;    /* default */
    double least, most;
};

/* What a distribution is called and takes; data/distributions.h draws it. */
struct fb_recipe_form {
    const char *name, *summary;
    struct fb_param param[FB_RECIPE_PARAMS];
};

extern const struct fb_recipe_form fb_recipe_forms[];
extern const int fb_recipe_form_count;

/* FB_USAGE names the distribution, key or value and what is allowed. */
enum fb_status fb_recipe_parse(struct fb_recipe *recipe, const char *text);

/* Canonical: parameters in the order of the table, those at their default left out. */
void fb_recipe_print(const struct fb_recipe *recipe, char text[FB_RECIPE_TEXT]);

#endif
