/* SPDX-License-Identifier: BSD-3-Clause
 *
 * nvml.h: NVIDIA's management library, loaded at run time where it is there: what the GPU is, and
 * its clocks, power and energy. It starts no CUDA context, so that a process which keeps away from
 * CUDA may ask, too.
 */
#ifndef FB_MEASURE_NVML_H
#define FB_MEASURE_NVML_H

#include <stdbool.h>
#include <stdint.h>

#include "measure/power.h"

/* Text "" and numbers 0 are unknown. */
struct fb_gpu_facts {
    char name[96], uuid[96], driver[80], cuda_driver[16], capability[16];
    uint64_t memory_bytes;
    unsigned count; /* GPUs of the machine */
    unsigned sms, sm_mhz_max;
    double watts_limit;
};

/* Of the GPU that CUDA shows first; false where there is no NVML or no GPU. */
bool fb_nvml_facts(struct fb_gpu_facts *facts);

/* The meter of the GPU at a PCI address ("": the first), or NULL. Lives as long as the process. */
struct fb_power *fb_nvml_power(const char *bus);

#endif
