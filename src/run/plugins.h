/* SPDX-License-Identifier: BSD-3-Clause
 *
 * plugins.h: shared objects with variants of somebody else's, on the side of the supervisor. It
 * never opens one: a worker (work/plugin.h) tells it the names, and it keeps stand-ins that only
 * describe.
 */
#ifndef FB_RUN_PLUGINS_H
#define FB_RUN_PLUGINS_H

#include <stddef.h>

#include "cases/case.h"

struct fb_plugins {
    const char **paths; /* of those that could be loaded; borrowed texts */
    size_t count;
};

/* Asks a worker of its own about each file and adds stand-ins to the registry. One that crashes or
 * hangs gives a warning, is left out, and the registry lacks it; one that is refused ends it, with
 * the reason. */
enum fb_status fb_plugins_ask(struct fb_plugins *plugins, const char *const *paths, size_t count);

/* Why the variants of plug-ins refuse cases: reasons[i] for cases[todo[i]], malloc'd; "" where it
 * is taken, NULL where the variant is not a plug-in's. */
enum fb_status fb_plugins_why_not(const struct fb_plugins *plugins, const struct fb_case *cases,
                                  const size_t *todo, size_t count, char **reasons);

void fb_plugins_free(struct fb_plugins *plugins);

#endif
