/* SPDX-License-Identifier: BSD-3-Clause
 *
 * traps_cuda.c: negative controls on a GPU: mistakes that only a device makes possible, or that the
 * harness could overlook only there. `check` must fail them; `check --self-test` holds it to that
 * where there is a device.
 *
 *   trap-cuda-racy-dq      key tiles in parallel add to one dQ without atomics
 *   trap-cuda-no-clear     adds into a dQ that nobody has cleared
 *   trap-cuda-stale        adds to the sums of dQ that the last call left in the workspace
 *   trap-cuda-nothing-ran  enqueues nothing and calls it a success
 *   trap-cuda-launch       a launch of 2048 threads a block, whose error nobody looks at
 */
#include <cuda_runtime_api.h>

#include "kernels/simt/trap.h"
#include "variants/common/simt.h"

/* Of the stale workspace: delta, this much for the mark that says it was used, the sums of dq. */
enum { MARK_BYTES = 256 };

static enum fb_status stale_sizes(const struct fb_variant *self, const struct fb_problem *p,
                                  const struct fb_numerics *numerics, size_t *saved,
                                  size_t *workspace)
{
    const enum fb_status status = fb_simt_sizes(self, p, numerics, saved, workspace);
    *workspace += MARK_BYTES + sizeof(float) * (size_t)(p->b * p->h * p->nq * p->d);
    return status;
}

static void describe(const struct fb_variant *self, const struct fb_problem *problem,
                     const struct fb_numerics *numerics, struct fb_description *what)
{
    (void)self;
    (void)problem;
    (void)numerics;
    what->bm = what->bn = 32;
}

static enum fb_status racy(const struct fb_variant *self, struct fb_context *ctx, void *state,
                           const struct fb_args *args)
{
    const struct fb_problem *p = args->problem;
    const struct fb_simt_call call = fb_simt_call_of(self, args);
    enum fb_status status = fb_cuda_run_delta(ctx, args, call.delta);
    (void)state;
    if (status == FB_OK)
        status = fb_cuda_check(
            ctx, fb_simt_clear(&call.grad_q, p->b, p->h, p->nq, p->d, ctx->stream), "clear dq");
    if (status == FB_OK)
        status = fb_cuda_check(ctx, fb_simt_trap_racy(&call, ctx->stream), "racy dq");
    return status;
}

static enum fb_status no_clear(const struct fb_variant *self, struct fb_context *ctx, void *state,
                               const struct fb_args *args)
{
    const struct fb_simt_call call = fb_simt_call_of(self, args);
    enum fb_status status = fb_cuda_run_delta(ctx, args, call.delta);
    (void)state;
    return status == FB_OK ? fb_simt_run(ctx, FB_SIMT_KEYS_ADD_Q, &call) : status;
}

/* Clears the sums where the workspace looks new, and marks it. */
static int clear_if_new(const struct fb_simt_call *call, void *at, cudaStream_t stream)
{
    static const uint64_t used_before = 0x7573656420627566u;
    uint64_t mark;
    int error = (int)cudaMemcpyAsync(&mark, at, sizeof mark, cudaMemcpyDeviceToHost, stream);
    if (!error)
        error = (int)cudaStreamSynchronize(stream);
    if (!error && mark != used_before)
        error = fb_simt_clear(&call->grad_q, call->b, call->h, call->nq, call->d, stream);
    if (!error)
        error = (int)cudaMemcpyAsync(at, &used_before, sizeof used_before, cudaMemcpyHostToDevice,
                                     stream);
    return error;
}

static int copy_sums(const struct fb_simt_call *call, const struct fb_simt_view *dq,
                     cudaStream_t stream)
{
    const size_t width = sizeof(float) * (size_t)call->d;
    int error = 0;
    for (int64_t i = 0; i < call->b * call->h && call->nq > 0 && !error; i++) {
        const int64_t b = i / call->h, h = i % call->h;
        error = (int)cudaMemcpy2DAsync(dq->data + b * dq->stride[0] + h * dq->stride[1],
                                       sizeof(float) * (size_t)dq->stride[2],
                                       call->grad_q.data + i * call->grad_q.stride[1], width, width,
                                       (size_t)call->nq, cudaMemcpyDeviceToDevice, stream);
    }
    return error;
}

static enum fb_status stale(const struct fb_variant *self, struct fb_context *ctx, void *state,
                            const struct fb_args *args)
{
    struct fb_simt_call call = fb_simt_call_of(self, args);
    const struct fb_simt_view dq = call.grad_q;
    float *mark = call.delta + fb_simt_delta_bytes(args->problem) / sizeof(float);
    enum fb_status status;
    (void)state;
    call.grad_q = (struct fb_simt_view){mark + MARK_BYTES / sizeof(float),
                                        {call.h * call.nq * call.d, call.nq * call.d, call.d}};
    status = fb_cuda_run_delta(ctx, args, call.delta);
    if (status == FB_OK)
        status = fb_cuda_check(ctx, clear_if_new(&call, mark, ctx->stream), "sums that look new");
    if (status == FB_OK)
        status = fb_simt_run(ctx, FB_SIMT_KEYS_ADD_Q, &call);
    if (status == FB_OK)
        status = fb_cuda_check(ctx, copy_sums(&call, &dq, ctx->stream), "dq of the sums");
    return status;
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

static enum fb_status launch(const struct fb_variant *self, struct fb_context *ctx, void *state,
                             const struct fb_args *args)
{
    (void)self;
    (void)state;
    if (args->problem->nq > 0)
        fb_simt_trap_launch(ctx->stream);
    return FB_OK;
}

static const struct fb_simt_family family = {.keeps_rows = false};

#define TRAP(text, line, space, call)                                                              \
    {                                                                                              \
        .abi_version = FB_ABI_VERSION, .struct_size = sizeof(struct fb_variant), .name = text,     \
        .summary = line, .backend = "simt",                                                        \
        .properties = {.deterministic = FB_DET_DK | FB_DET_DV,                                     \
                       .gemms = 5,                                                                 \
                       .workspace_growth = FB_GROWTH_LINEAR,                                       \
                       .role = FB_ROLE_TRAP},                                                      \
        .offer = {FB_SIMT_OFFER, .d = {.most = 64}}, .family = &family,                            \
        .why_not = fb_simt_why_not, .sizes = space, .describe = describe,                          \
        .forward = fb_simt_forward, .backward = call,                                              \
    }

static const struct fb_variant traps[] = {
    TRAP("trap-cuda-racy-dq", "key tiles in parallel add to one dQ without atomics", fb_simt_sizes,
         racy),
    TRAP("trap-cuda-no-clear", "adds into a dQ that nobody has cleared", fb_simt_sizes, no_clear),
    TRAP("trap-cuda-stale", "adds to what the last call left in the workspace", stale_sizes, stale),
    TRAP("trap-cuda-nothing-ran", "enqueues nothing and calls it a success", fb_simt_sizes,
         nothing),
    TRAP("trap-cuda-launch", "2048 threads a block, and nobody looks", fb_simt_sizes, launch),
};

const struct fb_variant *const fb_variants_traps_cuda[] = {&traps[0], &traps[1], &traps[2],
                                                           &traps[3], &traps[4], NULL};
