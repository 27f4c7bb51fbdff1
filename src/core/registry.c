/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/registry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/backends.h"
#include "core/status.h"

/* Tables of plug-ins, as they were added. The array is never freed: it lives as long as they do. */
static const struct fb_variant *const **added;
static size_t added_count;
static bool lacking; /* a plug-in that could not be asked */

static const struct fb_variant *at_in(const struct fb_variant *const *table, int *index)
{
    for (int i = 0; table[i]; i++)
        if ((*index)-- == 0)
            return table[i];
    return NULL;
}

const struct fb_variant *fb_registry_at(int index)
{
    const struct fb_variant *variant = NULL;
    for (int t = 0; !variant && fb_registry_tables[t]; t++)
        variant = at_in(fb_registry_tables[t], &index);
    for (size_t t = 0; !variant && t < added_count; t++)
        variant = at_in(added[t], &index);
    return variant;
}

const struct fb_variant *fb_registry_find(const char *name)
{
    const struct fb_variant *variant;
    for (int i = 0; (variant = fb_registry_at(i)); i++)
        if (!strcmp(variant->name, name))
            return variant;
    return NULL;
}

bool fb_registry_is_name(const char *name)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
    size_t length = strnlen(name, 64);
    return length > 0 && length < 64 && strspn(name, allowed) == length && name[0] != '-';
}

/* Has the program any variant of this backend? */
static bool is_built(const char *backend)
{
    const struct fb_variant *variant;
    for (int i = 0; (variant = fb_registry_at(i)); i++)
        if (variant->backend && !strcmp(variant->backend, backend))
            return true;
    return false;
}

static enum fb_status fail_unknown(const char *name)
{
    char backend[16];
    if (lacking)
        return fb_fail(FB_DEVICE, "variant '%s' is not known: it may be in the plug-in left out",
                       name);
    snprintf(backend, sizeof backend, "%.*s", (int)strcspn(name, "-"), name);
    if (fb_backend_find(backend) && !is_built(backend))
        return fb_fail(FB_USAGE,
                       "unknown variant '%s': this program was built without %s (configure says "
                       "why); 'flashback list' shows what it has",
                       name, backend);
    return fb_fail(FB_USAGE, "unknown variant '%s'; 'flashback list' shows them", name);
}

enum fb_status fb_registry_get(const char *name, const struct fb_variant **variant)
{
    *variant = fb_registry_find(name);
    return *variant ? FB_OK : fail_unknown(name);
}

enum fb_status fb_registry_require(const char *name)
{
    const struct fb_variant *variant;
    return fb_registry_get(name, &variant);
}

enum fb_status fb_registry_check(void)
{
    const struct fb_variant *v;
    for (int i = 0; (v = fb_registry_at(i)); i++) {
        if (!v->name || !fb_registry_is_name(v->name))
            return fb_fail(FB_USAGE, "variant '%s': a name is of a-z, 0-9 and '-'",
                           v->name ? v->name : "");
        if (fb_registry_find(v->name) != v)
            return fb_fail(FB_USAGE, "two variants are named '%s': rename one in its descriptor",
                           v->name);
        if (!v->backend || !fb_backend_find(v->backend))
            return fb_fail(FB_USAGE, "variant '%s': its backend is not one of %s", v->name,
                           fb_backend_names());
    }
    return FB_OK;
}

enum fb_status fb_registry_add(const struct fb_variant *const *table)
{
    const struct fb_variant *const **grown = realloc(added, (added_count + 1) * sizeof *grown);
    if (!grown)
        return fb_fail(FB_NO_MEMORY, "no memory for a table of variants");
    added = grown;
    added[added_count++] = table;
    return FB_OK;
}

void fb_registry_lack(void)
{
    lacking = true;
}

bool fb_registry_lacks(void)
{
    return lacking;
}

bool fb_variant_is_plugin(const struct fb_variant *variant)
{
    for (size_t t = 0; t < added_count; t++)
        for (int i = 0; added[t][i]; i++)
            if (added[t][i] == variant)
                return true;
    return false;
}

bool fb_variant_is_trap(const struct fb_variant *variant)
{
    return variant->properties.role & FB_ROLE_TRAP;
}

bool fb_variant_is_idle(const struct fb_variant *variant)
{
    return variant->properties.role & FB_ROLE_IDLE;
}

bool fb_registry_is_idle(const char *name)
{
    const struct fb_variant *variant = fb_registry_find(name);
    return variant && fb_variant_is_idle(variant);
}
