/* SPDX-License-Identifier: BSD-3-Clause
 *
 * machine.h: facts about the machine and the build, as key and value, for the /run attributes of a
 * results file and for `info`. What cannot be read is "unknown".
 */
#ifndef FB_MEASURE_MACHINE_H
#define FB_MEASURE_MACHINE_H

#include <stddef.h>
#include <stdint.h>

#include "flashback.h"

struct fb_machine_fact {
    const char *key; /* "cpu_model"; static */
    char value[160];
};

#define FB_MACHINE_FACTS 48

struct fb_machine_facts {
    size_t count;
    struct fb_machine_fact fact[FB_MACHINE_FACTS];
    /* One line about what disturbs measurements here (a clock that floats or cannot be read, a busy
     * machine), "" if nothing. */
    char warning[256];
};

/* host, os, kernel, cpu_model, cpus, cache_l1d, cache_l2, cache_l3, memory_bytes, governor,
 * frequency_mhz, frequency_max_mhz, load_1min, where there is a GPU gpu_name, gpu_*, driver,
 * driver_cuda, version, git_describe, compiler, flags, cuda_runtime, cuda_archs,
 * blas_version, blas_core, openmp, threads. */
void fb_machine_facts(struct fb_machine_facts *facts);

#endif
