/* SPDX-License-Identifier: BSD-3-Clause
 *
 * plugins.c: the supervisor's side of plug-ins: it never opens one.
 */
#include "run/plugins.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "core/numbers.h"
#include "core/registry.h"
#include "core/status.h"
#include "run/process.h"

/* A plug-in that has not told its variants by then hangs. */
#define PATIENCE_NS 10000000000LL

/* ---- Stand-ins ----------------------------------------------------------------------------------
 */

/* Lives as long as the process: the registry keeps it. */
struct stand_in {
    struct fb_variant variant;
    const struct fb_variant *table[2];
};

static enum fb_status garbled(const char *path)
{
    return fb_fail(FB_CORRUPT, "plug-in '%s' writes into the worker's own channel", path);
}

/* "NAME BACKEND DETERMINISTIC GEMMS SUMMARY" */
static enum fb_status add_stand_in(const char *path, char *text)
{
    char *word[4], *rest = text;
    int64_t deterministic = 0, gemms = 0;
    for (int i = 0; i < 4; i++)
        word[i] = rest ? strsep(&rest, " ") : NULL;
    if (!rest || !fb_number_int(word[2], &deterministic) || !fb_number_int(word[3], &gemms))
        return garbled(path);
    if (fb_registry_find(word[0]))
        return fb_fail(FB_USAGE, "plug-in '%s': the name '%s' is taken", path, word[0]);
    struct stand_in *made = calloc(1, sizeof *made);
    if (!made)
        return fb_fail(FB_NO_MEMORY, "no memory for a plug-in");
    made->variant = (struct fb_variant){
        .abi_version = FB_ABI_VERSION,
        .struct_size = sizeof made->variant,
        .name = strdup(word[0]),
        .backend = strdup(word[1]),
        .summary = strdup(rest),
        .properties = {.deterministic = (unsigned)deterministic, .gemms = (int)gemms},
    };
    made->table[0] = &made->variant;
    if (!made->variant.name || !made->variant.backend || !made->variant.summary)
        return fb_fail(FB_NO_MEMORY, "no memory for a plug-in");
    return fb_registry_add(made->table);
}

/* ---- Asking -------------------------------------------------------------------------------------
 */

/* What became of a worker that was asked. */
struct answer {
    bool done, hangs;
};

/* "STATUS REASON" */
static enum fb_status refused(const char *path, char *text)
{
    char *rest = text;
    int64_t status;
    if (!fb_number_int(strsep(&rest, " "), &status) || !rest)
        return garbled(path);
    return fb_fail(status == FB_IO ? FB_IO : FB_USAGE, "%s", rest);
}

static enum fb_status take_answer(const char *path, char *line, struct answer *answer)
{
    char *rest;
    switch (fb_word_take(line, &rest)) {
    case FB_WORD_DONE:
        answer->done = true;
        return FB_OK;
    case FB_WORD_REFUSED:
        return refused(path, rest);
    case FB_WORD_VARIANT:
        return add_stand_in(path, rest);
    default:
        return garbled(path);
    }
}

static enum fb_status take_answers(struct fb_process *process, const char *path,
                                   struct answer *answer, bool *closed)
{
    char *line;
    do {
        FB_TRY(fb_process_line(process, &line, closed));
        if (line)
            FB_TRY(take_answer(path, line, answer));
    } while (line && !answer->done);
    return FB_OK;
}

static enum fb_status await_answer(struct fb_process *process, const char *path,
                                   struct answer *answer)
{
    const long long begun = fb_clock_ns();
    bool closed = false;
    while (!answer->done) {
        bool alive = fb_process_alive(process); /* before the look: what it has said is there */
        struct pollfd watched = {.fd = process->records, .events = POLLIN};
        FB_TRY(take_answers(process, path, answer, &closed));
        if (answer->done || closed || !alive)
            break;
        answer->hangs = fb_clock_ns() - begun > PATIENCE_NS;
        if (answer->hangs)
            break;
        poll(&watched, 1, 100);
    }
    return FB_OK;
}

static enum fb_status ask_one(struct fb_plugins *plugins, const char *path)
{
    struct fb_process process = {.records = -1};
    struct answer answer = {0};
    char how[128] = "";
    FB_TRY(fb_process_start(&process, &path, 1, true));
    enum fb_status status = await_answer(&process, path, &answer);
    fb_process_stop(&process, answer.hangs || status != FB_OK, how, sizeof how);
    FB_TRY(status);
    if (answer.done) {
        plugins->paths[plugins->count++] = path;
        return FB_OK;
    }
    fb_registry_lack();
    if (answer.hangs)
        fb_log_warn("plug-in '%s' is left out: it does not return from being loaded", path);
    else
        fb_log_warn("plug-in '%s' is left out: %s while it was loaded", path, how);
    return FB_OK;
}

enum fb_status fb_plugins_ask(struct fb_plugins *plugins, const char *const *paths, size_t count)
{
    *plugins = (struct fb_plugins){.paths = calloc(count + 1, sizeof *plugins->paths)};
    if (!plugins->paths)
        return fb_fail(FB_NO_MEMORY, "no memory for %zu plug-ins", count);
    for (size_t i = 0; i < count; i++)
        FB_TRY(ask_one(plugins, paths[i]));
    return FB_OK;
}

void fb_plugins_free(struct fb_plugins *plugins)
{
    free(plugins->paths);
    memset(plugins, 0, sizeof *plugins);
}
