/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/offer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/numerics.h"
#include "core/problem.h"

/* ---- Values and their names ---------------------------------------------------------------------
 */

static const char *const term_names[] = {"window", "softcap", "alibi",  "dropout", "keep", "sink",
                                         "dlse",   "lengths", "groups", "scale",   "dv"};

static unsigned set_of(const struct fb_offer *o, int item)
{
    const unsigned sets[FB_OFFER_ITEMS] = {o->dtypes,  o->masks, o->terms, o->biases,
                                           o->layouts, 0,        o->dkv,   o->dq,
                                           o->ps,      o->delta, o->lse,   o->round};
    return sets[item];
}

/* A set of 0 holds the plain value 0; there is no plain term. */
static bool holds(const struct fb_offer *offer, int item, int value)
{
    const unsigned set = set_of(offer, item);
    if (item == FB_OFFER_BIAS && value == FB_BIAS_NONE)
        return true;
    return set || item == FB_OFFER_TERMS ? set >> value & 1 : value == 0;
}

/* NULL past the last. */
static const char *value_name(int item, int value)
{
    static const int counts[] = {[FB_OFFER_DTYPE] = FB_FP16 + 1,
                                 [FB_OFFER_MASK] = FB_MASK_CAUSAL_TOPLEFT + 1,
                                 [FB_OFFER_TERMS] = FB_TERM_DV + 1,
                                 [FB_OFFER_BIAS] = FB_BIAS_ALL + 1,
                                 [FB_OFFER_LAYOUT] = FB_LAYOUT_EXPANDED_DOUT + 1,
                                 [FB_OFFER_D] = 0};
    if (item >= FB_OFFER_NUMERICS)
        return fb_numerics_value_name(item - FB_OFFER_NUMERICS, value);
    if (value >= counts[item])
        return NULL;
    return item == FB_OFFER_DTYPE   ? fb_dtype_name((enum fb_dtype)value)
           : item == FB_OFFER_MASK  ? fb_mask_name((enum fb_mask)value)
           : item == FB_OFFER_TERMS ? term_names[value]
           : item == FB_OFFER_BIAS  ? fb_bias_name((enum fb_bias)value)
                                    : fb_layout_name((enum fb_layout)value);
}

const char *fb_offer_item_name(int item)
{
    static const char *const names[] = {"dtype", "mask", "terms", "bias", "layout", "d"};
    return item < FB_OFFER_NUMERICS ? names[item] : fb_numerics_item_name(item - FB_OFFER_NUMERICS);
}

const char *fb_offer_value(const struct fb_offer *offer, int item, int value)
{
    const char *name = value_name(item, value);
    return !name || holds(offer, item, value) ? name : "";
}

bool fb_offer_has_term(const struct fb_variant *variant, enum fb_term term)
{
    return holds(&variant->offer, FB_OFFER_TERMS, (int)term);
}

/* ---- As text ------------------------------------------------------------------------------------
 */

static void append(char *text, size_t size, const char *between, const char *word)
{
    const size_t used = strlen(text);
    snprintf(text + used, size - used, "%s%s", used ? between : "", word);
}

static void append_number(char *text, size_t size, const char *between, const char *before,
                          int64_t number)
{
    char word[40];
    snprintf(word, sizeof word, "%s%" PRId64, before, number);
    append(text, size, between, word);
}

static void print_set(const struct fb_offer *offer, int item, char text[FB_OFFER_TEXT])
{
    const char *name;
    for (int value = 0; (name = fb_offer_value(offer, item, value)); value++)
        if (*name)
            append(text, FB_OFFER_TEXT, ", ", name);
}

static void print_sizes(const struct fb_head_sizes *d, char text[FB_OFFER_TEXT])
{
    const int64_t least = d->least > 1 ? d->least : 1;
    for (int i = 0; i < 8 && d->list[i]; i++)
        append_number(text, FB_OFFER_TEXT, ", ", "", d->list[i]);
    if (*text)
        return;
    if (least > 1 || (d->most && d->most < FB_PROBLEM_MAX_D)) {
        append_number(text, FB_OFFER_TEXT, "", "", least);
        append_number(text, FB_OFFER_TEXT, " ", "to ", d->most ? d->most : FB_PROBLEM_MAX_D);
    }
    if (d->multiple > 1)
        append_number(text, FB_OFFER_TEXT, ", ", "multiples of ", d->multiple);
}

static bool is_whole(const struct fb_offer *offer, int item)
{
    const char *name;
    for (int value = 0; (name = fb_offer_value(offer, item, value)); value++)
        if (!*name)
            return false;
    return item != FB_OFFER_D;
}

void fb_offer_print(const struct fb_offer *offer, int item, char text[FB_OFFER_TEXT])
{
    text[0] = '\0';
    if (is_whole(offer, item))
        append(text, FB_OFFER_TEXT, "", "any");
    else if (item == FB_OFFER_D)
        print_sizes(&offer->d, text);
    else
        print_set(offer, item, text);
    if (!*text)
        append(text, FB_OFFER_TEXT, "", item == FB_OFFER_D ? "any" : "none");
}

