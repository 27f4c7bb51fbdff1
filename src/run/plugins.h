/* SPDX-License-Identifier: BSD-3-Clause
 *
 * plugins.h: shared objects with variants of somebody else's, on the side of the supervisor. It
 * never opens one: a worker (work/plugin.h) tells it the names, and it keeps stand-ins that only
 * describe.
 */
#ifndef FB_RUN_PLUGINS_H
#define FB_RUN_PLUGINS_H

#include <stddef.h>

#include "flashback.h"

struct fb_plugins {
    const char **paths; /* of those that could be loaded; borrowed texts */
    size_t count;
};

/* Asks a worker of its own about each file and adds stand-ins to the registry. One that crashes or
 * hangs gives a warning, is left out, and the registry lacks it; one that is refused ends it, with
 * the reason. */
enum fb_status fb_plugins_ask(struct fb_plugins *plugins, const char *const *paths, size_t count);

void fb_plugins_free(struct fb_plugins *plugins);

#endif
