/* SPDX-License-Identifier: BSD-3-Clause
 *
 * cpu_ml.c: cpu-split that saves the row maximum m and the row sum l instead of reading lse, as the
 * raw-CUDA lesson does: p = exp(scale s - m) / l.
 *
 * Differs from cpu-split in one multiplication a score and 8 bytes a row. It cannot cancel against
 * an lse that was rounded, so it refuses lse=bf16; whether p is more accurate is the question the
 * variant is for (lse = m + ln l costs one rounding of a number near ln n).
 *
 * The saved block: m, then l, fp32, one a query row each. o and lse are written as by everybody.
 *
 * Synchronisation, budgets and determinism: as cpu-split.
 */
#include "variants/cpu_common.h"
#include "variants/cpu_two_pass.h"

static const char *why_not(const struct fb_problem *problem, const struct fb_numerics *numerics)
{
    if (numerics->lse != FB_LSE_FP32)
        return "lse=bf16 means nothing here: m and l are read instead";
    return fb_cpu_refuse(problem, numerics);
}

static size_t rows_of(const struct fb_cpu_job *job)
{
    return (size_t)fb_cpu_lines(job);
}

static enum fb_status sizes(const struct fb_problem *problem, const struct fb_numerics *numerics,
                            size_t *saved, size_t *workspace)
{
    struct fb_cpu_job job = fb_cpu_job_plan(problem, numerics);
    float present; /* planning asks only whether m and l are there */
    job.row_max = job.row_sum = &present;
    *saved = 2 * rows_of(&job) * sizeof(float);
    *workspace = fb_cpu_two_pass_bytes(&job);
    return FB_OK;
}

static struct fb_cpu_job job_with_rows(struct fb_context *ctx, const struct fb_args *args)
{
    struct fb_cpu_job job = fb_cpu_job_call(ctx, args);
    job.row_max = args->saved;
    job.row_sum = job.row_max + rows_of(&job);
    return job;
}

static enum fb_status forward(struct fb_context *ctx, void *state, const struct fb_args *args)
{
    (void)state;
    enum fb_status status = fb_cpu_ready(ctx);
    if (status != FB_OK)
        return status;
    const struct fb_cpu_job job = job_with_rows(ctx, args);
    fb_cpu_forward_job(&job, args->workspace);
    return FB_OK;
}

static enum fb_status backward(struct fb_context *ctx, void *state, const struct fb_args *args)
{
    (void)state;
    enum fb_status status = fb_cpu_ready(ctx);
    if (status != FB_OK)
        return status;
    const struct fb_cpu_job job = job_with_rows(ctx, args);
    fb_cpu_two_pass_backward(&job, args->workspace);
    return FB_OK;
}

static const struct fb_variant cpu_ml = {
    .abi_version = FB_ABI_VERSION,
    .struct_size = sizeof(struct fb_variant),
    .name = "cpu-ml",
    .summary = "cpu-split that saves row maximum and sum instead of reading lse",
    .backend = "cpu",
    .properties = {.deterministic = FB_DET_ALL,
                   .gemms = 7,
                   .saved_growth = FB_GROWTH_LINEAR,
                   .workspace_growth = FB_GROWTH_LINEAR},
    .why_not = why_not,
    .sizes = sizes,
    .tiles = fb_cpu_two_pass_tiles,
    .forward = forward,
    .backward = backward,
    .accepts = FB_ACCEPT_KEEP,
};

const struct fb_variant *const fb_variants_cpu_ml[] = {&cpu_ml, NULL};
