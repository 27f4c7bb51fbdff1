/* SPDX-License-Identifier: BSD-3-Clause
 *
 * simt.h: what the fp32 CUDA variants share: from arguments to a kernel call, what they
 * offer, the forward.
 */
#ifndef FB_VARIANTS_COMMON_SIMT_H
#define FB_VARIANTS_COMMON_SIMT_H

#include <stdbool.h>

#include "flashback.h"
#include "kernels/simt/simt.h"
#include "variants/common/cuda.h"

/* fb_variant.family */
struct fb_simt_family {
    bool keeps_rows; /* the saved block: each row's maximum, then its sum, as much as delta each */
};

/* Members of struct fb_offer but for head sizes. */
#define FB_SIMT_OFFER                                                                              \
    .masks = FB_MASKS_KNOWN,                                                                       \
    .terms = FB_BIT(FB_TERM_WINDOW) | FB_BIT(FB_TERM_GROUPS) | FB_BIT(FB_TERM_SCALE) |             \
             FB_BIT(FB_TERM_DV),                                                                   \
    .layouts = FB_ANY, .round = FB_ANY

/* The functions of a descriptor: of those that keep tiles in shared memory. */
const char *fb_simt_why_not(const struct fb_variant *self, const struct fb_problem *problem,
                            const struct fb_numerics *numerics);
enum fb_status fb_simt_sizes(const struct fb_variant *self, const struct fb_problem *problem,
                             const struct fb_numerics *numerics, size_t *saved, size_t *workspace);
void fb_simt_describe(const struct fb_variant *self, const struct fb_problem *problem,
                      const struct fb_numerics *numerics, struct fb_description *what);
enum fb_status fb_simt_forward(const struct fb_variant *self, struct fb_context *ctx, void *state,
                               const struct fb_args *args);

/* The call on these arguments, delta at the workspace's start. */
struct fb_simt_call fb_simt_call_of(const struct fb_variant *self, const struct fb_args *args);

/* Bytes of delta, rounded up so that what follows is aligned to 256. */
size_t fb_simt_delta_bytes(const struct fb_problem *problem);

/* One kernel, and what is said of it where it is not taken. */
enum fb_status fb_simt_run(struct fb_context *ctx, enum fb_simt_kernel which,
                           const struct fb_simt_call *call);

#endif
