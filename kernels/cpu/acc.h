/* SPDX-License-Identifier: BSD-3-Clause
 *
 * acc.h: running sums in every declared accumulator type. What is added is an fp32 number (the sum
 * of one tile, or one product when rounding is by row); after each addition the sum is rounded once
 * to the accumulator's type.
 *
 *   fp32, fp64            ordinary addition in that type
 *   bf16, fp16            fp32 addition, then rounded to nearest even
 *   bf16-truncate         fp32 addition, then the low 16 bits dropped (toward zero)
 *   bf16-stochastic       fp32 addition, then rounded up in magnitude with the probability of the
 *                         remainder: the low 16 bits plus 16 random ones carry or do not. The
 * random bits are a hash of the element's position and the step, so that a variant with a fixed
 * order has fixed bits fp32-kahan            Kahan: y = x - c, t = sum + y, c = (t - sum) - y, sum
 * = t, all fp32 bf16-kahan            the same with sum and c rounded to bf16
 *
 * A compensated sum is read as sum - c: the last compensation is not thrown away.
 *
 * Every type lives in a cell of 8 bytes, which an atomic addition exchanges whole. Plain fp32, the
 * standard, needs none of this: main loops then add in the GEMM itself.
 */
#ifndef FB_CPU_ACC_H
#define FB_CPU_ACC_H

#include "kernels/cpu/job.h"

union fb_cpu_cell {
    struct {
        float sum, compensation;
    } narrow;
    double wide; /* fp64 */
    uint64_t bits;
};

/* 32 random bits for one addition, the same in every run. */
uint32_t fb_cpu_acc_random(uint64_t position, uint64_t step);

/* cell + x, rounded. A cell of all zero bits is an empty sum. */
union fb_cpu_cell fb_cpu_acc_sum(enum fb_cpu_acc acc, union fb_cpu_cell cell, float x,
                                 uint32_t random);

double fb_cpu_acc_value(enum fb_cpu_acc acc, union fb_cpu_cell cell);

/* cells[r][c] += from[r][c] for rows x n, one rounding each; cells have n columns and begin at
 * element `position` of the tensor. */
void fb_cpu_acc_add(enum fb_cpu_acc acc, union fb_cpu_cell *cells, const float *from, int64_t ld,
                    int64_t rows, int64_t n, uint64_t position, uint64_t step);

/* cells[r][c] += sum over k of a(r, k) b[k][c], rounded after every k: a(r, k) is at
 * a[r * row + k * column]. Steps are step, step + 1, ... */
void fb_cpu_acc_products(enum fb_cpu_acc acc, union fb_cpu_cell *cells, const float *a, int64_t row,
                         int64_t column, const float *b, int64_t ldb, int64_t rows, int64_t n,
                         int64_t k, uint64_t position, uint64_t step);

/* to[r][c] = the values of the cells, as fp32 with row length ld; columns [n, ld) become zero. */
void fb_cpu_acc_read(enum fb_cpu_acc acc, float *to, int64_t ld, const union fb_cpu_cell *cells,
                     int64_t rows, int64_t n);

#endif
