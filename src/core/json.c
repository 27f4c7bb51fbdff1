/* SPDX-License-Identifier: BSD-3-Clause
 *
 * json.c: the JSON writer. A value goes through put_name(), which places the comma and the member's
 * name, and append(), which is the only function that grows the text.
 */
#include "core/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void fb_json_init(struct fb_json *json)
{
    memset(json, 0, sizeof *json);
}

void fb_json_free(struct fb_json *json)
{
    free(json->text);
    fb_json_init(json);
}

static void append(struct fb_json *json, const char *text, size_t length)
{
    if (json->failed)
        return;
    if (json->length + length + 1 > json->capacity) {
        size_t capacity = 2 * (json->length + length) + 256;
        char *grown = realloc(json->text, capacity);
        if (!grown) {
            json->failed = true;
            return;
        }
        json->text = grown;
        json->capacity = capacity;
    }
    memcpy(json->text + json->length, text, length);
    json->length += length;
    json->text[json->length] = '\0';
}

/* Length of the UTF-8 sequence at text, 0 if it is not one (then the byte is taken as Latin-1). */
static size_t utf8_length(const unsigned char *text)
{
    size_t length = text[0] >= 0xf0 ? 4 : text[0] >= 0xe0 ? 3 : 2;
    if (text[0] < 0xc2 || text[0] > 0xf4)
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    if ((text[0] == 0xe0 && text[1] < 0xa0) || (text[0] == 0xed && text[1] > 0x9f) ||
        (text[0] == 0xf0 && text[1] < 0x90) || (text[0] == 0xf4 && text[1] > 0x8f))
        return 0;
    return length;
}

static void append_quoted(struct fb_json *json, const char *value)
{
    const unsigned char *at = (const unsigned char *)value;
    char escape[8];
    append(json, "\"", 1);
    while (*at) {
        size_t length = 1;
        if (*at >= 0x80)
            length = utf8_length(at);
        if (length && *at >= 0x20 && *at != '"' && *at != '\\' && *at != 0x7f) {
            append(json, (const char *)at, length);
            at += length;
            continue;
        }
        if (*at == '"' || *at == '\\')
            snprintf(escape, sizeof escape, "\\%c", *at);
        else if (*at == '\n')
            snprintf(escape, sizeof escape, "\\n");
        else
            snprintf(escape, sizeof escape, "\\u%04x", *at);
        append(json, escape, strlen(escape));
        at++;
    }
    append(json, "\"", 1);
}

static void put_name(struct fb_json *json, const char *name)
{
    if (json->depth) {
        if (!json->first[json->depth - 1])
            append(json, ",", 1);
        json->first[json->depth - 1] = false;
    }
    if (name) {
        append_quoted(json, name);
        append(json, ":", 1);
    }
}

void fb_json_begin(struct fb_json *json, const char *name, char opener)
{
    put_name(json, name);
    if (json->depth == FB_JSON_DEPTH) {
        json->failed = true;
        return;
    }
    append(json, &opener, 1);
    json->closer[json->depth] = opener == '{' ? '}' : ']';
    json->first[json->depth++] = true;
}

void fb_json_end(struct fb_json *json)
{
    if (json->depth)
        append(json, &json->closer[--json->depth], 1);
}

void fb_json_string(struct fb_json *json, const char *name, const char *value)
{
    put_name(json, name);
    if (value)
        append_quoted(json, value);
    else
        append(json, "null", 4);
}

void fb_json_int(struct fb_json *json, const char *name, int64_t value)
{
    char text[FB_REAL_TEXT];
    put_name(json, name);
    snprintf(text, sizeof text, "%" PRId64, value);
    append(json, text, strlen(text));
}

void fb_json_uint(struct fb_json *json, const char *name, uint64_t value)
{
    char text[FB_REAL_TEXT];
    put_name(json, name);
    snprintf(text, sizeof text, "%" PRIu64, value);
    append(json, text, strlen(text));
}

void fb_real_print(double value, char text[FB_REAL_TEXT])
{
    if (isnan(value)) {
        strcpy(text, "NaN");
        return;
    }
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, FB_REAL_TEXT, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    for (char *at = text; *at; at++) /* a locale may have put another decimal point */
        if (!strchr("+-0123456789einf", *at))
            *at = '.';
}

void fb_json_real(struct fb_json *json, const char *name, double value)
{
    char text[FB_REAL_TEXT];
    if (isinf(value)) {
        fb_json_string(json, name, value > 0 ? "inf" : "-inf");
        return;
    }
    put_name(json, name);
    fb_real_print(value, text);
    if (isnan(value))
        append(json, "null", 4);
    else
        append(json, text, strlen(text));
}

void fb_json_bool(struct fb_json *json, const char *name, bool value)
{
    put_name(json, name);
    append(json, value ? "true" : "false", value ? 4 : 5);
}

void fb_json_null(struct fb_json *json, const char *name)
{
    put_name(json, name);
    append(json, "null", 4);
}

const char *fb_json_text(const struct fb_json *json)
{
    return json->failed ? NULL : json->text;
}
