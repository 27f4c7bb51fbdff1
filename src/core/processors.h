/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FB_CORE_PROCESSORS_H
#define FB_CORE_PROCESSORS_H

/* Processors this process may run on (affinity and cgroup quota, rounded up), at least 1. */
int fb_processors(void);

#endif
