/* SPDX-License-Identifier: BSD-3-Clause
 *
 * plugin.h: shared objects with variants of somebody else's. Whatever such an object does when it
 * is loaded or asked must not reach the supervisor, so there are two sides: a worker loads it and
 * calls it; the supervisor has a worker tell it the names, and keeps stand-ins that only describe.
 */
#ifndef FB_WORK_PLUGIN_H
#define FB_WORK_PLUGIN_H

#include <stddef.h>
#include <stdio.h>

#include "cases/case.h"

/* ---- In a worker ---- */

/* Loads the object, checks its table and adds it to the registry. FB_IO: it cannot be opened;
 * FB_USAGE: it is no plug-in, or one for another version of flashback.h, or a descriptor is not
 * what it must be; the message says which. */
enum fb_status fb_plugin_load(const char *path);

/* Tells the variants that came with plug-ins, a line each, then "done". */
enum fb_status fb_plugin_tell(FILE *to);

/* ---- In the supervisor ---- */

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
