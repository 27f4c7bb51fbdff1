/* SPDX-License-Identifier: BSD-3-Clause
 *
 * hdf5.h: the HDF5 form of results, private to src/store. The layout is described in
 * doc/results-format.md.
 */
#ifndef FB_STORE_HDF5_H
#define FB_STORE_HDF5_H

#include <stdbool.h>

#include "store/results.h"

/* True when the file begins as HDF5 does. FB_IO: cannot be opened; FB_CORRUPT: it is empty. */
enum fb_status fb_hdf5_recognise(const char *path, bool *is_hdf5);

enum fb_status fb_hdf5_read(struct fb_results *results, const char *path);

/* The bytes of the file that holds these results (malloc'd). FB_NO_MEMORY. */
enum fb_status fb_hdf5_image(const struct fb_results *results, char **bytes, size_t *length);

#endif
