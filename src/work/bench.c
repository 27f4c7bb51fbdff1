/* SPDX-License-Identifier: BSD-3-Clause */
#include "work/bench.h"

#include <fenv.h>
#include <string.h>

#include "cases/describe.h"
#include "core/problem.h"
#include "core/status.h"
#include "data/footprint.h"
#include "measure/devices.h"
#include "measure/phases.h"
#include "measure/timer.h"

static void mark(const struct fb_bench *bench, enum fb_stage stage)
{
    fb_beacon_set(bench->shared->channel->beacon, (int)bench->index, stage);
}

/* The index stays: when the harness dies on what a call left behind (a torn heap, say), that call
 * is the suspect. Another rounding mode, flushed subnormals or traps that it left behind are taken
 * away from the calling thread, in which judge and neighbours compute; an OpenMP team that both
 * sides share keeps its own. */
static void unmark(const struct fb_bench *bench)
{
    fesetenv(FE_DFL_ENV);
    fb_beacon_set(bench->shared->channel->beacon, (int)bench->index, FB_STAGE_REFERENCE);
}

/* What timing takes of the device's memory beside the case. */
static uint64_t timing_bytes(const struct fb_bench *bench)
{
    const struct fb_measure *m = bench->shared->measure;
    const bool flushed = (m->what & FB_WHAT_SPEED) && m->flush && !m->sustained;
    return (flushed ? bench->device->flush_bytes : 0) +
           (m->what & FB_WHAT_SPEED ? fb_plan_copies(&bench->plan) : 0);
}

/* Is the case taken, and what does it need? A variant that answers without words gets some. */
static enum fb_status ask_variant(struct fb_bench *bench)
{
    const struct fb_problem *problem = &bench->shared->problem;
    const char *why = fb_variant_why_not(bench->variant, problem, &bench->numerics);
    if (why)
        return fb_fail(FB_REFUSED, "%s", *why ? why : "the variant gives no reason");
    enum fb_status status = bench->variant->sizes(bench->variant, problem, &bench->numerics,
                                                  &bench->saved_bytes, &bench->workspace_bytes);
    if (status != FB_OK) { /* where it has left a message of its own, that one stays */
        fb_fail(status, "sizes: the variant returned '%s'", fb_status_name(status));
        return status;
    }
    return fb_describe_kernel(&bench->record, bench->variant, problem, &bench->numerics);
}

enum fb_status fb_bench_ask(struct fb_bench *bench)
{
    const struct fb_problem *problem = &bench->shared->problem;
    mark(bench, FB_STAGE_PREPARE);
    enum fb_status status = ask_variant(bench);
    if (status == FB_OK)
        status = fb_plan_make(&bench->plan, problem, &bench->numerics, bench->variant);
    if (status == FB_OK)
        status = fb_device_open(bench->variant->backend, &bench->device);
    if (status == FB_OK)
        status = fb_plan_check(&bench->plan, bench->device->memory, timing_bytes(bench));
    unmark(bench);
    return status;
}

/* The blocks of two buffers of one problem have the same layout, so that whole blocks can go. */
static enum fb_status copy_inputs(struct fb_bench *bench)
{
    static const enum fb_buffer inputs[] = {FB_BUFFER_Q,    FB_BUFFER_K,    FB_BUFFER_V,
                                            FB_BUFFER_DOUT, FB_BUFFER_DLSE, FB_BUFFER_BIAS,
                                            FB_BUFFER_SINK, FB_BUFFER_ALIBI};
    const struct fb_buffers *from = &bench->shared->inputs;
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        const struct fb_block *to = &bench->buffers.block[inputs[i]];
        if (to->memory)
            FB_TRY(bench->buffers.memory->write(bench->buffers.memory, to->data,
                                                from->block[inputs[i]].data, to->bytes));
    }
    return FB_OK;
}

static enum fb_status prepare(struct fb_bench *bench)
{
    if (!bench->variant->prepare)
        return FB_OK;
    mark(bench, FB_STAGE_PREPARE);
    enum fb_status status = bench->variant->prepare(
        bench->variant, &bench->host.ctx, &bench->problem, &bench->numerics, &bench->state);
    unmark(bench);
    return status == FB_OK ? FB_OK : fb_host_context_fail(&bench->host, status, "prepare");
}

