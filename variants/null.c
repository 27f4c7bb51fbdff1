/* SPDX-License-Identifier: BSD-3-Clause
 *
 * null.c: does nothing, at once. What it is measured at is the cost of the harness itself: the
 * span around a call, the phases, the loop. It accepts every problem and leaves all outputs as they
 * are, so its gradients are wrong and `check` says so; time it with the check overridden.
 *
 * Idea: the DUMMY back end of the IOR benchmark. Determinism: it leaves outputs alone and claims
 * none.
 */
#include "flashback.h"

static const char *why_not(const struct fb_problem *problem, const struct fb_numerics *numerics)
{
    (void)problem;
    (void)numerics;
    return NULL;
}

static enum fb_status sizes(const struct fb_problem *problem, const struct fb_numerics *numerics,
                            size_t *saved, size_t *workspace)
{
    (void)problem;
    (void)numerics;
    *saved = *workspace = 0;
    return FB_OK;
}

static enum fb_status nothing(struct fb_context *ctx, void *state, const struct fb_args *args)
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
    .properties = {.deterministic = 0, .gemms = 0},
    .why_not = why_not,
    .sizes = sizes,
    .forward = nothing,
    .backward = nothing,
};

const struct fb_variant *const fb_variants_null[] = {&null_variant, NULL};
