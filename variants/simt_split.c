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
#include "variants/simt_common.h"

static enum fb_status split_sizes(const struct fb_problem *problem,
                                  const struct fb_numerics *numerics, size_t *saved,
                                  size_t *workspace)
{
    (void)numerics;
    *saved = 0;
    *workspace = fb_simt_delta_bytes(problem);
    return FB_OK;
}

static enum fb_status run_backward(struct fb_context *ctx, const struct fb_args *args,
                                   const struct fb_simt_call *call)
{
    enum fb_status status = fb_cuda_run_delta(ctx, args, call->delta);
    if (status != FB_OK)
        return status;
    ctx->phase(ctx, "dkv");
    status = fb_simt_run(ctx, FB_SIMT_KEYS, call);
    if (status != FB_OK)
        return status;
    ctx->phase(ctx, "dq");
    return fb_simt_run(ctx, FB_SIMT_QUERIES, call);
}

static enum fb_status split_backward(struct fb_context *ctx, void *state,
                                     const struct fb_args *args)
{
    const struct fb_simt_call call = fb_simt_call_of(args);
    (void)state;
    return run_backward(ctx, args, &call);
}

/* ---- With maximum and sum -----------------------------------------------------------------------
 */

/* Two rows of floats of delta's size. */
static enum fb_status ml_sizes(const struct fb_problem *problem, const struct fb_numerics *numerics,
                               size_t *saved, size_t *workspace)
{
    (void)numerics;
    *saved = 2 * fb_simt_delta_bytes(problem);
    *workspace = fb_simt_delta_bytes(problem);
    return FB_OK;
}

static struct fb_simt_call ml_call(const struct fb_args *args)
{
    struct fb_simt_call call = fb_simt_call_of(args);
    call.row_max = args->saved;
    call.row_sum = call.row_max + fb_simt_delta_bytes(args->problem) / sizeof(float);
    return call;
}

static enum fb_status ml_forward(struct fb_context *ctx, void *state, const struct fb_args *args)
{
    const struct fb_simt_call call = ml_call(args);
    (void)state;
    return fb_simt_run(ctx, FB_SIMT_FORWARD, &call);
}

static enum fb_status ml_backward(struct fb_context *ctx, void *state, const struct fb_args *args)
{
    const struct fb_simt_call call = ml_call(args);
    (void)state;
    return run_backward(ctx, args, &call);
}

static const struct fb_variant simt_split = {
    .abi_version = FB_ABI_VERSION,
    .struct_size = sizeof(struct fb_variant),
    .name = "simt-split",
    .summary = "fp32 on any GPU: one kernel for dK and dV, a second for dQ",
    .backend = "simt",
    .properties = {.deterministic = FB_DET_ALL,
                   .gemms = 7,
                   .saved_growth = FB_GROWTH_NONE,
                   .workspace_growth = FB_GROWTH_LINEAR},
    .why_not = fb_simt_refuse_tiled,
    .sizes = split_sizes,
    .tiles = fb_simt_tiles,
    .forward = fb_simt_forward,
    .backward = split_backward,
};

static const struct fb_variant simt_ml = {
    .abi_version = FB_ABI_VERSION,
    .struct_size = sizeof(struct fb_variant),
    .name = "simt-ml",
    .summary = "fp32 on any GPU: the split, from each row's maximum and sum",
    .backend = "simt",
    .properties = {.deterministic = FB_DET_ALL,
                   .gemms = 7,
                   .saved_growth = FB_GROWTH_LINEAR,
                   .workspace_growth = FB_GROWTH_LINEAR},
    .why_not = fb_simt_refuse_tiled,
    .sizes = ml_sizes,
    .tiles = fb_simt_tiles,
    .forward = ml_forward,
    .backward = ml_backward,
};

const struct fb_variant *const fb_variants_simt_split[] = {&simt_split, &simt_ml, NULL};
