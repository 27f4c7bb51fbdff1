/* SPDX-License-Identifier: BSD-3-Clause
 *
 * tensor.h: where the elements of a strided tensor are.
 */
#ifndef FB_CORE_TENSOR_H
#define FB_CORE_TENSOR_H

#include <stdint.h>

#include "flashback.h"

/* Elements of a tensor, stride-0 dimensions counted in full. */
int64_t fb_tensor_elements(const struct fb_tensor *tensor);
/* Element offset of [b, h, n, c]. */
int64_t fb_tensor_offset(const struct fb_tensor *tensor, int64_t b, int64_t h, int64_t n,
                         int64_t c);

/* The tensor with each of its elements once: dimensions of stride 0 have one index. */
struct fb_tensor fb_tensor_distinct(const struct fb_tensor *tensor);

/* Of the same shape and type, without gaps, at `data`. */
struct fb_tensor fb_tensor_dense(const struct fb_tensor *like, void *data);

#endif
