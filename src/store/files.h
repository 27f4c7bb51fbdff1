/* SPDX-License-Identifier: BSD-3-Clause
 *
 * files.h: whole files: read in one go, put in place by a rename that survives a power cut.
 */
#ifndef FB_STORE_FILES_H
#define FB_STORE_FILES_H

#include <stddef.h>

#include "flashback.h"

/* The file's bytes with a 0 after them (malloc'd). FB_IO names the file and the cause. */
enum fb_status fb_file_read(const char *path, char **text, size_t *length);

/* Syncs `from`, renames it to `to` and syncs the folder. On failure `from` is removed. */
enum fb_status fb_file_publish(const char *from, const char *to);

#endif
