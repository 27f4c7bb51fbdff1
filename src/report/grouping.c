/* SPDX-License-Identifier: BSD-3-Clause
 *
 * grouping.c: which records stand together, and what they are called.
 */
#include "report/grouping.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/backends.h"
#include "core/status.h"
#include "store/columns.h"

/* ---- Labels -----------------------------------------------------------------------------------
 */

static void add(char label[FB_LABEL], const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void add(char label[FB_LABEL], const char *format, ...)
{
    va_list arguments;
    size_t length = strlen(label);
    if (length && length + 1 < FB_LABEL)
        label[length++] = ' ';
    va_start(arguments, format);
    vsnprintf(label + length, FB_LABEL - length, format, arguments);
    va_end(arguments);
}

/* The items of a canonical problem string after its mask: those that are not default. */
static void add_rest(char label[FB_LABEL], const char *problem)
{
    const char *rest = strstr(problem, ",mask=");
    rest = rest ? strchr(rest + 1, ',') : NULL;
    if (!rest)
        return;
    size_t before = strlen(label);
    add(label, "%s", rest + 1);
    for (char *at = label + before; *at; at++)
        if (*at == ',')
            *at = ' ';
}

double fb_record_extra_bytes(const struct fb_record *record)
{
    if (record->saved_bytes < 0 || record->workspace_bytes < 0)
        return NAN;
    return (double)record->saved_bytes + (double)record->workspace_bytes;
}

double fb_record_linear_bytes(const struct fb_record *record)
{
    double rows = (double)record->b * (double)record->h * (double)record->nq;
    double element = record->dtype == FB_FP32 ? 4 : 2;
    return rows * ((double)record->dv * element + 8); /* lse and delta are fp32 */
}

void fb_label_problem(const struct fb_record *r, char label[FB_LABEL])
{
    label[0] = '\0';
    add(label, "b=%lld h=%lld", (long long)r->b, (long long)r->h);
    if (r->hk != r->h)
        add(label, "hk=%lld", (long long)r->hk);
    if (r->nq == r->nk)
        add(label, "n=%lld", (long long)r->nq);
    else
        add(label, "nq=%lld nk=%lld", (long long)r->nq, (long long)r->nk);
    add(label, "d=%lld", (long long)r->d);
    if (r->dv != r->d)
        add(label, "dv=%lld", (long long)r->dv);
    add(label, "%s %s", fb_value_name(fb_values_dtype, r->dtype),
        fb_value_name(fb_values_mask, r->mask));
    add_rest(label, fb_text(r->problem));
}

void fb_label_numerics(const struct fb_record *r, char label[FB_LABEL])
{
    const struct {
        const char *item;
        int value, standard;
        const struct fb_value *values;
    } items[] = {{"dkv", r->acc_dkv, FB_ACC_FP32, fb_values_acc},
                 {"dq", r->acc_dq, FB_ACC_FP32, fb_values_acc},
                 {"ps", r->ps_type, FB_PS_IN, fb_values_ps},
                 {"delta", r->delta_type, FB_DELTA_FP32, fb_values_delta},
                 {"lse", r->lse_type, FB_LSE_FP32, fb_values_lse},
                 {"round", r->round_step, FB_ROUND_TILE, fb_values_round}};
    label[0] = '\0';
    for (size_t i = 0; i < sizeof items / sizeof *items; i++)
        if (items[i].value != FB_MISSING_ENUM && items[i].value != items[i].standard)
            add(label, "%s=%s", items[i].item, fb_value_name(items[i].values, items[i].value));
}

void fb_label_variant(const struct fb_record *record, char label[FB_LABEL])
{
    char numerics[FB_LABEL];
    fb_label_numerics(record, numerics);
    snprintf(label, FB_LABEL, "%s", fb_text(record->variant));
    if (*numerics)
        add(label, "%s", numerics);
}

/* ---- Groups -----------------------------------------------------------------------------------
 */

int64_t fb_threads_of(const struct fb_record *record)
{
    const bool named = record->threads != FB_MISSING_INT;
    return named && fb_backend_is_host(fb_text(record->backend)) ? record->threads : 0;
}

bool fb_threads_differ(const struct fb_record *a, const struct fb_record *b)
{
    return fb_threads_of(a) && fb_threads_of(b) && fb_threads_of(a) != fb_threads_of(b);
}

/* Several recipes or numbers of threads in one file are told apart in the label. */
static bool several_recipes(const struct fb_results *results)
{
    for (size_t i = 1; i < results->record_count; i++)
        if (strcmp(fb_text(results->records[0].recipe), fb_text(results->records[i].recipe)) != 0)
            return true;
    return false;
}

static bool several_threads(const struct fb_results *results)
{
    const struct fb_record *first = NULL; /* on the CPU */
    for (size_t i = 0; i < results->record_count; i++) {
        const struct fb_record *r = &results->records[i];
        if (first && fb_threads_differ(first, r))
            return true;
        first = first || !fb_threads_of(r) ? first : r;
    }
    return false;
}

/* The variants of a file in its order. A run writes what is refused ahead of the rest of its group,
 * so that those which did something come first. */
struct order {
    const char **names;
    size_t count;
};

static size_t rank_of(const struct order *order, const struct fb_record *record)
{
    size_t i = 0;
    while (i < order->count && strcmp(order->names[i], fb_text(record->variant)) != 0)
        i++;
    return i;
}

static enum fb_status order_make(struct order *order, const struct fb_results *results)
{
    *order = (struct order){.names = malloc((results->record_count + 1) * sizeof *order->names)};
    if (!order->names)
        return fb_fail(FB_NO_MEMORY, "out of memory for a table");
    for (int refused = 0; refused < 2; refused++)
        for (size_t i = 0; i < results->record_count; i++) {
            const struct fb_record *r = &results->records[i];
            if (refused == (r->outcome == FB_OUTCOME_REFUSED) && rank_of(order, r) == order->count)
                order->names[order->count++] = fb_text(r->variant);
        }
    return FB_OK;
}

/* Runs that were cut off and went on leave the variants of a problem in any order: every group has
 * them in the order of the file as a whole. */
static void put_in_order(struct fb_group_view *group, const struct order *order,
                         const struct fb_record *record)
{
    const size_t rank = rank_of(order, record);
    size_t at = group->count++;
    for (; at && rank_of(order, group->records[at - 1]) > rank; at--)
        group->records[at] = group->records[at - 1];
    group->records[at] = record;
}

static enum fb_status add_member(struct fb_grouping *grouping, const struct order *order,
                                 const char *label, const struct fb_record *record)
{
    size_t at = grouping->count;
    while (at && strcmp(grouping->groups[at - 1].label, label) != 0)
        at--;
    if (!at) {
        struct fb_group_view *groups =
            realloc(grouping->groups, (grouping->count + 1) * sizeof *groups);
        char *name = strdup(label);
        if (groups)
            grouping->groups = groups;
        if (!groups || !name) {
            free(name);
            return fb_fail(FB_NO_MEMORY, "out of memory for a table");
        }
        groups[grouping->count++] = (struct fb_group_view){.label = name};
        at = grouping->count;
    }
    struct fb_group_view *group = &grouping->groups[at - 1];
    const struct fb_record **records =
        realloc(group->records, (group->count + 1) * sizeof *records);
    if (!records)
        return fb_fail(FB_NO_MEMORY, "out of memory for a table");
    group->records = records;
    put_in_order(group, order, record);
    return FB_OK;
}

enum fb_status fb_grouping_make(struct fb_grouping *grouping, const struct fb_results *results)
{
    const bool recipes = several_recipes(results), threads = several_threads(results);
    struct order order;
    enum fb_status status = FB_OK;
    grouping->groups = NULL;
    grouping->count = 0;
    FB_TRY(order_make(&order, results));
    for (size_t i = 0; i < results->record_count && status == FB_OK; i++) {
        const struct fb_record *record = &results->records[i];
        char label[FB_LABEL];
        fb_label_problem(record, label);
        if (recipes)
            add(label, "%s", fb_text(record->recipe));
        if (threads && fb_threads_of(record))
            add(label, "threads=%lld", (long long)fb_threads_of(record));
        status = add_member(grouping, &order, label, record);
    }
    free(order.names);
    if (status != FB_OK)
        fb_grouping_free(grouping);
    return status;
}

void fb_grouping_free(struct fb_grouping *grouping)
{
    for (size_t i = 0; i < grouping->count; i++) {
        free(grouping->groups[i].label);
        free(grouping->groups[i].records);
    }
    free(grouping->groups);
    grouping->groups = NULL;
    grouping->count = 0;
}
