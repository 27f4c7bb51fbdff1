/* SPDX-License-Identifier: BSD-3-Clause
 *
 * cpu_split.c: the two-kernel split that most libraries ship: dK and dV by key tile, then dQ by
 * query tile. Nothing is shared between tasks, so nothing needs an atomic or an order.
 *
 * Differs from cpu-atomic in that S and dP are made twice: 7 GEMMs instead of 5, and no dQ in
 * memory before its last value. Expected at 5/7 of cpu-atomic's speed, less what its atomic
 * additions cost.
 *
 * The two loops are kernels/cpu/kv_major.c (without a policy) and kernels/cpu/q_major.c; budgets
 * there. Tiles of the record: dK, dV round every 64 queries, dQ every 64 keys, where an
 * accumulator other than fp32 is declared.
 *
 * Synchronisation: the end of a parallel region between the passes.
 * Determinism: everything, for any number of threads.
 * Source: the fused-attention tutorial of Triton; FlexAttention.
 */
#include "variants/cpu_common.h"
#include "variants/cpu_two_pass.h"

static enum fb_status sizes(const struct fb_problem *problem, const struct fb_numerics *numerics,
                            size_t *saved, size_t *workspace)
{
    const struct fb_cpu_job job = fb_cpu_job_plan(problem, numerics);
    *saved = 0;
    *workspace = fb_cpu_two_pass_bytes(&job);
    return FB_OK;
}

static enum fb_status backward(struct fb_context *ctx, void *state, const struct fb_args *args)
{
    (void)state;
    enum fb_status status = fb_cpu_ready(ctx);
    if (status != FB_OK)
        return status;
    const struct fb_cpu_job job = fb_cpu_job_call(ctx, args);
    fb_cpu_two_pass_backward(&job, args->workspace);
    return FB_OK;
}

static const struct fb_variant cpu_split = {
    .abi_version = FB_ABI_VERSION,
    .struct_size = sizeof(struct fb_variant),
    .name = "cpu-split",
    .summary = "two kernels: dK and dV by key tile, dQ by query tile",
    .backend = "cpu",
    .properties = {.deterministic = FB_DET_ALL,
                   .gemms = 7,
                   .saved_growth = FB_GROWTH_NONE,
                   .workspace_growth = FB_GROWTH_LINEAR},
    .why_not = fb_cpu_refuse,
    .sizes = sizes,
    .tiles = fb_cpu_two_pass_tiles,
    .forward = fb_cpu_forward_only,
    .backward = backward,
    .accepts = FB_ACCEPT_KEEP,
};

const struct fb_variant *const fb_variants_cpu_split[] = {&cpu_split, NULL};
