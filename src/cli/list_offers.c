/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/list_offers.h"

#include <stdio.h>
#include <string.h>

#include "core/offer.h"
#include "core/registry.h"

enum { NUMERICS_TEXT = 6 * FB_OFFER_TEXT };

static bool is_listed(const struct fb_variant *variant, bool traps)
{
    return traps || !fb_variant_is_trap(variant);
}

static bool is_same(const struct fb_variant *a, const struct fb_variant *b)
{
    char x[FB_OFFER_TEXT], y[FB_OFFER_TEXT];
    if (strcmp(a->backend, b->backend) != 0 || fb_variant_is_trap(a) != fb_variant_is_trap(b))
        return false;
    for (int item = 0; item < FB_OFFER_ITEMS; item++) {
        fb_offer_print(&a->offer, item, x);
        fb_offer_print(&b->offer, item, y);
        if (strcmp(x, y) != 0)
            return false;
    }
    return true;
}

/* Is it the first of those that are the same? */
static bool is_first(int index)
{
    const struct fb_variant *variant = fb_registry_at(index);
    for (int i = 0; i < index; i++)
        if (is_same(fb_registry_at(i), variant))
            return false;
    return true;
}

static void print_names(int first, const char *quote)
{
    const struct fb_variant *variant = fb_registry_at(first), *other;
    for (int i = first; (other = fb_registry_at(i)); i++)
        if (is_same(variant, other))
            printf("%s%s%s%s", i == first ? "" : ", ", quote, other->name, quote);
}

/* What is offered beside standard numerics: "dkv: any; lse: any". */
static void print_numerics(const struct fb_offer *offer, char text[NUMERICS_TEXT])
{
    text[0] = '\0';
    for (int item = FB_OFFER_NUMERICS, used = 0; item < FB_OFFER_ITEMS; item++) {
        const char *standard = fb_offer_value(offer, item, 0);
        char offered[FB_OFFER_TEXT];
        fb_offer_print(offer, item, offered);
        if (strcmp(offered, standard) != 0)
            used += snprintf(text + used, NUMERICS_TEXT - (size_t)used, "%s%s: %s",
                             used ? "; " : "", fb_offer_item_name(item), offered);
    }
    if (!*text)
        snprintf(text, NUMERICS_TEXT, "standard");
}

static void print_row(int index, bool markdown)
{
    static const int items[] = {FB_OFFER_DTYPE, FB_OFFER_D,    FB_OFFER_MASK,
                                FB_OFFER_TERMS, FB_OFFER_BIAS, FB_OFFER_LAYOUT};
    const struct fb_offer *offer = &fb_registry_at(index)->offer;
    char text[NUMERICS_TEXT];
    fputs(markdown ? "| " : "", stdout);
    print_names(index, markdown ? "`" : "");
    for (size_t i = 0; i < sizeof items / sizeof *items; i++) {
        fb_offer_print(offer, items[i], text);
        if (markdown)
            printf(" | %s", text);
        else
            printf("\n  %-9s %s", fb_offer_item_name(items[i]), text);
    }
    print_numerics(offer, text);
    printf(markdown ? " | %s |\n" : "\n  numerics  %s\n", text);
}

void fb_list_offers(bool markdown, bool traps)
{
    const struct fb_variant *variant;
    if (markdown)
        puts("| variants | dtype | d | mask | terms | bias | layout | numerics |\n"
             "|---|---|---|---|---|---|---|---|");
    for (int i = 0; (variant = fb_registry_at(i)); i++)
        if (is_listed(variant, traps) && is_first(i))
            print_row(i, markdown);
}

/* ---- JSON ---------------------------------------------------------------------------------------
 */

static void add_set(struct fb_json *json, const struct fb_offer *offer, int item)
{
    const char *name;
    fb_json_begin(json, fb_offer_item_name(item), '[');
    for (int value = 0; (name = fb_offer_value(offer, item, value)); value++)
        if (*name)
            fb_json_string(json, NULL, name);
    fb_json_end(json);
}

static void add_sizes(struct fb_json *json, const struct fb_head_sizes *d)
{
    fb_json_begin(json, "d", '{');
    fb_json_begin(json, "list", '[');
    for (int i = 0; i < 8 && d->list[i]; i++)
        fb_json_int(json, NULL, d->list[i]);
    fb_json_end(json);
    fb_json_int(json, "least", d->least);
    fb_json_int(json, "most", d->most);
    fb_json_int(json, "multiple", d->multiple);
    fb_json_end(json);
}

void fb_list_offer_json(struct fb_json *json, const struct fb_offer *offer)
{
    fb_json_begin(json, "offer", '{');
    for (int item = 0; item < FB_OFFER_ITEMS; item++) {
        if (item == FB_OFFER_D)
            add_sizes(json, &offer->d);
        else
            add_set(json, offer, item);
    }
    fb_json_end(json);
}