static void open_context(struct fb_bench *bench)
{
    struct fb_device *device = bench->device;
    fb_device_context_init(&bench->host, bench->shared->threads, device->ordinal, device->stream,
                           device->memory);
    fb_phases_reset(&bench->phases);
    bench->phases.clock = device->phases;
    bench->phases.clock_own = device->stream;
    bench->host.phases = &bench->phases;
}

enum fb_status fb_bench_open(struct fb_bench *bench)
{
    const struct fb_buffers_options options = {.saved_bytes = bench->saved_bytes,
                                               .workspace_bytes = bench->workspace_bytes};
    enum fb_status status;
    FB_TRY(fb_problem_copy(&bench->problem, &bench->shared->problem));
    status = fb_buffers_make(&bench->buffers, bench->device->memory, &bench->problem,
                             &bench->numerics, &options);
    if (status != FB_OK) {
        fb_problem_free(&bench->problem);
        return status;
    }
    bench->open = true;
    open_context(bench);
    FB_TRY_OUT(copy_inputs(bench));
    bench->buffers.args.keep = bench->shared->keep;
    FB_TRY_OUT(prepare(bench));
out:
    if (status != FB_OK)
        fb_bench_close(bench);
    return status;
}

void fb_bench_close(struct fb_bench *bench)
{
    if (!bench->open)
        return;
    if (bench->state && bench->variant->release) {
        mark(bench, FB_STAGE_RELEASE);
        bench->variant->release(bench->variant, &bench->host.ctx, bench->state);
        unmark(bench);
    }
    bench->state = NULL;
    fb_host_context_free(&bench->host);
    fb_buffers_free(&bench->buffers);
    fb_problem_free(&bench->problem);
    bench->open = false;
}

enum fb_status fb_bench_forward(struct fb_bench *bench)
{
    mark(bench, FB_STAGE_FORWARD);
    enum fb_status status = bench->variant->forward(bench->variant, &bench->host.ctx, bench->state,
                                                    &bench->buffers.args);
    if (fb_device_is_host(bench->device))
        unmark(bench);
    return status == FB_OK ? FB_OK : fb_host_context_fail(&bench->host, status, "forward");
}

enum fb_status fb_bench_backward(struct fb_bench *bench)
{
    mark(bench, FB_STAGE_BACKWARD);
    enum fb_status status = bench->variant->backward(bench->variant, &bench->host.ctx, bench->state,
                                                     &bench->buffers.args);
    if (fb_device_is_host(bench->device))
        unmark(bench);
    return status == FB_OK ? FB_OK : fb_host_context_fail(&bench->host, status, "backward");
}

enum fb_status fb_bench_wait(struct fb_bench *bench)
{
    enum fb_status status = bench->device->wait(bench->device);
    unmark(bench);
    return status;
}

enum fb_status fb_bench_fetch(struct fb_bench *bench, enum fb_pass pass, struct fb_args *outputs)
{
    if (fb_device_is_host(bench->device)) {
        *outputs = bench->buffers.args;
        return FB_OK;
    }
    FB_TRY(fb_buffers_fetch(&bench->buffers, &bench->shared->inputs, pass));
    *outputs = bench->shared->inputs.args;
    return FB_OK;
}

enum fb_status fb_bench_send(struct fb_bench *bench)
{
    if (!bench->torn) /* else free() may die of what was written */
        fb_bench_close(bench);
    bench->record.wall_s = fb_clock_now() - bench->begun;
    bench->sent = true;
    return fb_channel_send(bench->shared->channel, bench->index, &bench->record);
}

enum fb_status fb_bench_finish(struct fb_bench *bench, enum fb_outcome outcome, const char *reason)
{
    FB_TRY(fb_describe_end(&bench->record, outcome, reason));
    return fb_bench_send(bench);
}

enum fb_status fb_bench_fail(struct fb_bench *bench, enum fb_status status)
{
    char reason[512];
    snprintf(reason, sizeof reason, "%s", fb_status_message());
    fb_status_clear();
    bool refused = status == FB_REFUSED || status == FB_NO_MEMORY;
    bench->torn |= status == FB_DEVICE; /* most errors of a device stay with the process */
    return fb_bench_finish(bench, refused ? FB_OUTCOME_REFUSED : FB_OUTCOME_CRASHED,
                           *reason ? reason : fb_status_name(status));
}
