/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/tensor.h"

int64_t fb_tensor_elements(const struct fb_tensor *t)
{
    return t->shape[0] * t->shape[1] * t->shape[2] * t->shape[3];
}

int64_t fb_tensor_offset(const struct fb_tensor *t, int64_t b, int64_t h, int64_t n, int64_t c)
{
    return b * t->stride[0] + h * t->stride[1] + n * t->stride[2] + c * t->stride[3];
}
