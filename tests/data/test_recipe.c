/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Recipes as text: round trips, canonical form, and refusals by their message.
 */
#include <string.h>

#include "core/status.h"
#include "data/distributions.h"
#include "tests/tap.h"

static void check_refused(const char *text, const char *part)
{
    struct fb_recipe recipe;
    enum fb_status status = fb_recipe_parse(&recipe, text);
    if (!tap_ok(status == FB_USAGE && strstr(fb_status_message(), part), "'%s' is refused: %s",
                text, part))
        tap_note("got %d '%s'", (int)status, fb_status_message());
    fb_status_clear();
}

static void check_canonical(const char *text, const char *expected)
{
    struct fb_recipe recipe;
    char printed[FB_RECIPE_TEXT] = "";
    if (fb_recipe_parse(&recipe, text) == FB_OK)
        fb_recipe_print(&recipe, printed);
    if (!tap_is(printed, expected, "'%s' prints as '%s'", text, expected))
        tap_note("got '%s' %s", printed, fb_status_message());
    fb_status_clear();
}

static int round_trip(int dist, int step)
{
    struct fb_recipe recipe = {.dist = dist, .seed = UINT64_MAX / (uint64_t)(step + 1)}, again;
    char text[FB_RECIPE_TEXT];
    bool same;
    for (int i = 0; i < FB_RECIPE_PARAMS && fb_recipe_forms[dist].param[i].key; i++) {
        const struct fb_param *p = &fb_recipe_forms[dist].param[i];
        recipe.param[i] = step ? p->least + (p->most - p->least) * step / 7.0 : p->value;
    }
    fb_recipe_print(&recipe, text);
    if (fb_recipe_parse(&again, text) != FB_OK)
        return 0;
    same = recipe.dist == again.dist && recipe.seed == again.seed;
    for (int i = 0; i < FB_RECIPE_PARAMS; i++)
        same = same && recipe.param[i] == again.param[i];
    return same;
}

static void test_text(void)
{
    int good = 0, total = 0, named = 0;
    for (int dist = 0; dist < fb_recipe_form_count; dist++) {
        for (int step = 0; step <= 7; step++, total++)
            good += round_trip(dist, step);
        named += *fb_recipe_forms[dist].name && *fb_recipe_forms[dist].summary;
    }
    tap_ok(good == total, "parse(print(r)) == r for %d of %d recipes", good, total);
    tap_is_int(named, fb_recipe_form_count, "all distributions are described");
    check_canonical("randn@1", "randn@1");
    check_canonical("randn:sigma=1@1", "randn@1");
    check_canonical("channel:q=2:index=5@18446744073709551615",
                    "channel:index=5:q=2@18446744073709551615");
    check_canonical("outliers:p=0.25@3", "outliers:p=0.25@3");
    check_refused("randn", "does not end in @SEED");
    check_refused("randn@", "does not end in @SEED");
    check_refused("randn@-1", "does not end in @SEED");
    check_refused("randn@1x", "does not end in @SEED");
    check_refused("gauss@1", "recipe 'gauss' is not one of randn, uniform, ones");
    check_refused("randn:tau=1@1", "recipe randn knows no 'tau'; allowed: sigma=, dout=");
    check_refused("ones:value=1@1", "recipe ones knows no 'value'; allowed: no parameters");
    check_refused("sink:logit@1", "recipe sink knows no 'logit'");
    check_refused("sink:logit=1e9@1", "logit=1e9 is not a number in -100..100");
    check_refused("sink:logit=x@1", "logit=x is not a number");
    check_refused("sink:logit=1:logit=2@1", "logit is given twice");
    check_refused("sink:@1", "knows no ''");
}

int main(void)
{
    test_text();
    return tap_done();
}
