/* SPDX-License-Identifier: BSD-3-Clause
 *
 * layout.h: shape and strides of every tensor of a problem, before any memory exists. Private to
 * src/measure.
 */
#ifndef FB_MEASURE_LAYOUT_H
#define FB_MEASURE_LAYOUT_H

#include <stdint.h>

#include "measure/buffers.h"

/* Fills args' tensors (data stays NULL) and the places. An absent tensor has shape all 0 and no
 * bytes. FB_REFUSED when a size does not fit 63 bits. */
enum fb_status fb_layout_make(struct fb_args *args, struct fb_place place[FB_BUFFER_COUNT],
                              const struct fb_problem *problem, int64_t row_gap);

/* The tensor of args a buffer holds; NULL for saved and workspace. */
struct fb_tensor *fb_layout_tensor(struct fb_args *args, enum fb_buffer buffer);

#endif
