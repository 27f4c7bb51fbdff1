/* SPDX-License-Identifier: BSD-3-Clause
 *
 * cpu_naive.c: the materialised baseline in two modes: cpu-naive keeps P from the forward, as
 * autograd does with a softmax in plain operators; cpu-naive-recompute makes it again from lse, as
 * activation checkpointing does, and has it in the workspace.
 *
 * kernels/cpu/naive.c does the work: BLAS GEMMs on whole matrices, softmax and its gradient as one
 * pass each. P is saved in the type that ps declares: the problem's dtype, or fp32 with ps=fp32 or
 * a bias. cpu-naive reads no lse in its backward and therefore refuses lse=bf16; sums are the
 * BLAS's, hence fp32 accumulators alone.
 *
 * Memory: saved 2 or 4 bytes n^2 a head (cpu-naive), and 4 more with a softcap; workspace 8 bytes
 * n^2 a thread, and 4 more each with dropout and with a softcap. Deterministic. Source: the
 * attention of every framework before fused kernels.
 */
#include "kernels/cpu/naive.h"

#include "kernels/cpu/blas.h"
#include "variants/common/cpu.h"

/* fb_variant.family */
struct mode {
    bool keeps_p;
};

static const char *why_not(const struct fb_variant *self, const struct fb_problem *p,
                           const struct fb_numerics *n)
{
    (void)self;
    (void)n;
    return fb_cpu_blas_refuse(p->nq, p->nk);
}

static enum fb_status sizes(const struct fb_variant *self, const struct fb_problem *problem,
                            const struct fb_numerics *numerics, size_t *saved, size_t *workspace)
{
    const struct mode *mode = self->family;
    const struct fb_cpu_job job = fb_cpu_job_plan(problem, numerics);
    struct fb_cpu_arena arena = {0};
    struct fb_cpu_naive naive;
    fb_cpu_naive_layout(&arena, &job, NULL, &naive);
    *saved = mode->keeps_p ? fb_cpu_naive_saved(&job) : 0;
    *workspace = arena.used;
    return FB_OK;
}

static enum fb_status run(const struct fb_variant *self, struct fb_context *ctx,
                          const struct fb_args *args, void (*pass)(struct fb_cpu_naive *))
{
    const struct mode *mode = self->family;
    enum fb_status status = fb_cpu_ready(ctx);
    if (status != FB_OK)
        return status;
    const struct fb_cpu_job job = fb_cpu_job_call(ctx, args);
    struct fb_cpu_arena arena = {.base = args->workspace};
    struct fb_cpu_naive naive;
    fb_cpu_naive_layout(&arena, &job, mode->keeps_p ? args->saved : NULL, &naive);
    pass(&naive);
    return FB_OK;
}

static enum fb_status forward(const struct fb_variant *self, struct fb_context *ctx, void *state,
                              const struct fb_args *args)
{
    (void)state;
    return run(self, ctx, args, fb_cpu_naive_forward);
}

static enum fb_status backward(const struct fb_variant *self, struct fb_context *ctx, void *state,
                               const struct fb_args *args)
{
    (void)state;
    return run(self, ctx, args, fb_cpu_naive_backward);
}

static const struct mode kept = {.keeps_p = true}, again = {.keeps_p = false};

static const struct fb_variant cpu_naive = {
    .abi_version = FB_ABI_VERSION,
    .struct_size = sizeof(struct fb_variant),
    .name = "cpu-naive",
    .summary = "materialised: BLAS GEMMs, P kept from the forward",
    .backend = "cpu",
    .properties = {.deterministic = FB_DET_ALL,
                   .gemms = 4,
                   .saved_growth = FB_GROWTH_QUADRATIC,
                   .workspace_growth = FB_GROWTH_QUADRATIC},
    .offer = {FB_CPU_ANY_PROBLEM, .ps = FB_ANY, .delta = FB_ANY, .round = FB_ANY},
    .family = &kept,
    .why_not = why_not,
    .sizes = sizes,
    .forward = forward,
    .backward = backward,
};

static const struct fb_variant cpu_naive_recompute = {
    .abi_version = FB_ABI_VERSION,
    .struct_size = sizeof(struct fb_variant),
    .name = "cpu-naive-recompute",
    .summary = "materialised: BLAS GEMMs, P made again in the workspace",
    .backend = "cpu",
    .properties = {.deterministic = FB_DET_ALL,
                   .gemms = 5,
                   .saved_growth = FB_GROWTH_NONE,
                   .workspace_growth = FB_GROWTH_QUADRATIC},
    .offer = {FB_CPU_ANY_PROBLEM, .ps = FB_ANY, .delta = FB_ANY, .lse = FB_ANY, .round = FB_ANY},
    .family = &again,
    .why_not = why_not,
    .sizes = sizes,
    .forward = forward,
    .backward = backward,
};

const struct fb_variant *const fb_variants_cpu_naive[] = {&cpu_naive, &cpu_naive_recompute, NULL};
