/* SPDX-License-Identifier: BSD-3-Clause
 *
 * null.c: the variant that does nothing. What the tables show for it is the cost of the harness:
 * the clock, two beacon stores and two indirect calls. It has no gradients, so it is never judged.
 */
#include "flashback.h"

static const char *null_why_not(const struct fb_problem *problem,
                                const struct fb_numerics *numerics)
{
    (void)problem;
    (void)numerics;
    return NULL;
}

static enum fb_status null_sizes(const struct fb_problem *problem,
                                 const struct fb_numerics *numerics, size_t *saved,
                                 size_t *workspace)
{
    (void)problem;
    (void)numerics;
    *saved = *workspace = 0;
    return FB_OK;
}

static enum fb_status null_call(struct fb_context *ctx, void *state, const struct fb_args *args)
{
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
    .properties = {.gemms = 0},
    .why_not = null_why_not,
    .sizes = null_sizes,
    .forward = null_call,
    .backward = null_call,
};

const struct fb_variant *const fb_variants_null[] = {&null_variant, NULL};
