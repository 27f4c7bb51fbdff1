/* SPDX-License-Identifier: BSD-3-Clause
 *
 * json.h: a JSON writer into memory. Compact (no white space), numbers in the C locale whatever the
 * locale is, reals that read back to the same bits (up to %.17g), null for NaN. Commas are put by
 * the writer. A failed allocation is remembered and told by fb_json_text.
 *
 * jansson, which reads all JSON, does not write it. 20,000 records of results/ take it two thirds
 * of the time (2.5 s, here 3.9 s), but its 2.14 prints 0.1 as 0.10000000000000001 and takes no
 * number that is already text, so that what people read loses its shortest digits; and it drops a
 * text that is not UTF-8, a message in Latin-1 from a driver say, where this takes the byte for a
 * letter.
 *
 *     struct fb_json json;
 *     fb_json_init(&json);
 *     fb_json_begin(&json, NULL, '{');
 *     fb_json_real(&json, "bwd_ms", 1.5);
 *     fb_json_end(&json);
 *     puts(fb_json_text(&json));
 *     fb_json_free(&json);
 *
 * `name` is the member's name inside an object and NULL inside an array or at the top.
 */
#ifndef FB_CORE_JSON_H
#define FB_CORE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FB_JSON_DEPTH 16
#define FB_REAL_TEXT 32

struct fb_json {
    char *text;
    size_t length, capacity;
    bool failed; /* no memory */
    int depth;
    char closer[FB_JSON_DEPTH]; /* '}' or ']' of each open level */
    bool first[FB_JSON_DEPTH];  /* no member written yet */
};

void fb_json_init(struct fb_json *json);
void fb_json_free(struct fb_json *json);

void fb_json_begin(struct fb_json *json, const char *name, char opener); /* '{' or '[' */
void fb_json_end(struct fb_json *json);

void fb_json_string(struct fb_json *json, const char *name, const char *value); /* NULL: null */
void fb_json_int(struct fb_json *json, const char *name, int64_t value);
void fb_json_uint(struct fb_json *json, const char *name, uint64_t value);
void fb_json_real(struct fb_json *json, const char *name, double value); /* inf: "inf", "-inf" */
void fb_json_bool(struct fb_json *json, const char *name, bool value);
void fb_json_null(struct fb_json *json, const char *name);

/* The text so far, NULL after a failed allocation. Owned by the writer. */
const char *fb_json_text(const struct fb_json *json);

/* The shortest text that reads back to the same double, decimal point always; "NaN", "inf". */
void fb_real_print(double value, char text[FB_REAL_TEXT]);

#endif
