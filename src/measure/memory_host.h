/* SPDX-License-Identifier: BSD-3-Clause
 *
 * memory_host.h: the memory of this process.
 */
#ifndef FB_MEASURE_MEMORY_HOST_H
#define FB_MEASURE_MEMORY_HOST_H

#include "core/memory.h"

extern const struct fb_memory fb_memory_host;

#endif
