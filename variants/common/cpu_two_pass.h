/* SPDX-License-Identifier: BSD-3-Clause
 *
 * cpu_two_pass.h: the frame of cpu-split and cpu-ml: dK and dV by key tile, then dQ by query tile.
 * What tells the two apart is whether the rows' maxima and sums are kept from the forward.
 */
#ifndef FB_VARIANTS_COMMON_CPU_TWO_PASS_H
#define FB_VARIANTS_COMMON_CPU_TWO_PASS_H

#include "flashback.h"
#include "variants/common/cpu.h"

/* fb_variant.family */
struct fb_cpu_two_pass {
    bool keeps_rows; /* the saved block: m, then l, fp32, one a query row each */
};

/* The functions of a descriptor. */
enum fb_status fb_cpu_two_pass_sizes(const struct fb_variant *self,
                                     const struct fb_problem *problem,
                                     const struct fb_numerics *numerics, size_t *saved,
                                     size_t *workspace);
void fb_cpu_two_pass_describe(const struct fb_variant *self, const struct fb_problem *problem,
                              const struct fb_numerics *numerics, struct fb_description *what);
enum fb_status fb_cpu_two_pass_forward(const struct fb_variant *self, struct fb_context *ctx,
                                       void *state, const struct fb_args *args);
enum fb_status fb_cpu_two_pass_backward(const struct fb_variant *self, struct fb_context *ctx,
                                        void *state, const struct fb_args *args);

#endif
