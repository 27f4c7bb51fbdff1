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

/* Writes path.tmp, syncs it, renames it to path and syncs the folder, so that path holds the older
 * file or the newer one, whole, whatever happens. Two programs take turns, by a lock on path.tmp;
 * FB_LOCKED after ten seconds. A link is followed and stays. FB_IO names path and leaves the older
 * file; a path that is a device, a folder, a link to nothing or where standard output goes is FB_IO
 * too, and so is a link that has the name path.tmp. */
enum fb_status fb_file_write(const char *path, const char *bytes, size_t length);

/* Is there a regular file that can be read? A folder, or a pipe that nobody writes to, is told
 * before a library waits for it. */
enum fb_status fb_file_check_input(const char *path);

/* Can path be written so? Makes path.tmp and removes it again; FB_IO as fb_file_write gives it, so
 * that who works for an hour first can be told before. */
enum fb_status fb_file_probe(const char *path);

/* The last of these steps for a file that another program made: syncs `from`, renames it to `to`
 * and syncs the folder. On failure `from` is removed. */
enum fb_status fb_file_publish(const char *from, const char *to);

/* Writes all of it, carrying on after short writes and signals; false leaves errno. */
int fb_file_put(int fd, const char *bytes, size_t length);

#endif
