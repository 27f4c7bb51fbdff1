/* SPDX-License-Identifier: BSD-3-Clause
 *
 * plugin.c: the worker's side of plug-ins. Everything that is looked at here may be garbage.
 */
#include "work/plugin.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/backends.h"
#include "core/registry.h"
#include "core/status.h"
#include "cases/protocol.h"

static bool is_line(const char *text)
{
    return text && !strpbrk(text, "\n\r");
}

static enum fb_status check_version(const char *path, const struct fb_variant *v)
{
    if (v->abi_version != FB_ABI_VERSION)
        return fb_fail(FB_USAGE,
                       "plug-in '%s' is built for version %u of flashback.h, this program has %u: "
                       "build it anew",
                       path, v->abi_version, (unsigned)FB_ABI_VERSION);
    if (v->struct_size != sizeof *v)
        return fb_fail(FB_USAGE,
                       "plug-in '%s': its struct fb_variant has %u bytes, this program's has %zu: "
                       "set struct_size, or build it anew",
                       path, v->struct_size, sizeof *v);
    return FB_OK;
}

static enum fb_status check_variant(const char *path, int index, const struct fb_variant *v)
{
    FB_TRY(check_version(path, v));
    if (!v->name || !fb_registry_is_name(v->name))
        return fb_fail(FB_USAGE,
                       "plug-in '%s': the name of its variant %d is not of a-z, 0-9 and '-'", path,
                       index);
    if (fb_registry_find(v->name))
        return fb_fail(FB_USAGE, "plug-in '%s': the name '%s' is taken", path, v->name);
    if (!v->backend || !fb_backend_find(v->backend))
        return fb_fail(FB_USAGE, "plug-in '%s': the backend of '%s' is not one of %s", path,
                       v->name, fb_backend_names());
    if (v->properties.role)
        return fb_fail(FB_USAGE,
                       "plug-in '%s': '%s' has a role, which built-in variants alone have", path,
                       v->name);
    if (!is_line(v->summary))
        return fb_fail(FB_USAGE, "plug-in '%s': '%s' lacks a summary of one line", path, v->name);
    if (!v->sizes || !v->forward || !v->backward || !v->prepare != !v->release)
        return fb_fail(FB_USAGE,
                       "plug-in '%s': '%s' lacks one of sizes, forward and backward, or has one of "
                       "prepare and release",
                       path, v->name);
    return FB_OK;
}

static enum fb_status check_table(const char *path, const struct fb_variant *const *table)
{
    if (!table || !table[0])
        return fb_fail(FB_USAGE, "plug-in '%s' offers no variant", path);
    for (int i = 0; table[i]; i++) {
        FB_TRY(check_variant(path, i, table[i]));
        for (int j = 0; j < i; j++)
            if (!strcmp(table[i]->name, table[j]->name))
                return fb_fail(FB_USAGE, "plug-in '%s': the name '%s' is taken", path,
                               table[i]->name);
    }
    return FB_OK;
}

/* dlopen looks for a name without '/' elsewhere than here. */
static void *open_object(const char *path)
{
    char *here = NULL;
    if (!strchr(path, '/') && asprintf(&here, "./%s", path) < 0)
        return NULL;
    void *object = dlopen(here ? here : path, RTLD_NOW | RTLD_LOCAL);
    free(here);
    return object;
}

enum fb_status fb_plugin_load(const char *path)
{
    const struct fb_variant *const *(*variants)(void);
    void *object = open_object(path), *symbol;
    if (!object) {
        const char *why = dlerror();
        return fb_fail(FB_IO, "plug-in '%s' cannot be loaded: %s", path, why ? why : "no memory");
    }
    symbol = dlsym(object, FB_PLUGIN_SYMBOL);
    if (!symbol) {
        dlclose(object);
        return fb_fail(FB_USAGE, "plug-in '%s' does not export " FB_PLUGIN_SYMBOL, path);
    }
    memcpy(&variants, &symbol, sizeof variants);
    const struct fb_variant *const *table = variants();
    enum fb_status status = check_table(path, table);
    if (status != FB_OK) {
        dlclose(object);
        return status;
    }
    return fb_registry_add(table); /* the object stays */
}

enum fb_status fb_plugin_tell(FILE *to)
{
    const struct fb_variant *v;
    for (int i = 0; (v = fb_registry_at(i)); i++)
        if (fb_variant_is_plugin(v))
            fb_word_put(to, FB_WORD_VARIANT, "%s %s %u %d %s", v->name, v->backend,
                        v->properties.deterministic & FB_DET_ALL, v->properties.gemms, v->summary);
    fb_word_put(to, FB_WORD_DONE, "%s", "");
    return fflush(to) ? fb_fail(FB_IO, "worker: cannot report") : FB_OK;
}
