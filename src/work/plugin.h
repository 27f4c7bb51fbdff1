/* SPDX-License-Identifier: BSD-3-Clause
 *
 * plugin.h: shared objects with variants of somebody else's, on the side of the worker, which loads
 * and calls them. Whatever such an object does then must not reach the supervisor, which only knows
 * what it is told (run/plugins.h).
 */
#ifndef FB_WORK_PLUGIN_H
#define FB_WORK_PLUGIN_H

#include <stdio.h>

#include "flashback.h"

/* Loads the object, checks its table and adds it to the registry. FB_IO: it cannot be opened;
 * FB_USAGE: it is no plug-in, or one for another version of flashback.h, or a descriptor is not
 * what it must be; the message says which. */
enum fb_status fb_plugin_load(const char *path);

/* Tells the variants that came with plug-ins, a line each, then "done". */
enum fb_status fb_plugin_tell(FILE *to);

#endif
