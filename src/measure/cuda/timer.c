/* SPDX-License-Identifier: BSD-3-Clause
 *
 * timer.c: a span of the stream between two events, and its phases between events of their
 * own. An event is recorded where the host enqueues it, so that a span holds what was enqueued
 * inside it, and gaps in which the host was late.
 */
#include "measure/cuda/timer.h"

#include <cuda_runtime_api.h>

#include "core/status.h"
#include "measure/cuda/status.h"
#include "measure/phases.h"

static struct {
    cudaEvent_t begin, end, mark[FB_PHASE_MARKS];
} events;

/* Events are made once, outside any span. */
static enum fb_status make_events(void)
{
    if (events.begin)
        return FB_OK;
    FB_TRY_CUDA(cudaEventCreate(&events.end), "cudaEventCreate");
    for (int i = 0; i < FB_PHASE_MARKS; i++)
        FB_TRY_CUDA(cudaEventCreate(&events.mark[i]), "cudaEventCreate");
    FB_TRY_CUDA(cudaEventCreate(&events.begin), "cudaEventCreate");
    return FB_OK;
}

static enum fb_status start(struct fb_timer *timer)
{
    FB_TRY(make_events());
    return fb_cuda_status((int)cudaEventRecord(events.begin, timer->own), "cudaEventRecord");
}

static enum fb_status stop(struct fb_timer *timer, double *seconds)
{
    float milliseconds;
    FB_TRY_CUDA(cudaEventRecord(events.end, timer->own), "cudaEventRecord");
    FB_TRY_CUDA(cudaEventSynchronize(events.end), "the device");
    FB_TRY_CUDA(cudaGetLastError(), "a launch"); /* that the variant did not look at */
    FB_TRY_CUDA(cudaEventElapsedTime(&milliseconds, events.begin, events.end),
                "cudaEventElapsedTime");
    *seconds = 1e-3 * (double)milliseconds;
    return FB_OK;
}

struct fb_timer fb_cuda_timer(void *stream)
{
    return (struct fb_timer){.kind = "cuda-event", .start = start, .stop = stop, .own = stream};
}

static void mark_phase(void *stream, int mark)
{
    if (make_events() == FB_OK)
        cudaEventRecord(events.mark[mark], stream);
}

static double seconds_between(int from, int to)
{
    float milliseconds = 0;
    cudaEvent_t end = to < 0 ? events.end : events.mark[to];
    if (cudaEventElapsedTime(&milliseconds, events.mark[from], end) != cudaSuccess)
        cudaGetLastError();
    return 1e-3 * (double)milliseconds;
}

const struct fb_phase_clock fb_cuda_phase_clock = {.mark = mark_phase, .seconds = seconds_between};
