/* SPDX-License-Identifier: BSD-3-Clause
 *
 * plan.h: execution plans. A plan takes up to a second to make (cuDNN compiles its kernel) and is
 * kept until the process ends, so that whoever asks again for the same problem gets the same one.
 * For one thread and one device a process: the one that is current at the first call.
 */
#ifndef FB_KERNELS_CUDNN_PLAN_H
#define FB_KERNELS_CUDNN_PLAN_H

#include <stdbool.h>
#include <stddef.h>

#include "kernels/cudnn/attention.h"

struct fb_cudnn_plan;

/* NULL, and one line in *why that stays valid: where no engine takes the problem (*unsupported), or
 * where cuDNN does not work here. That, too, is remembered. */
struct fb_cudnn_plan *fb_cudnn_plan_find(const struct fb_cudnn_attention *what, bool *unsupported,
                                         const char **why);

/* The plan if it has been found before, else NULL. */
const struct fb_cudnn_plan *fb_cudnn_plan_known(const struct fb_cudnn_attention *what);

/* Scratch that the engine wants, beside delta and dq_accum. */
size_t fb_cudnn_plan_workspace(const struct fb_cudnn_plan *plan);

/* "engine-6": which of cuDNN's engines runs. */
const char *fb_cudnn_plan_name(const struct fb_cudnn_plan *plan);

/* Enqueues the pass on a stream. NULL, or one line that says what failed. pointer[] has an entry
 * for every role that the pass uses. */
const char *fb_cudnn_plan_run(struct fb_cudnn_plan *plan, void *stream,
                              void *const pointer[FB_CUDNN_ROLES], void *workspace);

#endif
