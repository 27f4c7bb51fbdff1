/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/numerics.h"

#include <stdio.h>
#include <string.h>

#include "core/status.h"

const struct fb_numerics fb_numerics_standard = {.dkv = FB_ACC_FP32,
                                                 .dq = FB_ACC_FP32,
                                                 .ps = FB_PS_IN,
                                                 .delta = FB_DELTA_FP32,
                                                 .lse = FB_LSE_FP32,
                                                 .round = FB_ROUND_TILE};

/* Names in the order of the enums. */
static const char *const acc_names[] = {"fp32", "bf16",       "bf16-stochastic", "bf16-truncate",
                                        "fp16", "fp32-kahan", "bf16-kahan",      "fp64"};
static const char *const ps_names[] = {"in", "fp32"};
static const char *const delta_names[] = {"fp32", "bf16", "recomputed"};
static const char *const lse_names[] = {"fp32", "bf16"};
static const char *const round_names[] = {"tile", "row"};

#define COUNT(array) (int)(sizeof(array) / sizeof *(array))

/* The items in the order they are printed. */
enum { ITEM_COUNT = FB_NUMERICS_ITEMS };

static const struct {
    const char *key;
    const char *const *names;
    int count;
} items[ITEM_COUNT] = {
    {"dkv", acc_names, COUNT(acc_names)}, {"dq", acc_names, COUNT(acc_names)},
    {"ps", ps_names, COUNT(ps_names)},    {"delta", delta_names, COUNT(delta_names)},
    {"lse", lse_names, COUNT(lse_names)}, {"round", round_names, COUNT(round_names)}};

static void to_values(const struct fb_numerics *n, int value[ITEM_COUNT])
{
    value[0] = (int)n->dkv;
    value[1] = (int)n->dq;
    value[2] = (int)n->ps;
    value[3] = (int)n->delta;
    value[4] = (int)n->lse;
    value[5] = (int)n->round;
}

const char *fb_numerics_item_name(int item)
{
    return items[item].key;
}

const char *fb_numerics_value_name(int item, int value)
{
    return value < items[item].count ? items[item].names[value] : NULL;
}

int fb_numerics_value(const struct fb_numerics *numerics, int item)
{
    int value[ITEM_COUNT];
    to_values(numerics, value);
    return value[item];
}

static void from_values(struct fb_numerics *n, const int value[ITEM_COUNT])
{
    n->dkv = (enum fb_acc)value[0];
    n->dq = (enum fb_acc)value[1];
    n->ps = (enum fb_ps)value[2];
    n->delta = (enum fb_delta)value[3];
    n->lse = (enum fb_lse)value[4];
    n->round = (enum fb_round)value[5];
}

static enum fb_status refuse_value(int item, const char *value)
{
    char allowed[160] = "";
    for (int i = 0; i < items[item].count; i++) {
        size_t used = strlen(allowed);
        snprintf(allowed + used, sizeof allowed - used, "%s%s", i ? ", " : "",
                 items[item].names[i]);
    }
    return fb_fail(FB_USAGE, "%s=%s is not one of %s", items[item].key, value, allowed);
}

/* One `key=value`; seen holds a bit for each item that stood before. */
static enum fb_status take_item(char *text, int value[ITEM_COUNT], unsigned *seen)
{
    char *equals = strchr(text, '=');
    if (equals)
        *equals = '\0';
    int item = 0;
    while (item < ITEM_COUNT && strcmp(items[item].key, text))
        item++;
    if (item == ITEM_COUNT || !equals)
        return fb_fail(FB_USAGE,
                       "'%s' is not an item of the numerics; allowed: dkv=, dq=, ps=, delta=, "
                       "lse=, round=",
                       text);
    if (*seen & 1u << item)
        return fb_fail(FB_USAGE, "%s is given twice", text);
    *seen |= 1u << item;
    for (int i = 0; i < items[item].count; i++) {
        if (!strcmp(items[item].names[i], equals + 1)) {
            value[item] = i;
            return FB_OK;
        }
    }
    return refuse_value(item, equals + 1);
}

enum fb_status fb_numerics_parse(struct fb_numerics *numerics, const char *text)
{
    char copy[2 * FB_NUMERICS_TEXT], *rest = copy;
    int value[ITEM_COUNT];
    unsigned seen = 0;

    *numerics = fb_numerics_standard;
    if (!*text)
        return FB_OK;
    if ((size_t)snprintf(copy, sizeof copy, "%s", text) >= sizeof copy)
        return fb_fail(FB_USAGE, "the numerics '%.40s...' are longer than %zu characters", text,
                       sizeof copy - 1);
    to_values(numerics, value);
    for (char *item; (item = strsep(&rest, ","));)
        FB_TRY(take_item(item, value, &seen));
    from_values(numerics, value);
    return FB_OK;
}

void fb_numerics_print(const struct fb_numerics *numerics, char text[FB_NUMERICS_TEXT])
{
    int value[ITEM_COUNT];
    size_t used = 0;
    to_values(numerics, value);
    for (int i = 0; i < ITEM_COUNT; i++)
        used += (size_t)snprintf(text + used, FB_NUMERICS_TEXT - used, "%s%s=%s", i ? "," : "",
                                 items[i].key, items[i].names[value[i]]);
}

bool fb_numerics_equal(const struct fb_numerics *a, const struct fb_numerics *b)
{
    int va[ITEM_COUNT], vb[ITEM_COUNT];
    to_values(a, va);
    to_values(b, vb);
    return !memcmp(va, vb, sizeof va);
}

bool fb_numerics_is_standard(const struct fb_numerics *numerics)
{
    return fb_numerics_equal(numerics, &fb_numerics_standard);
}
