/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cudnn/library.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FILE_NAME "libcudnn.so.9"

static struct fb_cudnn_library library;
static char reason[400];

/* What to hand to dlopen: a name without a slash is looked for on the loader's path. */
static void place(char path[1024])
{
    const char *given = getenv("FLASHBACK_CUDNN");
    struct stat about;
    if (!given || !*given)
        snprintf(path, 1024, "%s", FILE_NAME);
    else if (!stat(given, &about) && S_ISDIR(about.st_mode))
        snprintf(path, 1024, "%s/" FILE_NAME, given);
    else
        snprintf(path, 1024, "%s", given);
}

/* Of a library that was named, the parts are loaded from beside it before it asks for them by name:
 * LD_LIBRARY_PATH may lead to those of another version. One that is missing is missed later. */
static void load_parts(const char *path)
{
    static const char *const parts[] = {
        "graph", "ops", "cnn", "engines_runtime_compiled", "heuristic", "engines_precompiled"};
    const char *slash = strrchr(path, '/');
    for (size_t i = 0; slash && i < sizeof parts / sizeof *parts; i++) {
        char part[1100];
        snprintf(part, sizeof part, "%.*s/libcudnn_%s.so.9", (int)(slash - path), path, parts[i]);
        dlopen(part, RTLD_LAZY | RTLD_GLOBAL);
    }
}

/* A pointer to an object becomes one to a function; POSIX, unlike ISO C, allows that. */
static bool find(void *handle, const char *name, void *member)
{
    void *function = dlsym(handle, name);
    memcpy(member, &function, sizeof function);
    if (!function)
        snprintf(reason, sizeof reason, "cuDNN lacks %s: 9 is needed", name);
    return function != NULL;
}

static bool load(void)
{
    char path[1024];
    place(path);
    load_parts(path);
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        const char *error = dlerror();
        snprintf(reason, sizeof reason, "no cuDNN: %.320s (FLASHBACK_CUDNN names its folder)",
                 error ? error : path);
        return false;
    }
    bool whole = true;
#define FIND(member, function) whole = whole && find(handle, #function, &library.member);
    FB_CUDNN_FUNCTIONS(FIND)
#undef FIND
    return whole;
}

const struct fb_cudnn_library *fb_cudnn_library(const char **why)
{
    static bool tried, loaded;
    if (!tried)
        loaded = load();
    tried = true;
    *why = loaded ? NULL : reason;
    return loaded ? &library : NULL;
}

void fb_cudnn_say(const struct fb_cudnn_library *from, const char *what, cudnnStatus_t status,
                  char *line, size_t size)
{
    char words[200] = "";
    from->last_error(words, sizeof words);
    for (char *at = words; *at; at++)
        if (*at == '\n')
            *at = ' ';
    snprintf(line, size, "cuDNN: %s: %s%s%s", what, from->error_name(status), *words ? ": " : "",
             words);
}

const char *fb_cudnn_version(void)
{
    static char text[32];
    const char *why;
    const struct fb_cudnn_library *found = fb_cudnn_library(&why);
    const size_t version = found ? found->version() : 0;
    snprintf(text, sizeof text, "%zu.%zu.%zu", version / 10000, version / 100 % 100, version % 100);
    return found ? text : why;
}

const char *fb_cudnn_why_not(void)
{
    static char old[80];
    const char *why = NULL;
    const struct fb_cudnn_library *found = fb_cudnn_library(&why);
    if (!found || found->version() >= FB_CUDNN_VERSION(9, 11, 0))
        return found ? NULL : why;
    snprintf(old, sizeof old, "cuDNN 9.11 or newer is needed, not %s", fb_cudnn_version());
    return old;
}
