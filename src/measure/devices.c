/* SPDX-License-Identifier: BSD-3-Clause
 *
 * devices.c: the host as a device, and which device a backend asks for.
 */
#include "measure/devices.h"

#include "core/backends.h"
#include "core/offer.h"
#include "core/host/processors.h"
#include "core/status.h"
#include "measure/cuda/device.h"
#include "measure/machine.h"
#include "measure/memory_host.h"

static enum fb_status wait_host(struct fb_device *device)
{
    (void)device;
    return FB_OK;
}

static enum fb_status flush_host(struct fb_device *device, struct fb_flush **flush)
{
    static struct fb_flush buffer;
    (void)device;
    if (!buffer.data)
        FB_TRY(fb_flush_make(&buffer, 0));
    *flush = &buffer;
    return FB_OK;
}

/* The same for all types: CPU kernels compute in fp32. Anew for another thread count. */
static enum fb_status ceilings_host(struct fb_device *device, enum fb_dtype dtype, int threads,
                                    const struct fb_ceilings **ceilings)
{
    static struct fb_ceilings measured;
    (void)device;
    (void)dtype;
    if (measured.threads != threads)
        FB_TRY(fb_ceilings_measure(&measured, threads));
    *ceilings = &measured;
    return FB_OK;
}

static enum fb_status probe_host(struct fb_device *device, enum fb_dtype dtype, int threads,
                                 struct fb_gemm_probe *probe)
{
    (void)device;
    (void)dtype;
    return fb_gemm_probe_open(probe, threads);
}

static enum fb_status rival_host(struct fb_device *device, struct fb_rival **rival)
{
    (void)device;
    return fb_rival_start(rival, fb_processors());
}

static struct fb_device host = {.kind = "cpu",
                                .ordinal = -1,
                                .memory = &fb_memory_host,
                                .wait = wait_host,
                                .flush = flush_host,
                                .ceilings = ceilings_host,
                                .probe = probe_host,
                                .rival = rival_host};

const char *fb_variant_why_not(const struct fb_variant *variant, const struct fb_problem *problem,
                               const struct fb_numerics *numerics)
{
    const char *why = fb_backend_why_not(fb_backend_find(variant->backend));
    return why ? why : fb_offer_why_not(variant, problem, numerics);
}

enum fb_status fb_device_open(const char *name, struct fb_device **device)
{
    const struct fb_backend *backend = fb_backend_find(name);
    const char *why = fb_backend_why_not(backend);
    if (why)
        return fb_fail(FB_REFUSED, "%s", why);
    if (!backend->is_host)
        return fb_cuda_open(device);
    host.timer = fb_timer_cpu();
    *device = &host;
    return FB_OK;
}
