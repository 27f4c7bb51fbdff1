/* SPDX-License-Identifier: BSD-3-Clause
 *
 * problem_text.c: reads problems from text. One row of `items` an item of the language; a text is
 * taken in the order of that table, so that b and h are known before the lists they size. Numbers
 * never follow the locale.
 */
#include <float.h>
#include <inttypes.h>
#include <math.h>
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

static enum fb_status take_count(int64_t *field, const char *key, const char *value, int64_t least,
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

/* Index of value in names from `first` on; FB_USAGE lists them. */
static enum fb_status take_name(int *field, const char *key, const char *value,
                                const char *const *names, int first)
{
    char allowed[128] = "";
    for (int i = first; names[i]; i++) {
        size_t used = strlen(allowed);
        if (!strcmp(names[i], value)) {
            *field = i;
            return FB_OK;
        }
        snprintf(allowed + used, sizeof allowed - used, "%s%s", i > first ? ", " : "", names[i]);
    }
    return fb_fail(FB_USAGE, "%s=%s is not one of %s", key, value, allowed);
}

static enum fb_status take_real(double *field, const char *key, const char *value)
{
    if (!fb_number_real(value, field))
        return fb_fail(FB_USAGE, "%s=%s is not a finite number such as 0.125 or -1e-3", key, value);
    return FB_OK;
}

/* A number that kernels take as fp32, where it must not become infinite. */
static enum fb_status take_fp32(double *field, const char *key, const char *value)
{
    FB_TRY(take_real(field, key, value));
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

/* ---- Items: value may be written into -------------------------------------------------------- */

static enum fb_status take_n(struct fb_problem *p, char *value)
{
    FB_TRY(take_count(&p->nq, "n", value, 0, FB_PROBLEM_MAX_N));
    p->nk = p->nq;
    return FB_OK;
}

static enum fb_status take_nq(struct fb_problem *p, char *value)
{
    return take_count(&p->nq, "nq", value, 0, FB_PROBLEM_MAX_N);
}

static enum fb_status take_nk(struct fb_problem *p, char *value)
{
    return take_count(&p->nk, "nk", value, 0, FB_PROBLEM_MAX_N);
}

static enum fb_status take_b(struct fb_problem *p, char *value)
{
    int64_t before = p->b;
    FB_TRY(take_count(&p->b, "b", value, 0, FB_PROBLEM_MAX_N));
    if (p->b != before && (p->qlens || p->klens))
        return fb_fail(FB_USAGE, "b=%s does not match the %" PRId64 " packed lengths", value,
                       before);
    return FB_OK;
}

static enum fb_status take_h(struct fb_problem *p, char *value)
{
    int64_t before = p->h;
    FB_TRY(take_count(&p->h, "h", value, 1, FB_PROBLEM_MAX_H));
    if (p->h != before && p->alibi_slopes)
        return fb_fail(FB_USAGE, "h=%s does not match the %" PRId64 " slopes of alibi=", value,
                       before);
    return FB_OK;
}

static enum fb_status take_hk(struct fb_problem *p, char *value)
{
    return take_count(&p->hk, "hk", value, 1, FB_PROBLEM_MAX_H);
}

static enum fb_status take_d(struct fb_problem *p, char *value)
{
    return take_count(&p->d, "d", value, 1, FB_PROBLEM_MAX_D);
}

static enum fb_status take_dv(struct fb_problem *p, char *value)
{
    return take_count(&p->dv, "dv", value, 1, FB_PROBLEM_MAX_D);
}

static enum fb_status take_dtype(struct fb_problem *p, char *value)
{
    int index;
    FB_TRY(take_name(&index, "dtype", value, dtype_names, 0));
    p->dtype = (enum fb_dtype)index;
    return FB_OK;
}

static enum fb_status take_mask(struct fb_problem *p, char *value)
{
    int index;
    FB_TRY(take_name(&index, "mask", value, mask_names, 0));
    p->mask = (enum fb_mask)index;
    return FB_OK;
}

static enum fb_status take_causal(struct fb_problem *p, char *value)
{
    (void)value;
    p->mask = FB_MASK_CAUSAL;
    return FB_OK;
}

static enum fb_status take_window(struct fb_problem *p, char *value)
{
    char *colon = strchr(value, ':');
    if (!colon)
        return fb_fail(FB_USAGE, "window=%s is not LEFT:RIGHT, each -1 (open) or a number of keys",
                       value);
    *colon = '\0';
    FB_TRY(take_count(&p->window_left, "window left", value, FB_OPEN, FB_PROBLEM_MAX_N));
    return take_count(&p->window_right, "window right", colon + 1, FB_OPEN, FB_PROBLEM_MAX_N);
}

static enum fb_status take_scale(struct fb_problem *p, char *value)
{
    return take_fp32(&p->scale, "scale", value);
}

static enum fb_status take_softcap(struct fb_problem *p, char *value)
{
    FB_TRY(take_fp32(&p->softcap, "softcap", value));
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
        FB_TRY(take_fp32(&slopes[i], "alibi slope", strsep(&rest, ":")));
    return FB_OK;
}

static enum fb_status take_alibi(struct fb_problem *p, char *value)
{
    if (strcmp(value, "auto"))
        return take_slopes(p, value);
    free(p->alibi_slopes);
    p->alibi_slopes = NULL;
    p->alibi = FB_ALIBI_AUTO;
    return FB_OK;
}

static enum fb_status take_bias(struct fb_problem *p, char *value)
{
    int index;
    FB_TRY(take_name(&index, "bias", value, bias_names, 1));
    p->bias = (enum fb_bias)index;
    return FB_OK;
}

/* P@SEED:OFFSET. Without dropout the seed says nothing and is dropped, so that one problem has one
 * text. */
static enum fb_status take_dropout(struct fb_problem *p, char *value)
{
    char *at = strchr(value, '@');
    char *colon = at ? strchr(at, ':') : NULL;
    if (!colon)
        return fb_fail(FB_USAGE, "dropout=%s is not PROBABILITY@SEED:OFFSET", value);
    *at = *colon = '\0';
    FB_TRY(take_real(&p->dropout, "dropout", value));
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

static enum fb_status take_sink(struct fb_problem *p, char *value)
{
    (void)value;
    p->sink = 1;
    return FB_OK;
}

static enum fb_status take_dlse(struct fb_problem *p, char *value)
{
    (void)value;
    p->dlse = 1;
    return FB_OK;
}

/* 3+0+5: one length a batch. */
static enum fb_status take_lens(struct fb_problem *p, int64_t **field, const char *key, char *value)
{
    char *rest = value;
    size_t count = count_parts(value, '+');
    if (p->b >= 0 && (size_t)p->b != count)
        return fb_fail(FB_USAGE,
                       "%s gives %zu lengths, b is %" PRId64
                       "; allowed: one length a batch, parted by '+'",
                       key, count, p->b);
    int64_t *lens = calloc(count, sizeof *lens);
    if (!lens)
        return fb_fail(FB_NO_MEMORY, "no memory for %zu lengths", count);
    free(*field);
    *field = lens;
    p->b = (int64_t)count;
    for (size_t i = 0; i < count; i++)
        FB_TRY(take_count(&lens[i], key, strsep(&rest, "+"), 0, FB_PROBLEM_MAX_N));
    return FB_OK;
}

static enum fb_status take_qlens(struct fb_problem *p, char *value)
{
    return take_lens(p, &p->qlens, "qlens", value);
}

static enum fb_status take_klens(struct fb_problem *p, char *value)
{
    return take_lens(p, &p->klens, "klens", value);
}

static enum fb_status take_layout(struct fb_problem *p, char *value)
{
    int index;
    FB_TRY(take_name(&index, "layout", value, layout_names, 0));
    p->layout = (enum fb_layout)index;
    return FB_OK;
}

/* ---- The language ---------------------------------------------------------------------------- */

/* What an item sets: two items that set the same may not stand in one text. */
enum { SETS_NQ = 1, SETS_NK = 2, SETS_MASK = 4 };

static const struct {
    const char *key;
    bool flag; /* stands without a value */
    unsigned sets;
    enum fb_status (*take)(struct fb_problem *p, char *value);
} items[] = {
    {"b", false, 0, take_b},
    {"h", false, 0, take_h},
    {"hk", false, 0, take_hk},
    {"n", false, SETS_NQ | SETS_NK, take_n},
    {"nq", false, SETS_NQ, take_nq},
    {"nk", false, SETS_NK, take_nk},
    {"d", false, 0, take_d},
    {"dv", false, 0, take_dv},
    {"dtype", false, 0, take_dtype},
    {"causal", true, SETS_MASK, take_causal},
    {"mask", false, SETS_MASK, take_mask},
    {"window", false, 0, take_window},
    {"scale", false, 0, take_scale},
    {"softcap", false, 0, take_softcap},
    {"alibi", false, 0, take_alibi},
    {"bias", false, 0, take_bias},
    {"dropout", false, 0, take_dropout},
    {"sink", true, 0, take_sink},
    {"dlse", true, 0, take_dlse},
    {"qlens", false, 0, take_qlens},
    {"klens", false, 0, take_klens},
    {"layout", false, 0, take_layout},
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
            FB_TRY_OUT(fb_status_about(items[row].take(problem, value[row]), items[row].key));
out:
    free(copy);
    return status;
}
