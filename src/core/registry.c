/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/registry.h"

#include <stddef.h>
#include <string.h>

const struct fb_variant *fb_registry_at(int index)
{
    for (int t = 0; fb_registry_tables[t]; t++)
        for (int i = 0; fb_registry_tables[t][i]; i++)
            if (index-- == 0)
                return fb_registry_tables[t][i];
    return NULL;
}

const struct fb_variant *fb_registry_find(const char *name)
{
    const struct fb_variant *variant;
    for (int i = 0; (variant = fb_registry_at(i)); i++)
        if (!strcmp(variant->name, name))
            return variant;
    return NULL;
}

int fb_variant_is_trap(const struct fb_variant *variant)
{
    return !strncmp(variant->name, "trap-", 5);
}

int fb_variant_accepts(const struct fb_variant *variant, unsigned what)
{
    const size_t end = offsetof(struct fb_variant, accepts) + sizeof variant->accepts;
    return variant->struct_size >= end && (variant->accepts & what) == what;
}
