/* SPDX-License-Identifier: BSD-3-Clause
 *
 * hot.h: the hot operations of the instruction set being compiled, under their full names. What
 * each does stands in ops.h.
 */
#ifndef FB_CPU_HOT_H
#define FB_CPU_HOT_H

#include "kernels/cpu/hot/lanes.h"
#include "kernels/cpu/hot/ops.h"

void FB_HOT(gemm)(const struct fb_cpu_gemm *);
void FB_HOT(scores)(const struct fb_cpu_scores *);
void FB_HOT(online)(const struct fb_cpu_online *);
void FB_HOT(gradient)(float *dp, int64_t ld, const float *p, int64_t ldp, const float *delta,
                      int64_t rows, int64_t n, enum fb_cpu_type round);
void FB_HOT(dots)(float *to, const float *x, int64_t ldx, const float *y, int64_t ldy, int64_t rows,
                  int64_t n, bool add);
void FB_HOT(divide)(float *o, int64_t ld, const float *sum, int64_t rows);
void FB_HOT(load)(float *to, int64_t ld, const void *from, enum fb_cpu_type type, int64_t stride,
                  int64_t rows, int64_t n);
void FB_HOT(store)(void *to, enum fb_cpu_type type, int64_t stride, const float *from, int64_t ld,
                   int64_t rows, int64_t n, float scale);
void FB_HOT(pack)(float *panels, const float *from, int64_t ld, int64_t n, int64_t k);
void FB_HOT(add)(float *to, int64_t ld_to, const float *from, int64_t ld, int64_t rows, int64_t n);

void FB_HOT(terms)(const struct fb_cpu_score_terms *);
void FB_HOT(keep)(const struct fb_cpu_keep *);
void FB_HOT(multiply)(float *x, const float *y, int64_t ld, int64_t rows, int64_t n,
                      enum fb_cpu_type round);

extern const struct fb_cpu_ops FB_HOT(ops);

#endif
