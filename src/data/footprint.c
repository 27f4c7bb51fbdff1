/* SPDX-License-Identifier: BSD-3-Clause
 *
 * footprint.c: what a case will allocate, before anything is.
 */
#include "data/footprint.h"

#include <string.h>

#include "core/status.h"
#include "data/layout.h"

#define GIB (1024.0 * 1024.0 * 1024.0)

static void add(uint64_t *sum, const struct fb_place *place, const enum fb_buffer *buffers,
                size_t count)
{
    for (size_t i = 0; i < count; i++)
        *sum += place[buffers[i]].bytes;
}

enum fb_status fb_plan_make(struct fb_plan *plan, const struct fb_problem *problem,
                            const struct fb_numerics *numerics, const struct fb_variant *variant)
{
    static const enum fb_buffer inputs[] = {FB_BUFFER_Q,    FB_BUFFER_K,    FB_BUFFER_V,
                                            FB_BUFFER_DOUT, FB_BUFFER_DLSE, FB_BUFFER_BIAS,
                                            FB_BUFFER_SINK, FB_BUFFER_ALIBI};
    static const enum fb_buffer forward[] = {FB_BUFFER_O, FB_BUFFER_LSE};
    static const enum fb_buffer outputs[] = {FB_BUFFER_DQ, FB_BUFFER_DK, FB_BUFFER_DV,
                                             FB_BUFFER_DBIAS, FB_BUFFER_DSINK};
    struct fb_place place[FB_BUFFER_COUNT];
    struct fb_args args;
    size_t saved = 0, workspace = 0;
    memset(plan, 0, sizeof *plan);
    memset(&args, 0, sizeof args);
    FB_TRY(fb_layout_make(&args, place, problem, 0));
    if (variant)
        FB_TRY(variant->sizes(variant, problem, numerics, &saved, &workspace));
    add(&plan->inputs, place, inputs, sizeof inputs / sizeof *inputs);
    add(&plan->forward, place, forward, sizeof forward / sizeof *forward);
    add(&plan->outputs, place, outputs, sizeof outputs / sizeof *outputs);
    plan->saved = saved;
    plan->workspace = workspace;
    plan->total = plan->inputs + plan->forward + plan->outputs;
    if (__builtin_add_overflow(plan->total, plan->saved, &plan->total) ||
        __builtin_add_overflow(plan->total, plan->workspace, &plan->total))
        return fb_fail(FB_REFUSED, "needs more than %.0f GiB", (double)UINT64_MAX / GIB);
    return FB_OK;
}

enum fb_status fb_plan_check(const struct fb_plan *plan, const struct fb_memory *memory,
                             uint64_t extra)
{
    uint64_t available = memory->available(memory);
    double need = ((double)plan->total + (double)extra) / GIB;
    if (!available || need <= (double)available / GIB)
        return FB_OK;
    return fb_fail(
        FB_REFUSED, "needs %.1f GiB (saved %.1f, workspace %.1f), %.1f GiB are available", need,
        (double)plan->saved / GIB, (double)plan->workspace / GIB, (double)available / GIB);
}
