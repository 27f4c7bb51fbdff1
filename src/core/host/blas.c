/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/host/blas.h"

#include <stdlib.h>
#include <string.h>

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#ifdef HAVE_CBLAS
#include <cblas.h>
#endif

const char *fb_blas_core(void)
{
#ifdef HAVE_OPENBLAS_GET_CONFIG
    return openblas_get_corename();
#elif defined HAVE_CBLAS
    return "unknown";
#else
    return "none";
#endif
}

#if defined HAVE_OPENBLAS_GET_CONFIG && defined __x86_64__
/* OpenBLAS's names of x86 cores whose kernels know no AVX2. */
static int is_old(const char *core)
{
    static const char *const old[] = {"Prescott",     "Core2",       "Penryn",    "Dunnington",
                                      "Nehalem",      "Sandybridge", "Atom",      "Nano",
                                      "Opteron",      "Barcelona",   "Bobcat",    "Katmai",
                                      "Opteron_SSE3", "Coppermine",  "Northwood", "Banias"};
    for (size_t i = 0; i < sizeof old / sizeof *old; i++)
        if (!strcmp(core, old[i]))
            return 1;
    return 0;
}

static const char *fitting_core(void)
{
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return "SkylakeX";
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return "Haswell";
    return NULL;
}
#else
static int is_old(const char *core)
{
    (void)core;
    return 0;
}

static const char *fitting_core(void)
{
    return NULL;
}
#endif

const char *fb_blas_choose_core(void)
{
    const char *core = fitting_core();
    if (getenv("OPENBLAS_CORETYPE") || !core || !is_old(fb_blas_core()))
        return NULL;
    return setenv("OPENBLAS_CORETYPE", core, 0) ? NULL : core;
}
