/* SPDX-License-Identifier: BSD-3-Clause
 *
 * backends.c: the one file outside kernels/ and variants/ that names a backend.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "core/backends.h"

#include <stdio.h>
#include <string.h>

#include "kernels/cpu/hot/ops.h"
#ifdef HAVE_CUDA
#include "kernels/cuda/device.h"
#include "kernels/dense/cublas.h"
#else
static const char *fb_cuda_why_not(int least, int exact)
{
    (void)least;
    (void)exact;
    return "this program was built without CUDA";
}

static const char *fb_cublas_why_not(void)
{
    return "built without CUDA";
}
#define fb_cublas_version fb_cublas_why_not
#endif
#ifdef HAVE_CUDNN
#include "kernels/cudnn/library.h"
#else
static const char *fb_cudnn_why_not(void)
{
    return "built without its headers";
}
#define fb_cudnn_version fb_cudnn_why_not
#endif

/* The harness's own kernels, which hash and search the buffers of all, need 7.5. */
static const struct fb_backend backends[] = {
    {.name = "cpu", .is_host = true, .why_not = fb_cpu_isa_error},
    {.name = "simt", .least = 75},
    {.name = "sm80", .least = 80},
    {.name = "sm90", .least = 90, .exact = true},
    {.name = "cublas", .least = 75, .why_not = fb_cublas_why_not, .version = fb_cublas_version},
    {.name = "cudnn", .least = 75, .why_not = fb_cudnn_why_not, .version = fb_cudnn_version},
};
enum { COUNT = sizeof backends / sizeof *backends };

const struct fb_backend *fb_backend_at(int index)
{
    return index < COUNT ? &backends[index] : NULL;
}

const struct fb_backend *fb_backend_find(const char *name)
{
    for (int i = 0; i < COUNT; i++)
        if (!strcmp(backends[i].name, name))
            return &backends[i];
    return NULL;
}

const char *fb_backend_names(void)
{
    static char names[16 * COUNT];
    for (int i = 0, used = 0; i < COUNT; i++)
        used += snprintf(names + used, sizeof names - (size_t)used, "%s%s", i ? ", " : "",
                         backends[i].name);
    return names;
}

bool fb_backend_is_host(const char *name)
{
    const struct fb_backend *backend = fb_backend_find(name);
    return backend && backend->is_host;
}

const char *fb_backend_why_not(const struct fb_backend *backend)
{
    const char *why = backend->is_host ? NULL : fb_cuda_why_not(backend->least, backend->exact);
    return why || !backend->why_not ? why : backend->why_not();
}

const char *fb_backend_library(const struct fb_backend *backend)
{
    const char *why = backend->version ? backend->why_not() : NULL;
    return why || !backend->version ? why : backend->version();
}
