/* SPDX-License-Identifier: BSD-3-Clause
 *
 * problem_text.c: reads problems from text. One row of `items` an item of the language; a text is
 * taken in the order of that table, so that b and h are known before the lists they size. Numbers
 * never follow the locale.
 */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/numbers.h"
#include "core/problem.h"
#include "core/status.h"

/* Names in the order of the enums, NULL at the end. */
static const char *const dtype_names[] = {"fp32", "bf16", "fp16", NULL};
static const char *const mask_names[] = {"full", "causal", "causal-topleft", NULL};
static const char *const bias_names[] = {"none", "full", "head", "batch", "all", NULL};
static const char *const layout_names[] = {"bhnd", "bnhd", "packed-qkv", "expanded-dout", NULL};

const char *fb_dtype_name(enum fb_dtype dtype)
{
    return dtype_names[dtype];
}

const char *fb_mask_name(enum fb_mask mask)
{
    return mask_names[mask];
}

const char *fb_bias_name(enum fb_bias bias)
{
    return bias_names[bias];
}

const char *fb_layout_name(enum fb_layout layout)
{
    return layout_names[layout];
}

/* ---- Values ---------------------------------------------------------------------------------- */

static enum fb_status read_count(int64_t *field, const char *key, const char *value, int64_t least,
                                 int64_t most)
{
    int64_t number;
    if (!fb_number_int(value, &number))
        return fb_fail(FB_USAGE, "%s=%s is not a whole number in %" PRId64 "..%" PRId64, key, value,
                       least, most);
    if (number < least || number > most)
        return fb_fail(FB_USAGE, "%s=%" PRId64 " is outside %" PRId64 "..%" PRId64, key, number,
                       least, most);
    *field = number;
    return FB_OK;
}

static enum fb_status read_real(double *field, const char *key, const char *value)
{
    if (!fb_number_real(value, field))
        return fb_fail(FB_USAGE, "%s=%s is not a finite number such as 0.125 or -1e-3", key, value);
    return FB_OK;
}

/* A number that kernels take as fp32, where it must not become infinite. */
static enum fb_status read_fp32(double *field, const char *key, const char *value)
{
    FB_TRY(read_real(field, key, value));
    if (fabs(*field) > FLT_MAX)
        return fb_fail(FB_USAGE, "%s=%s is beyond fp32, which ends at 3.4e38", key, value);
    return FB_OK;
}

/* How many parts `separator` cuts text into. */
static size_t count_parts(const char *text, char separator)
{
    size_t parts = 1;
    for (; *text; text++)
        parts += *text == separator;
    return parts;
}

/* ---- Items ----------------------------------------------------------------------------------- */

/* One row of the language. */
struct item {
    const char *key;
    bool flag;     /* stands without a value */
    unsigned sets; /* two items that set the same may not stand in one text */
    /* May write into value. */
    enum fb_status (*take)(struct fb_problem *p, const struct item *item, char *value);
    size_t field;             /* of struct fb_problem, where take serves several items */
    int64_t least, most;      /* of a count */
    const char *const *names; /* in the order of the field's enum, from `least` on */
};

static void *field_of(struct fb_problem *p, const struct item *item)
{
    return (char *)p + item->field;
}

static enum fb_status take_count(struct fb_problem *p, const struct item *item, char *value)
{
    return read_count(field_of(p, item), item->key, value, item->least, item->most);
}

/* An enum of names; FB_USAGE lists them. */
static enum fb_status take_name(struct fb_problem *p, const struct item *item, char *value)
{
    char allowed[128] = "";
    for (int i = (int)item->least; item->names[i]; i++) {
        size_t used = strlen(allowed);
        if (!strcmp(item->names[i], value)) {
            *(int *)field_of(p, item) = i;
            return FB_OK;
        }
        snprintf(allowed + used, sizeof allowed - used, "%s%s", used ? ", " : "", item->names[i]);
    }
    return fb_fail(FB_USAGE, "%s=%s is not one of %s", item->key, value, allowed);
}

static enum fb_status take_flag(struct fb_problem *p, const struct item *item, char *value)
{
    (void)value;
    *(int *)field_of(p, item) = 1;
    return FB_OK;
}

static enum fb_status take_n(struct fb_problem *p, const struct item *item, char *value)
{
    FB_TRY(take_count(p, item, value));
    p->nk = p->nq;
    return FB_OK;
}

static enum fb_status take_b(struct fb_problem *p, const struct item *item, char *value)
{
    int64_t before = p->b;
    FB_TRY(take_count(p, item, value));
    if (p->b != before && (p->qlens || p->klens))
        return fb_fail(FB_USAGE, "b=%s does not match the %" PRId64 " packed lengths", value,
                       before);
    return FB_OK;
}

