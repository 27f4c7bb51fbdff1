/* SPDX-License-Identifier: BSD-3-Clause
 *
 * memory.h: device memory as a struct fb_memory.
 */
#ifndef FB_MEASURE_CUDA_MEMORY_H
#define FB_MEASURE_CUDA_MEMORY_H

#include "core/memory.h"

/* memory->own is the stream that copies and fills go through. */
struct fb_memory fb_cuda_memory(void *stream);

#endif
