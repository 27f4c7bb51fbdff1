/* SPDX-License-Identifier: BSD-3-Clause
 *
 * tensor_file.h: tensors that a framework left in an HDF5 file, one dataset each, of any
 * floating-point type (h5py: `f["q"] = q.float().cpu().numpy()`). Which datasets, and of what
 * shape, is the caller's business.
 */
#ifndef FB_STORE_TENSOR_FILE_H
#define FB_STORE_TENSOR_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "flashback.h"

#define FB_TENSOR_FILE_RANK 4

struct fb_tensor_file; /* an open file, at one of its groups */

/* group "": the file itself. FB_IO: cannot be read; FB_CORRUPT: not HDF5; FB_USAGE: no such group.
 */
enum fb_status fb_tensor_file_open(struct fb_tensor_file **file, const char *path,
                                   const char *group);
void fb_tensor_file_close(struct fb_tensor_file *file); /* NULL is fine */

bool fb_tensor_file_has(const struct fb_tensor_file *file, const char *name);

/* Rank and extents of a dataset. FB_USAGE: there is none, it holds no floating-point numbers (or
 * integers, where `integers` is set), or has more than FB_TENSOR_FILE_RANK dimensions. */
enum fb_status fb_tensor_file_shape(const struct fb_tensor_file *file, const char *name,
                                    bool integers, int *rank, int64_t extent[FB_TENSOR_FILE_RANK]);

/* All of it as doubles, malloc'd. */
enum fb_status fb_tensor_file_read(const struct fb_tensor_file *file, const char *name,
                                   double **values);

#endif