static enum fb_status take_h(struct fb_problem *p, const struct item *item, char *value)
{
    int64_t before = p->h;
    FB_TRY(take_count(p, item, value));
    if (p->h != before && p->alibi_slopes)
        return fb_fail(FB_USAGE, "h=%s does not match the %" PRId64 " slopes of alibi=", value,
                       before);
    return FB_OK;
}

static enum fb_status take_causal(struct fb_problem *p, const struct item *item, char *value)
{
    (void)item, (void)value;
    p->mask = FB_MASK_CAUSAL;
    return FB_OK;
}

static enum fb_status take_window(struct fb_problem *p, const struct item *item, char *value)
{
    (void)item;
    char *colon = strchr(value, ':');
    if (!colon)
        return fb_fail(FB_USAGE, "window=%s is not LEFT:RIGHT, each -1 (open) or a number of keys",
                       value);
    *colon = '\0';
    FB_TRY(read_count(&p->window_left, "window left", value, FB_OPEN, FB_PROBLEM_MAX_N));
    return read_count(&p->window_right, "window right", colon + 1, FB_OPEN, FB_PROBLEM_MAX_N);
}

static enum fb_status take_scale(struct fb_problem *p, const struct item *item, char *value)
{
    (void)item;
    return read_fp32(&p->scale, "scale", value);
}

static enum fb_status take_softcap(struct fb_problem *p, const struct item *item, char *value)
{
    (void)item;
    FB_TRY(read_fp32(&p->softcap, "softcap", value));
    if (p->softcap != 0 && p->softcap < FLT_MIN)
        return fb_fail(FB_USAGE, "softcap=%s is not 0 (off) or in 1.2e-38..3.4e38", value);
    return FB_OK;
}

static enum fb_status take_slopes(struct fb_problem *p, char *value)
{
    char *rest = value;
    size_t count = count_parts(value, ':');
    if (count != (size_t)p->h)
        return fb_fail(FB_USAGE,
                       "alibi= gives %zu slopes for h=%" PRId64 " heads; allowed: auto, "
                       "or one number a head parted by ':'",
                       count, p->h);
    double *slopes = malloc(count * sizeof *slopes);
    if (!slopes)
        return fb_fail(FB_NO_MEMORY, "no memory for %zu slopes", count);
    free(p->alibi_slopes);
    p->alibi_slopes = slopes;
    p->alibi = FB_ALIBI_LIST;
    for (size_t i = 0; i < count; i++)
        slopes[i] = 0;
    for (size_t i = 0; i < count; i++)
        FB_TRY(read_fp32(&slopes[i], "alibi slope", strsep(&rest, ":")));
    return FB_OK;
}

static enum fb_status take_alibi(struct fb_problem *p, const struct item *item, char *value)
{
    (void)item;
    if (strcmp(value, "auto"))
        return take_slopes(p, value);
    free(p->alibi_slopes);
    p->alibi_slopes = NULL;
    p->alibi = FB_ALIBI_AUTO;
    return FB_OK;
}

/* P@SEED:OFFSET. Without dropout the seed says nothing and is dropped, so that one problem has one
 * text. */
static enum fb_status take_dropout(struct fb_problem *p, const struct item *item, char *value)
{
    (void)item;
    char *at = strchr(value, '@');
    char *colon = at ? strchr(at, ':') : NULL;
    if (!colon)
        return fb_fail(FB_USAGE, "dropout=%s is not PROBABILITY@SEED:OFFSET", value);
    *at = *colon = '\0';
    FB_TRY(read_real(&p->dropout, "dropout", value));
    if (!(p->dropout >= 0 && p->dropout < 1))
        return fb_fail(FB_USAGE, "dropout=%s is outside 0..1 (1 excluded)", value);
    if (!fb_number_uint(at + 1, &p->dropout_seed) || !fb_number_uint(colon + 1, &p->dropout_offset))
        return fb_fail(FB_USAGE,
                       "dropout seed '%s' or offset '%s' is not a whole number in 0..2^64-1",
                       at + 1, colon + 1);
    if (p->dropout == 0)
        p->dropout_seed = p->dropout_offset = 0;
    return FB_OK;
}

/* 3+0+5: one length a batch. */
static enum fb_status take_lens(struct fb_problem *p, const struct item *item, char *value)
{
    int64_t **field = field_of(p, item);
    char *rest = value;
    size_t count = count_parts(value, '+');
    if (p->b >= 0 && (size_t)p->b != count)
        return fb_fail(FB_USAGE,
                       "%s gives %zu lengths, b is %" PRId64
                       "; allowed: one length a batch, parted by '+'",
                       item->key, count, p->b);
    int64_t *lens = calloc(count, sizeof *lens);
    if (!lens)
        return fb_fail(FB_NO_MEMORY, "no memory for %zu lengths", count);
    free(*field);
    *field = lens;
    p->b = (int64_t)count;
    for (size_t i = 0; i < count; i++)
        FB_TRY(read_count(&lens[i], item->key, strsep(&rest, "+"), 0, FB_PROBLEM_MAX_N));
    return FB_OK;
}