/* ---- Refusals -----------------------------------------------------------------------------------
 */

static char reason[FB_OFFER_TEXT + 40];

static const char *refuse(const char *item, const char *offered)
{
    snprintf(reason, sizeof reason, "%s: offers %s", item, offered);
    return reason;
}

static const char *refuse_value(const struct fb_offer *offer, int item)
{
    char offered[FB_OFFER_TEXT];
    fb_offer_print(offer, item, offered);
    if (item == FB_OFFER_BIAS && !strcmp(offered, "none"))
        return "bias: not offered";
    return refuse(fb_offer_item_name(item), offered);
}

/* What a problem asks for, in the order of enum fb_term; whether the mask of its dropout comes from
 * outside is a matter of the data. */
static bool asks_for(const struct fb_problem *p, int term)
{
    const bool asked[] = {[FB_TERM_WINDOW] =
                              p->window_left != FB_OPEN || p->window_right != FB_OPEN,
                          [FB_TERM_SOFTCAP] = p->softcap != 0,
                          [FB_TERM_ALIBI] = p->alibi != FB_ALIBI_NONE,
                          [FB_TERM_DROPOUT] = p->dropout > 0,
                          [FB_TERM_KEEP] = false,
                          [FB_TERM_SINK] = p->sink,
                          [FB_TERM_DLSE] = p->dlse,
                          [FB_TERM_LENGTHS] = p->qlens || p->klens,
                          [FB_TERM_GROUPS] = p->hk != p->h,
                          [FB_TERM_SCALE] = !((float)p->scale > 0),
                          [FB_TERM_DV] = p->dv != p->d};
    return asked[term];
}

static const char *refuse_term(int term)
{
    switch (term) {
    case FB_TERM_LENGTHS:
        return "qlens, klens: not offered";
    case FB_TERM_GROUPS:
        return refuse("hk", "hk = h");
    case FB_TERM_SCALE:
        return refuse("scale", "factors above 0");
    case FB_TERM_DV:
        return refuse("dv", "dv = d");
    default:
        snprintf(reason, sizeof reason, "%s: not offered", term_names[term]);
        return reason;
    }
}

static bool has_size(const struct fb_head_sizes *sizes, int64_t d)
{
    for (int i = 0; i < 8 && sizes->list[i]; i++)
        if (sizes->list[i] == d)
            return true;
    return !sizes->list[0] && d >= sizes->least && (!sizes->most || d <= sizes->most) &&
           (!sizes->multiple || d % sizes->multiple == 0);
}

static const char *refuse_size(const struct fb_offer *offer, const char *item)
{
    char offered[FB_OFFER_TEXT];
    fb_offer_print(offer, FB_OFFER_D, offered);
    return refuse(item, offered);
}

static const char *refuse_problem(const struct fb_offer *offer, const struct fb_problem *p)
{
    if (!holds(offer, FB_OFFER_DTYPE, (int)p->dtype))
        return refuse_value(offer, FB_OFFER_DTYPE);
    if (!has_size(&offer->d, p->d))
        return refuse_size(offer, "d");
    for (int term = 0; term <= FB_TERM_DV; term++)
        if (asks_for(p, term) && !holds(offer, FB_OFFER_TERMS, term))
            return refuse_term(term);
    if (!has_size(&offer->d, p->dv))
        return refuse_size(offer, "dv");
    if (!holds(offer, FB_OFFER_MASK, (int)p->mask))
        return refuse_value(offer, FB_OFFER_MASK);
    if (!holds(offer, FB_OFFER_BIAS, (int)p->bias))
        return refuse_value(offer, FB_OFFER_BIAS);
    if (!holds(offer, FB_OFFER_LAYOUT, (int)p->layout))
        return refuse_value(offer, FB_OFFER_LAYOUT);
    return NULL;
}

/* With fp32 tensors "the type of the tensors" and fp32 are one. */
static const char *refuse_numerics(const struct fb_offer *offer, const struct fb_problem *p,
                                   const struct fb_numerics *numerics)
{
    for (int i = 0; i < FB_NUMERICS_ITEMS; i++) {
        const int item = FB_OFFER_NUMERICS + i, value = fb_numerics_value(numerics, i);
        if (!holds(offer, item, value) && !(i == FB_NUMERICS_PS && p->dtype == FB_FP32))
            return refuse_value(offer, item);
    }
    return NULL;
}

const char *fb_offer_lacks(const struct fb_variant *variant, const struct fb_problem *problem,
                           const struct fb_numerics *numerics)
{
    const char *why = refuse_problem(&variant->offer, problem);
    return why ? why : refuse_numerics(&variant->offer, problem, numerics);
}

const char *fb_offer_why_not(const struct fb_variant *variant, const struct fb_problem *problem,
                             const struct fb_numerics *numerics)
{
    const char *why = fb_offer_lacks(variant, problem, numerics);
    if (!why && variant->why_not)
        why = variant->why_not(variant, problem, numerics);
    return why;
}
