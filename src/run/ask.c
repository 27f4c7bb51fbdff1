/* SPDX-License-Identifier: BSD-3-Clause */
#include "run/ask.h"

#include <stdlib.h>
#include <string.h>

#include "core/status.h"
#include "run/supervisor.h"

struct answers {
    const size_t *todo;
    size_t count;
    char **reasons;
};

static int compare_positions(const void *a, const void *b)
{
    const size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

static enum fb_status take_answer(void *user, size_t position, const struct fb_record *record)
{
    struct answers *a = user;
    const size_t *found = bsearch(&position, a->todo, a->count, sizeof *a->todo, compare_positions);
    if (!found)
        return fb_fail(FB_INTERNAL, "an answer to what was not asked");
    char **reason = &a->reasons[found - a->todo];
    free(*reason);
    *reason = strdup(fb_text(record->reason));
    return *reason ? FB_OK : fb_fail(FB_NO_MEMORY, "no memory for a reason");
}

enum fb_status fb_ask_why_not(const struct fb_plugins *plugins, const struct fb_case *cases,
                              const size_t *todo, size_t count, char **reasons, int *signal)
{
    struct answers answers = {.todo = todo, .count = count, .reasons = reasons};
    struct fb_measure measure;
    fb_measure_default(&measure);
    measure.what = 0; /* only whether the case is taken */
    measure.deadline = 20;
    const struct fb_supervision supervision = {.cases = cases,
                                               .todo = todo,
                                               .todo_count = count,
                                               .measure = &measure,
                                               .plugins = plugins->paths,
                                               .plugin_count = plugins->count,
                                               .take = take_answer,
                                               .user = &answers};
    return count ? fb_supervise(&supervision, signal) : FB_OK;
}
