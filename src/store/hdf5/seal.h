/* SPDX-License-Identifier: BSD-3-Clause
 *
 * seal.h: a checksum behind the end of an HDF5 file, where the library does not look: "\n" followed
 * by "flashback-crc32 xxxxxxxx\n". It tells a flipped bit anywhere in the file before the library
 * is led astray by it (1.10.8 reads past its buffers in damaged metadata).
 */
#ifndef FB_STORE_HDF5_SEAL_H
#define FB_STORE_HDF5_SEAL_H

#include <stdbool.h>
#include <stddef.h>

#include "flashback.h"

/* Appends the seal of *bytes (malloc'd, may move). FB_NO_MEMORY. */
enum fb_status fb_seal_append(char **bytes, size_t *length);

/* FB_CORRUPT when the file has a seal that its bytes do not match. A file without one (another
 * program rewrote it) passes; *sealed tells. */
enum fb_status fb_seal_check(const char *path, bool *sealed);

#endif
