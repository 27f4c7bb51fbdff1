/* SPDX-License-Identifier: BSD-3-Clause
 *
 * device.c: opens the CUDA device: context, stream, timer, flush buffer, meter.
 */
#include "measure/cuda/device.h"

#include <cuda_runtime_api.h>

#include "core/status.h"
#include "kernels/cuda/device.h"
#include "measure/cuda/ceilings.h"
#include "measure/cuda/memory.h"
#include "measure/cuda/rival.h"
#include "measure/cuda/status.h"
#include "measure/cuda/timer.h"
#include "measure/device.h"
#include "measure/nvml.h"

static struct fb_memory memory;
static struct fb_flush flush;
static struct fb_ceilings ceilings[FB_FP16 + 1];

static enum fb_status wait(struct fb_device *device)
{
    FB_TRY_CUDA(cudaStreamSynchronize(device->stream), "the device");
    return fb_cuda_status((int)cudaGetLastError(), "a launch"); /* nobody has looked at */
}

/* ---- Flush --------------------------------------------------------------------------------------
 */

/* Enqueued, not waited for: while it runs, the host enqueues the span behind it, so that the time
 * of launches does not stand in front of the first kernel. */
static void run_flush(struct fb_flush *f)
{
    cudaMemsetAsync(f->data, 0, f->bytes, f->own); /* a fault shows at the end of the span */
}

/* Writing four times the L2 leaves nothing else in it, and takes some 0.1 ms. */
static size_t flush_bytes(void)
{
    const size_t least = (size_t)64 << 20, bytes = 4 * fb_cuda_device()->l2_bytes;
    return bytes > least ? bytes : least;
}

static enum fb_status get_flush(struct fb_device *device, struct fb_flush **out)
{
    void *data;
    *out = &flush;
    if (flush.data)
        return FB_OK;
    FB_TRY(memory.alloc(&memory, flush_bytes(), &data));
    flush = (struct fb_flush){.data = data,
                              .bytes = flush_bytes(),
                              .run = run_flush,
                              .queued = true,
                              .own = device->stream};
    device->flush_bytes = 0;
    return FB_OK;
}

/* ---- Opening ------------------------------------------------------------------------------------
 */

static enum fb_status get_ceilings(struct fb_device *device, enum fb_dtype dtype, int threads,
                                   const struct fb_ceilings **out)
{
    if (!ceilings[dtype].gemm)
        FB_TRY(fb_cuda_ceilings(device->stream, dtype, &ceilings[dtype]));
    ceilings[dtype].threads = threads;
    *out = &ceilings[dtype];
    return FB_OK;
}

static enum fb_status get_probe(struct fb_device *device, enum fb_dtype dtype, int threads,
                                struct fb_gemm_probe *probe)
{
    (void)threads;
    return fb_cuda_probe(device->stream, dtype, probe);
}

static struct fb_device device = {.kind = "cuda",
                                  .memory = &memory,
                                  .phases = &fb_cuda_phase_clock,
                                  .wait = wait,
                                  .flush = get_flush,
                                  .ceilings = get_ceilings,
                                  .probe = get_probe,
                                  .rival = fb_cuda_rival};

enum fb_status fb_cuda_open(struct fb_device **out)
{
    const struct fb_cuda_device *facts = fb_cuda_device();
    cudaStream_t stream;
    *out = &device;
    if (device.stream)
        return FB_OK;
    if (facts->ordinal < 0)
        return fb_fail(FB_REFUSED, "%s", facts->why);
    FB_TRY_CUDA(cudaSetDevice(facts->ordinal), "the device cannot be opened");
    FB_TRY_CUDA(cudaStreamCreate(&stream), "the device cannot be opened");
    device.ordinal = facts->ordinal;
    device.power = fb_nvml_power(facts->bus);
    device.timer = fb_cuda_timer(stream);
    memory = fb_cuda_memory(stream);
    device.flush_bytes = flush_bytes();
    device.stream = stream;
    return FB_OK;
}
