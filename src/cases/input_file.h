/* SPDX-License-Identifier: BSD-3-Clause
 *
 * input_file.h: what a file of inputs that a user saved from a framework must hold, by the recipe
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
#include "store/tensor_file.h"

/* Where values lie. */
struct fb_file_place {
    char *path, *group; /* group points into the memory of path */
    bool bnhd;          /* the order of the dimensions; else bhnd */
};

/* Takes a recipe apart; rest is what stands behind "file:". FB_USAGE. */
enum fb_status fb_input_file_read(struct fb_file_place *place, const char *recipe,
                                  const char *rest);

/* Does the file hold what the problem needs? Reads shapes alone. FB_USAGE names the dataset, its
 * shape and the one that is wanted; FB_IO and FB_CORRUPT the file. */
enum fb_status fb_input_file_check(const struct fb_file_place *place,
                                   const struct fb_problem *problem);

/* The same, and leaves the file open. */
enum fb_status fb_input_file_open(const struct fb_file_place *place,
                                  const struct fb_problem *problem, struct fb_tensor_file **file);

/* What the file calls dout: golden files say "do". */
const char *fb_input_file_dout(const struct fb_tensor_file *file);

#endif
