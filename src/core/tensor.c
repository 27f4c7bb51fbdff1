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

struct fb_tensor fb_tensor_distinct(const struct fb_tensor *tensor)
{
    struct fb_tensor distinct = *tensor;
    for (int i = 0; i < 4; i++)
        if (distinct.stride[i] == 0 && distinct.shape[i] > 1)
            distinct.shape[i] = 1;
    return distinct;
}

struct fb_tensor fb_tensor_dense(const struct fb_tensor *like, void *data)
{
    struct fb_tensor dense = *like;
    int64_t stride = 1;
    dense.data = data;
    for (int i = 3; i >= 0; i--) {
        dense.stride[i] = stride;
        stride *= dense.shape[i];
    }
    return dense;
}
