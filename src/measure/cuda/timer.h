/* SPDX-License-Identifier: BSD-3-Clause
 *
 * timer.h: spans by events.
 */
#ifndef FB_MEASURE_CUDA_TIMER_H
#define FB_MEASURE_CUDA_TIMER_H

#include "measure/phases.h"
#include "measure/timer.h"

/* Events around a span, and between its phases. One at a time. */
struct fb_timer fb_cuda_timer(void *stream);
extern const struct fb_phase_clock fb_cuda_phase_clock;

#endif
