/* SPDX-License-Identifier: BSD-3-Clause
 *
 * write.h: results as an HDF5 file. The layout is described in doc/results-format.md.
 */
#ifndef FB_STORE_HDF5_WRITE_H
#define FB_STORE_HDF5_WRITE_H

#include "store/results.h"

/* The bytes of the file that holds these results (malloc'd). FB_NO_MEMORY. */
enum fb_status fb_hdf5_image(const struct fb_results *results, char **bytes, size_t *length);

#endif
