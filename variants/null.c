/* SPDX-License-Identifier: BSD-3-Clause
 *
 * null.c: the variant that does nothing. What the tables show for it is the cost of the harness:
 * the clock, two beacon stores and two indirect calls. It has no gradients, so it is never judged.
 */
#include "variants/common/cpu.h"

static enum fb_status no_bytes(const struct fb_variant *self, const struct fb_problem *problem,
                               const struct fb_numerics *numerics, size_t *saved, size_t *workspace)
{
    (void)self;
    (void)problem;
    (void)numerics;
    *saved = *workspace = 0;
    return FB_OK;
}

static enum fb_status nothing(const struct fb_variant *self, struct fb_context *ctx, void *state,
                              const struct fb_args *args)
{
    (void)self;
    (void)ctx;
    (void)state;
    (void)args;
    return FB_OK;
}

static const struct fb_variant null_variant = {
    .abi_version = FB_ABI_VERSION,
    .struct_size = sizeof(struct fb_variant),
    .name = "null",
    .summary = "does nothing: the cost of the harness itself",
    .backend = "cpu",
    .properties = {.gemms = 0, .role = FB_ROLE_IDLE},
    .offer = {.dtypes = FB_ANY,
              .masks = FB_MASKS_KNOWN,
              .terms = FB_TERMS_KNOWN & ~FB_BIT(FB_TERM_KEEP),
              .biases = FB_ANY,
              .layouts = FB_ANY,
              FB_CPU_ANY_NUMERICS},
    .sizes = no_bytes,
    .forward = nothing,
    .backward = nothing,
};

const struct fb_variant *const fb_variants_null[] = {&null_variant, NULL};
