/* SPDX-License-Identifier: BSD-3-Clause
 *
 * offer.h: what variants take (struct fb_offer), answered and printed. The one place where a
 * refusal that data can say gets its words: "ITEM: not offered" or "ITEM: offers A, B".
 */
#ifndef FB_CORE_OFFER_H
#define FB_CORE_OFFER_H

#include <stdbool.h>

#include "flashback.h"

/* NULL if the variant takes the problem with these numerics, else the reason, one line that stays
 * valid until the next call: what the offer says, then what the variant's own why_not says. The
 * machine is not asked: fb_variant_why_not (measure/devices.h) does that first. */
const char *fb_offer_why_not(const struct fb_variant *variant, const struct fb_problem *problem,
                             const struct fb_numerics *numerics);

/* The same by the data alone: the variant is not asked. */
const char *fb_offer_lacks(const struct fb_variant *variant, const struct fb_problem *problem,
                           const struct fb_numerics *numerics);

/* Does the variant offer this term? */
bool fb_offer_has_term(const struct fb_variant *variant, enum fb_term term);

/* ---- As text ---- */

/* The items of an offer, by the names of the problem's and the numerics' own. */
enum fb_offer_item {
    FB_OFFER_DTYPE,
    FB_OFFER_MASK,
    FB_OFFER_TERMS,
    FB_OFFER_BIAS,
    FB_OFFER_LAYOUT,
    FB_OFFER_D,
    FB_OFFER_NUMERICS, /* dkv, dq, ps, delta, lse, round */
    FB_OFFER_ITEMS = FB_OFFER_NUMERICS + 6
};

const char *fb_offer_item_name(int item);

/* Value number `value` of an item that is a set: its name where it is offered, "" where it is not,
 * NULL past the last (and for FB_OFFER_D, which is no set). */
const char *fb_offer_value(const struct fb_offer *offer, int item, int value);

/* What is offered of an item: "bf16, fp16", "64, 128", "multiples of 8"; "none", "any". */
#define FB_OFFER_TEXT 160
void fb_offer_print(const struct fb_offer *offer, int item, char text[FB_OFFER_TEXT]);

#endif