/* ---- The language ---------------------------------------------------------------------------- */

enum { SETS_NQ = 1, SETS_NK = 2, SETS_MASK = 4 };

#define FIELD(name) .field = offsetof(struct fb_problem, name)
#define COUNT(name, from, to) .take = take_count, FIELD(name), .least = from, .most = to
#define NAME(name, from) .take = take_name, FIELD(name), .names = name##_names, .least = from
#define FLAG(name) .flag = true, .take = take_flag, FIELD(name)
#define LENS(name) .take = take_lens, FIELD(name)

static const struct item items[] = {
    {"b", .take = take_b, FIELD(b), .most = FB_PROBLEM_MAX_N},
    {"h", .take = take_h, FIELD(h), .least = 1, .most = FB_PROBLEM_MAX_H},
    {"hk", COUNT(hk, 1, FB_PROBLEM_MAX_H)},
    {"n", .sets = SETS_NQ | SETS_NK, .take = take_n, FIELD(nq), .most = FB_PROBLEM_MAX_N},
    {"nq", .sets = SETS_NQ, COUNT(nq, 0, FB_PROBLEM_MAX_N)},
    {"nk", .sets = SETS_NK, COUNT(nk, 0, FB_PROBLEM_MAX_N)},
    {"d", COUNT(d, 1, FB_PROBLEM_MAX_D)},
    {"dv", COUNT(dv, 1, FB_PROBLEM_MAX_D)},
    {"dtype", NAME(dtype, 0)},
    {"causal", .flag = true, .sets = SETS_MASK, .take = take_causal},
    {"mask", .sets = SETS_MASK, NAME(mask, 0)},
    {"window", .take = take_window},
    {"scale", .take = take_scale},
    {"softcap", .take = take_softcap},
    {"alibi", .take = take_alibi},
    {"bias", NAME(bias, FB_BIAS_NONE + 1)}, /* none is the default, and cannot be asked for */
    {"dropout", .take = take_dropout},
    {"sink", FLAG(sink)},
    {"dlse", FLAG(dlse)},
    {"qlens", LENS(qlens)},
    {"klens", LENS(klens)},
    {"layout", NAME(layout, 0)},
};

#define GIVEN_TWICE "%s is given twice (n= sets nq and nk, causal sets mask)"

enum { ITEM_COUNT = sizeof items / sizeof *items };

static enum fb_status refuse_item(const char *item)
{
    return fb_fail(FB_USAGE,
                   "'%s' is not an item of a problem; allowed: b= h= hk= n= nq= nk= d= dv= dtype= "
                   "causal mask= window= scale= softcap= alibi= bias= dropout= sink dlse qlens= "
                   "klens= layout=",
                   item);
}

/* Cuts text into items and leaves each one's value at its row of the table. */
static enum fb_status sort_items(char *text, char *value[ITEM_COUNT])
{
    unsigned set = 0;
    for (char *item; (item = strsep(&text, ","));) {
        char *equals = strchr(item, '=');
        size_t length = equals ? (size_t)(equals - item) : strlen(item);
        int row = 0;
        while (row < ITEM_COUNT &&
               (strlen(items[row].key) != length || memcmp(items[row].key, item, length)))
            row++;
        if (row == ITEM_COUNT || items[row].flag == (equals != NULL))
            return refuse_item(item);
        if (value[row] || set & items[row].sets)
            return fb_status_about(fb_fail(FB_USAGE, GIVEN_TWICE, items[row].key), items[row].key);
        set |= items[row].sets;
        value[row] = equals ? equals + 1 : item;
    }
    return FB_OK;
}

enum fb_status fb_problem_merge(struct fb_problem *problem, const char *text)
{
    enum fb_status status = FB_OK;
    char *value[ITEM_COUNT] = {NULL};
    char *copy = strdup(text);
    if (!copy)
        return fb_fail(FB_NO_MEMORY, "no memory for a problem string");
    if (*copy)
        FB_TRY_OUT(sort_items(copy, value));
    for (int row = 0; row < ITEM_COUNT; row++)
        if (value[row])
            FB_TRY_OUT(
                fb_status_about(items[row].take(problem, &items[row], value[row]), items[row].key));
out:
    free(copy);
    return status;
}
