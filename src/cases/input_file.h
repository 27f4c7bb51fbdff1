/* SPDX-License-Identifier: BSD-3-Clause
 *
 * input_file.h: inputs that a user saved from a framework, by the recipe
 *
 *     file:PATH[#GROUP][@LAYOUT]        file:x.h5   file:run3.h5#layer7@bnhd
 *
 * The HDF5 file (or a group in it) holds q, k, v and dout as datasets of any floating-point type,
 * and dlse, bias, sink where the problem has them; keep, [b, h, nq, nk], where it has dropout and
 * the mask is to be that of the file. LAYOUT says in what order their dimensions stand: bhnd (the
 * default) or bnhd. A batch of one may be left out, as it is with packed lengths, where the rows of
 * all sequences stand behind one another. bias is always [b or 1, h or 1, nq, nk] and sink [h].
 */
#ifndef FB_CASES_INPUT_FILE_H
#define FB_CASES_INPUT_FILE_H

#include <stdbool.h>

#include "flashback.h"

bool fb_input_file_is_recipe(const char *recipe);

/* Does the file hold what the problem needs? Reads shapes alone. FB_USAGE names the dataset, its
 * shape and the one that is wanted; FB_IO and FB_CORRUPT the file. */
enum fb_status fb_input_file_check(const char *recipe, const struct fb_problem *problem);

/* Rounds the file's values into the tensors of args. keep: the mask, malloc'd, or NULL where the
 * file has none. FB_REFUSED names a value that is not finite or beyond the problem's dtype. */
enum fb_status fb_input_file_fill(const char *recipe, const struct fb_args *args, uint8_t **keep);

#endif
