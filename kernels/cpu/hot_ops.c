/* SPDX-License-Identifier: BSD-3-Clause
 *
 * hot_ops.c: the table of one instruction set's hot operations.
 */
#include "kernels/cpu/lanes.h"
#include "kernels/cpu/ops.h"

#define FB_TEXT_OF(token) #token
#define FB_TEXT(token) FB_TEXT_OF(token)

void FB_HOT(gemm)(const struct fb_cpu_gemm *);
void FB_HOT(scores)(const struct fb_cpu_scores *);
void FB_HOT(online)(const struct fb_cpu_online *);
void FB_HOT(dots)(float *, const float *, const float *, int64_t, int64_t, int64_t, bool);
void FB_HOT(divide)(float *, int64_t, const float *, int64_t);
void FB_HOT(load)(float *, int64_t, const void *, enum fb_cpu_type, int64_t, int64_t, int64_t);
void FB_HOT(store)(void *, enum fb_cpu_type, int64_t, const float *, int64_t, int64_t, int64_t,
                   float);
void FB_HOT(pack)(float *, const float *, int64_t, int64_t, int64_t);
void FB_HOT(add)(float *, int64_t, const float *, int64_t, int64_t, int64_t);

extern const struct fb_cpu_ops FB_HOT(ops);

const struct fb_cpu_ops FB_HOT(ops) = {
    .isa = FB_TEXT(FB_ISA),
    .gemm = FB_HOT(gemm),
    .scores = FB_HOT(scores),
    .online = FB_HOT(online),
    .dots = FB_HOT(dots),
    .divide = FB_HOT(divide),
    .load = FB_HOT(load),
    .store = FB_HOT(store),
    .pack = FB_HOT(pack),
    .add = FB_HOT(add),
};
