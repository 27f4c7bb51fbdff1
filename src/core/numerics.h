/* SPDX-License-Identifier: BSD-3-Clause
 *
 * numerics.h: declared precision choices as text, `dkv=bf16,dq=fp32,round=tile`.
 */
#ifndef FB_CORE_NUMERICS_H
#define FB_CORE_NUMERICS_H

#include <stdbool.h>

#include "flashback.h"

#define FB_NUMERICS_TEXT 128

/* dkv=fp32,dq=fp32,ps=in,delta=fp32,lse=fp32,round=tile: what a kernel is expected to do. */
extern const struct fb_numerics fb_numerics_standard;

/* Starts from the standard; FB_USAGE names the item and the allowed values. "" is the standard. */
enum fb_status fb_numerics_parse(struct fb_numerics *numerics, const char *text);

/* All six items in fixed order; parse(print(n)) == n. */
void fb_numerics_print(const struct fb_numerics *numerics, char text[FB_NUMERICS_TEXT]);

bool fb_numerics_equal(const struct fb_numerics *a, const struct fb_numerics *b);
bool fb_numerics_is_standard(const struct fb_numerics *numerics);

/* The items one by one, in the order of struct fb_numerics. */
enum { FB_NUMERICS_PS = 2, FB_NUMERICS_ITEMS = 6 };
const char *fb_numerics_item_name(int item);             /* "dkv" */
const char *fb_numerics_value_name(int item, int value); /* "bf16"; NULL past the last */
int fb_numerics_value(const struct fb_numerics *numerics, int item);

#endif
