/* SPDX-License-Identifier: BSD-3-Clause
 *
 * simt_atomic.c: FlashAttention-2's backward (Dao 2023) in plain fp32 CUDA, on any device: key
 * tiles in parallel, dK and dV in registers, dQ by atomic additions. The main loop is
 * kernels/simt/backward.cuh.
 *
 * The tensors are fp32, so dQ is added into where it belongs: there is no accumulator to convert
 * and no workspace but delta.
 *
 * Determinism: dK and dV. dQ is not: with three or more key tiles the order of additions, and so
 * the last bits, change from run to run.
 */
#include "variants/common/simt.h"

static enum fb_status backward(const struct fb_variant *self, struct fb_context *ctx, void *state,
                               const struct fb_args *args)
{
    const struct fb_problem *p = args->problem;
    const struct fb_simt_call call = fb_simt_call_of(self, args);
    enum fb_status status = fb_cuda_run_delta(ctx, args, call.delta);
    (void)state;
    if (status != FB_OK)
        return status;
    ctx->phase(ctx, "clear");
    status = fb_cuda_check(ctx, fb_simt_clear(&call.grad_q, p->b, p->h, p->nq, p->d, ctx->stream),
                           "clear dq");
    if (status != FB_OK)
        return status;
    ctx->phase(ctx, "main");
    return fb_simt_run(ctx, FB_SIMT_KEYS_ADD_Q, &call);
}

static const struct fb_simt_family family = {.keeps_rows = false};

static const struct fb_variant simt_atomic = {
    .abi_version = FB_ABI_VERSION,
    .struct_size = sizeof(struct fb_variant),
    .name = "simt-atomic",
    .summary = "fp32 on any GPU: key tiles in parallel, atomic additions into one dQ",
    .backend = "simt",
    .properties = {.deterministic = FB_DET_DK | FB_DET_DV,
                   .gemms = 5,
                   .saved_growth = FB_GROWTH_NONE,
                   .workspace_growth = FB_GROWTH_LINEAR},
    .offer = {FB_SIMT_OFFER},
    .family = &family,
    .why_not = fb_simt_why_not,
    .sizes = fb_simt_sizes,
    .describe = fb_simt_describe,
    .forward = fb_simt_forward,
    .backward = backward,
};

const struct fb_variant *const fb_variants_simt_atomic[] = {&simt_atomic, NULL};
