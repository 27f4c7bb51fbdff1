/* SPDX-License-Identifier: BSD-3-Clause
 *
 * list_offers.h: what each variant takes, as a matrix and as a member of a JSON object.
 */
#ifndef FB_CLI_LIST_OFFERS_H
#define FB_CLI_LIST_OFFERS_H

#include <stdbool.h>

#include "core/json.h"
#include "flashback.h"

/* The matrix on stdout: one row for all variants of a backend that take the same; as a table in
 * Markdown, or with a line an item. traps: those too. */
void fb_list_offers(bool markdown, bool traps);

/* Member "offer": an object with an array for each set. */
void fb_list_offer_json(struct fb_json *json, const struct fb_offer *offer);

#endif
