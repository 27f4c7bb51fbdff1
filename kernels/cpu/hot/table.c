/* SPDX-License-Identifier: BSD-3-Clause
 *
 * table.c: the table of one instruction set's hot operations.
 */
#include "kernels/cpu/hot/hot.h"

#define FB_TEXT_OF(token) #token
#define FB_TEXT(token) FB_TEXT_OF(token)

const struct fb_cpu_ops FB_HOT(ops) = {
    .isa = FB_TEXT(FB_ISA),
    .gemm = FB_HOT(gemm),
    .scores = FB_HOT(scores),
    .online = FB_HOT(online),
    .gradient = FB_HOT(gradient),
    .dots = FB_HOT(dots),
    .divide = FB_HOT(divide),
    .load = FB_HOT(load),
    .store = FB_HOT(store),
    .pack = FB_HOT(pack),
    .add = FB_HOT(add),
    .terms = FB_HOT(terms),
    .keep = FB_HOT(keep),
    .multiply = FB_HOT(multiply),
};
