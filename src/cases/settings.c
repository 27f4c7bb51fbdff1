/* SPDX-License-Identifier: BSD-3-Clause
 *
 * settings.c: the language of the [measure] section. One table of keys serves the experiment file,
 * --set, the orders to a worker and the facts of a run.
 */
#include "cases/settings.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "core/json.h"
#include "core/numbers.h"
#include "core/status.h"

static const char *const what_names[] = {"speed", "memory", "error", "determinism"};

void fb_measure_default(struct fb_measure *measure)
{
    *measure = (struct fb_measure){.what = FB_WHAT_SPEED | FB_WHAT_MEMORY | FB_WHAT_ERROR,
                                   .warmup = 1,
                                   .min_samples = 5,
                                   .max_samples = 100,
                                   .max_seconds = 5,
                                   .interval = 0.01,
                                   .rest = -1,
                                   .deadline = 600,
                                   .det_runs = 10,
                                   .forward = true,
                                   .flush = true};
}

static enum fb_status set_what(struct fb_measure *measure, const char *value)
{
    char copy[256], *rest = copy;
    unsigned what = 0;
    snprintf(copy, sizeof copy, "%s", value);
    for (char *word; (word = strsep(&rest, " \t"));) {
        size_t i = 0;
        while (i < 4 && strcmp(word, what_names[i]))
            i++;
        if (*word && i == 4)
            return fb_fail(FB_USAGE, "what=%s is not one of speed, memory, error, determinism",
                           word);
        if (*word)
            what |= 1u << i;
    }
    if (!what)
        return fb_fail(FB_USAGE, "key 'what' has no value; allowed: speed, memory, error, "
                                 "determinism");
    measure->what = what;
    return FB_OK;
}

static enum fb_status set_word(bool *flag, const char *key, const char *value, const char *off,
                               const char *on)
{
    if (strcmp(value, on) && strcmp(value, off))
        return fb_fail(FB_USAGE, "%s=%s is not %s or %s", key, value, on, off);
    *flag = !strcmp(value, on);
    return FB_OK;
}

static enum fb_status set_count(int *count, const char *key, const char *value, int least)
{
    int64_t number;
    if (!fb_number_int(value, &number) || number < least || number > 1000000)
        return fb_fail(FB_USAGE, "%s=%s is not a whole number from %d to 1000000", key, value,
                       least);
    *count = (int)number;
    return FB_OK;
}

static enum fb_status set_real(double *real, const char *key, const char *value, double least)
{
    double number;
    if (!fb_number_real(value, &number) || !(number >= least && number <= 1e6))
        return fb_fail(FB_USAGE, "%s=%s is not a number from %g to 1e6", key, value, least);
    *real = number;
    return FB_OK;
}

/* The keys of [measure], each with the place of its value in struct fb_measure. */
enum measure_kind { KIND_WHAT, KIND_COUNT, KIND_REAL, KIND_WORD };

static const struct measure_key {
    const char *key;
    enum measure_kind kind;
    size_t at;
    double least;         /* of a number */
    const char *off, *on; /* of a word */
} measure_keys[FB_MEASURE_KEYS] = {
    {"what", KIND_WHAT, 0, 0, NULL, NULL},
    {"warmup", KIND_COUNT, offsetof(struct fb_measure, warmup), 0, NULL, NULL},
    {"min_samples", KIND_COUNT, offsetof(struct fb_measure, min_samples), 1, NULL, NULL},
    {"max_samples", KIND_COUNT, offsetof(struct fb_measure, max_samples), 1, NULL, NULL},
    {"det_runs", KIND_COUNT, offsetof(struct fb_measure, det_runs), 2, NULL, NULL},
    {"max_seconds", KIND_REAL, offsetof(struct fb_measure, max_seconds), 0, NULL, NULL},
    {"interval", KIND_REAL, offsetof(struct fb_measure, interval), 0, NULL, NULL},
    {"rest", KIND_REAL, offsetof(struct fb_measure, rest), -1, NULL, NULL},
    {"deadline", KIND_REAL, offsetof(struct fb_measure, deadline), 0.01, NULL, NULL},
    {"forward", KIND_WORD, offsetof(struct fb_measure, forward), 0, "no", "yes"},
    {"mode", KIND_WORD, offsetof(struct fb_measure, sustained), 0, "burst", "sustained"},
    {"l2", KIND_WORD, offsetof(struct fb_measure, flush), 0, "warm", "flush"},
    {"time_failed", KIND_WORD, offsetof(struct fb_measure, time_failed), 0, "no", "yes"},
};

static const struct measure_key *find_measure_key(const char *key)
{
    for (size_t i = 0; i < FB_MEASURE_KEYS; i++)
        if (!strcmp(measure_keys[i].key, key))
            return &measure_keys[i];
    return NULL;
}

static enum fb_status refuse_measure_key(const char *key)
{
    char known[256] = "";
    for (size_t i = 0, used = 0; i < FB_MEASURE_KEYS; i++)
        used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "",
                                 measure_keys[i].key);
    return fb_fail(FB_USAGE, "unknown key '%s' in [measure]; allowed: %s", key, known);
}

enum fb_status fb_measure_set(struct fb_measure *m, const char *key, const char *value)
{
    const struct measure_key *k = find_measure_key(key);
    if (!k)
        return refuse_measure_key(key);
    void *at = (char *)m + k->at;
    switch (k->kind) {
    case KIND_WHAT:
        return set_what(m, value);
    case KIND_COUNT:
        return set_count(at, key, value, (int)k->least);
    case KIND_REAL:
        return set_real(at, key, value, k->least);
    default:
        return set_word(at, key, value, k->off, k->on);
    }
}

bool fb_measure_has(const char *key)
{
    return find_measure_key(key) != NULL;
}

const char *fb_measure_key(int index)
{
    return measure_keys[index].key;
}

static void print_what(char text[FB_MEASURE_TEXT], unsigned what)
{
    text[0] = '\0';
    for (size_t i = 0; i < sizeof what_names / sizeof *what_names; i++)
        if (what & 1u << i)
            snprintf(text + strlen(text), FB_MEASURE_TEXT - strlen(text), "%s%s", *text ? " " : "",
                     what_names[i]);
}

void fb_measure_print(const struct fb_measure *m, int index, char text[FB_MEASURE_TEXT])
{
    const struct measure_key *k = &measure_keys[index];
    const void *at = (const char *)m + k->at;
    const int *count = at;
    const double *real = at;
    const bool *flag = at;
    switch (k->kind) {
    case KIND_WHAT:
        print_what(text, m->what);
        break;
    case KIND_COUNT:
        snprintf(text, FB_MEASURE_TEXT, "%d", *count);
        break;
    case KIND_REAL:
        fb_real_print(*real, text);
        break;
    default:
        snprintf(text, FB_MEASURE_TEXT, "%s", *flag ? k->on : k->off);
    }
}
