/* SPDX-License-Identifier: BSD-3-Clause
 *
 * simt_split.c: the two-kernel split in plain fp32 CUDA, and the lesson that it is taught with.
 *
 * simt-split walks every tile pair twice, once for dK and dV with the key tile at rest, once for dQ
 * with the query tile at rest: seven GEMMs in the place of five, and no atomic additions. simt-ml
 * does the same from the maximum and the sum of each row's softmax, which its forward leaves behind
 * in the place of their logarithm: p = exp(s - m) / l.
 *
 * Determinism: all three gradients; every sum runs in one order. The main loops are
 * kernels/simt/backward.cuh.
 */
#include "variants/common/simt.h"

static enum fb_status backward(const struct fb_variant *self, struct fb_context *ctx, void *state,
                               const struct fb_args *args)
{
    const struct fb_simt_call call = fb_simt_call_of(self, args);
    enum fb_status status = fb_cuda_run_delta(ctx, args, call.delta);
    (void)state;
    if (status != FB_OK)
        return status;
    ctx->phase(ctx, "dkv");
    status = fb_simt_run(ctx, FB_SIMT_KEYS, &call);
    if (status != FB_OK)
        return status;
    ctx->phase(ctx, "dq");
    return fb_simt_run(ctx, FB_SIMT_QUERIES, &call);
}

static const struct fb_simt_family from_lse = {.keeps_rows = false},
                                   from_rows = {.keeps_rows = true};

#define SHARED                                                                                     \
    .abi_version = FB_ABI_VERSION, .struct_size = sizeof(struct fb_variant), .backend = "simt",    \
    .offer = {FB_SIMT_OFFER}, .why_not = fb_simt_why_not, .sizes = fb_simt_sizes,                  \
    .describe = fb_simt_describe, .forward = fb_simt_forward, .backward = backward

static const struct fb_variant simt_split = {
    .name = "simt-split",
    .summary = "fp32 on any GPU: one kernel for dK and dV, a second for dQ",
    .properties = {.deterministic = FB_DET_ALL,
                   .gemms = 7,
                   .saved_growth = FB_GROWTH_NONE,
                   .workspace_growth = FB_GROWTH_LINEAR},
    .family = &from_lse,
    SHARED,
};

static const struct fb_variant simt_ml = {
    .name = "simt-ml",
    .summary = "fp32 on any GPU: the split, from each row's maximum and sum",
    .properties = {.deterministic = FB_DET_ALL,
                   .gemms = 7,
                   .saved_growth = FB_GROWTH_LINEAR,
                   .workspace_growth = FB_GROWTH_LINEAR},
    .family = &from_rows,
    SHARED,
};

const struct fb_variant *const fb_variants_simt_split[] = {&simt_split, &simt_ml, NULL};
