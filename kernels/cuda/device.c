/* SPDX-License-Identifier: BSD-3-Clause
 *
 * device.c: asks the CUDA run-time about the device, once.
 */
#include "kernels/cuda/device.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"

static struct fb_cuda_device device = {.ordinal = -1};
static pthread_once_t looked = PTHREAD_ONCE_INIT;

static size_t attribute(enum cudaDeviceAttr which)
{
    int value = 0;
    return cudaDeviceGetAttribute(&value, which, 0) == cudaSuccess ? (size_t)value : 0;
}

static void describe(void)
{
    struct cudaDeviceProp properties;
    if (cudaGetDeviceProperties(&properties, 0) != cudaSuccess) {
        snprintf(device.why, sizeof device.why, "no CUDA device: it cannot be asked what it is");
        return;
    }
    device.ordinal = 0;
    device.major = properties.major;
    device.minor = properties.minor;
    device.sms = properties.multiProcessorCount;
    device.l2_bytes = attribute(cudaDevAttrL2CacheSize);
    device.shared_bytes = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
    device.memory_bytes = properties.totalGlobalMem;
    snprintf(device.name, sizeof device.name, "%s", properties.name);
    if (cudaDeviceGetPCIBusId(device.bus, sizeof device.bus, 0) != cudaSuccess)
        device.bus[0] = '\0';
}

/* The run-time says the same, in words about versions, of a driver that is not installed and of one
 * that does not load or start: the driver's library is asked itself. Its codes are the run-time's.
 */
static void explain_driver(cudaError_t error)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    const char *words = library ? "it has no cuInit" : dlerror();
    void *symbol = library ? dlsym(library, "cuInit") : NULL;
    int (*start)(unsigned);
    memcpy(&start, &symbol, sizeof start); /* POSIX lets a data pointer of dlsym stand for it */
    if (start) {
        const int code = start(0);
        words = cudaGetErrorString(code ? (cudaError_t)code : error);
    }
    if (!library && (!words || !strncmp(words, "libcuda.so.1: cannot open", 25)))
        snprintf(device.why, sizeof device.why, "no CUDA device (no driver is installed)");
    else
        snprintf(device.why, sizeof device.why, "no CUDA device (the driver does not %s: %.200s)",
                 start ? "start" : "load", words);
}

static void explain(cudaError_t error)
{
    int driver = 0;
    if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0)
        explain_driver(error);
    else if (error == cudaErrorInsufficientDriver)
        snprintf(device.why, sizeof device.why,
                 "no CUDA device (the driver serves CUDA %d.%d, this program needs %d.%d)",
                 driver / 1000, driver % 1000 / 10, CUDART_VERSION / 1000,
                 CUDART_VERSION % 1000 / 10);
    else
        snprintf(device.why, sizeof device.why, "no CUDA device (%s)",
                 error == cudaSuccess ? "none is visible" : cudaGetErrorString(error));
}

static void look(void)
{
    int count = 0;
    cudaError_t error = cudaGetDeviceCount(&count);
    if (error == cudaSuccess && count > 0)
        describe();
    else
        explain(error);
    cudaGetLastError();
}

const struct fb_cuda_device *fb_cuda_device(void)
{
    pthread_once(&looked, look);
    return &device;
}

/* One entry of the list: "80", "90+PTX", "90a". */
static int entry_serves(const char *entry, int major, int minor)
{
    char *end;
    const long number = strtol(entry, &end, 10);
    const long of_major = number / 10, of_minor = number % 10, asked = 10L * major + minor;
    if (*end == 'a')
        return number == asked;
    if (*end == 'f')
        return of_major == major && of_minor <= minor;
    return (of_major == major && of_minor <= minor) || (!strcmp(end, "+PTX") && number <= asked);
}

int fb_cuda_archs_serve(const char *archs, int major, int minor)
{
    char copy[256], *rest = copy;
    snprintf(copy, sizeof copy, "%s", archs);
    for (char *entry; (entry = strsep(&rest, ", "));)
        if (*entry && entry_serves(entry, major, minor))
            return 1;
    return 0;
}

const char *fb_cuda_why_not(int least, int exact)
{
    static char why[700];
    const struct fb_cuda_device *d = fb_cuda_device();
    const int has = 10 * d->major + d->minor;
    if (d->ordinal < 0)
        return d->why;
    if (has < least || (exact && has != least))
        snprintf(why, sizeof why, "needs compute capability %d.%d%s, %s has %d.%d", least / 10,
                 least % 10, exact ? " exactly" : "", d->name, d->major, d->minor);
    else if (!fb_cuda_archs_serve(FB_BUILD_CUDA_ARCHS, d->major, d->minor))
        snprintf(why, sizeof why,
                 "this program was built for %s (--with-cuda-arch), which %s, capability %d.%d, "
                 "does not run",
                 FB_BUILD_CUDA_ARCHS, d->name, d->major, d->minor);
    else
        return NULL;
    return why;
}
