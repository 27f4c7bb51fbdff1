/* SPDX-License-Identifier: BSD-3-Clause
 *
 * read.h: an HDF5 file as results. The layout is described in doc/results-format.md.
 */
#ifndef FB_STORE_HDF5_READ_H
#define FB_STORE_HDF5_READ_H

#include <stdbool.h>

#include "store/results.h"

/* True when the file begins as HDF5 does. FB_IO: cannot be opened; FB_CORRUPT: it is empty. */
enum fb_status fb_hdf5_recognise(const char *path, bool *is_hdf5);

enum fb_status fb_hdf5_read(struct fb_results *results, const char *path);

/* "1.10.8": the library this program runs with. Fits any caller for 32 bytes. */
void fb_hdf5_library_version(char text[32]);

#endif
