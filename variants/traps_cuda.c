/* SPDX-License-Identifier: BSD-3-Clause
 *
 * traps_cuda.c: negative controls on a GPU: mistakes that only a device makes possible, or that the
 * harness could overlook only there. `check` must fail them; `check --self-test` holds it to that
 * where there is a device.
 *
 *   trap-cuda-racy-dq      key tiles in parallel add to one dQ without atomics
 *   trap-cuda-no-clear     adds into a dQ that nobody has cleared
 *   trap-cuda-nothing-ran  enqueues nothing and calls it a success
 *   trap-cuda-launch       a launch of 2048 threads a block, whose error nobody looks at
 */
#include "kernels/cuda/simt_trap.h"
#include "variants/simt_common.h"

static const char *why_not(const struct fb_problem *p, const struct fb_numerics *n)
{
    const char *reason = fb_simt_refuse_tiled(p, n);
    return reason ? reason : p->d > 64 || p->dv > 64 ? "no head sizes beyond 64" : NULL;
}

static enum fb_status sizes(const struct fb_problem *problem, const struct fb_numerics *numerics,
                            size_t *saved, size_t *workspace)
{
    (void)numerics;
    *saved = 0;
    *workspace = fb_simt_delta_bytes(problem);
    return FB_OK;
}

static void tiles(const struct fb_problem *problem, const struct fb_numerics *numerics, int64_t *bm,
                  int64_t *bn)
{
    (void)problem;
    (void)numerics;
    *bm = *bn = 32;
}

static enum fb_status racy(struct fb_context *ctx, void *state, const struct fb_args *args)
{
    const struct fb_problem *p = args->problem;
    const struct fb_simt_call call = fb_simt_call_of(args);
    enum fb_status status = fb_cuda_run_delta(ctx, args, call.delta);
    (void)state;
    if (status == FB_OK)
        status = fb_cuda_check(
            ctx, fb_simt_clear(&call.grad_q, p->b, p->h, p->nq, p->d, ctx->stream), "clear dq");
    if (status == FB_OK)
        status = fb_cuda_check(ctx, fb_simt_trap_racy(&call, ctx->stream), "racy dq");
    return status;
}

static enum fb_status no_clear(struct fb_context *ctx, void *state, const struct fb_args *args)
{
    const struct fb_simt_call call = fb_simt_call_of(args);
    enum fb_status status = fb_cuda_run_delta(ctx, args, call.delta);
    (void)state;
    return status == FB_OK ? fb_simt_run(ctx, FB_SIMT_KEYS_ADD_Q, &call) : status;
}

static enum fb_status nothing(struct fb_context *ctx, void *state, const struct fb_args *args)
{
    (void)ctx;
    (void)state;
    (void)args;
    return FB_OK;
}

static enum fb_status launch(struct fb_context *ctx, void *state, const struct fb_args *args)
{
    (void)state;
    if (args->problem->nq > 0)
        fb_simt_trap_launch(ctx->stream);
    return FB_OK;
}

#define TRAP(id, text, line, call)                                                                 \
    static const struct fb_variant id = {                                                          \
        .abi_version = FB_ABI_VERSION,                                                             \
        .struct_size = sizeof(struct fb_variant),                                                  \
        .name = text,                                                                              \
        .summary = line,                                                                           \
        .backend = "simt",                                                                         \
        .properties = {.deterministic = FB_DET_DK | FB_DET_DV,                                     \
                       .gemms = 5,                                                                 \
                       .workspace_growth = FB_GROWTH_LINEAR},                                      \
        .why_not = why_not,                                                                        \
        .sizes = sizes,                                                                            \
        .tiles = tiles,                                                                            \
        .forward = fb_simt_forward,                                                                \
        .backward = call,                                                                          \
    }

TRAP(racy_dq, "trap-cuda-racy-dq", "key tiles in parallel add to one dQ without atomics", racy);
TRAP(uncleared, "trap-cuda-no-clear", "adds into a dQ that nobody has cleared", no_clear);
TRAP(nothing_ran, "trap-cuda-nothing-ran", "enqueues nothing and calls it a success", nothing);
TRAP(bad_launch, "trap-cuda-launch", "2048 threads a block, and nobody looks", launch);

const struct fb_variant *const fb_variants_traps_cuda[] = {&racy_dq, &uncleared, &nothing_ran,
                                                           &bad_launch, NULL};
