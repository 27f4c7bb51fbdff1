/* SPDX-License-Identifier: BSD-3-Clause
 *
 * fill_file.h: the values of a file of inputs (cases/input_file.h).
 */
#ifndef FB_WORK_FILL_FILE_H
#define FB_WORK_FILL_FILE_H

#include "cases/source.h"

/* Rounds the file's values into the tensors of args. keep: the mask, malloc'd, or NULL where the
 * file has none. FB_REFUSED names a value that is not finite or beyond the problem's dtype. */
enum fb_status fb_fill_from_file(const struct fb_source *source, const struct fb_args *args,
                                 uint8_t **keep);

#endif
