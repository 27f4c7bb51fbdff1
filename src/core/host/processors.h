/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FB_CORE_HOST_PROCESSORS_H
#define FB_CORE_HOST_PROCESSORS_H

#include <stdint.h>

/* Processors this process may run on (affinity and cgroup quota, rounded up), at least 1. */
int fb_processors(void);

/* Size of the cache of the given level that holds data, 0 if unknown. */
uint64_t fb_cache_bytes(int level);

#endif
