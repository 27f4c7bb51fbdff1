/* SPDX-License-Identifier: BSD-3-Clause
 *
 * acc.c: running sums with one declared rounding a step. These paths are instruments, not
 * contestants: they are exact about where they round, and slow.
 */
#include "kernels/cpu/acc.h"

#include "kernels/cpu/hot/bits.h"

/* The finaliser of SplitMix64 (Steele, Lea and Flood, 2014), twice. */
static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

uint32_t fb_cpu_acc_random(uint64_t position, uint64_t step)
{
    const uint64_t golden = 0x9e3779b97f4a7c15u;
    return (uint32_t)(mix(mix(position + golden) + step * golden) >> 32);
}

/* The test for NaN is one of bits: gcc 12 drops the truncation from `value == value ? ... : value`.
 */
static float truncate_bf16(float value)
{
    const uint32_t bits = fb_cpu_bits(value);
    return fb_cpu_is_nan(bits) ? value : fb_cpu_float(bits & 0xffff0000u);
}

/* Carrying out of the low half rounds up in magnitude, whatever the sign. Infinity and NaN have an
 * exponent of all ones and stay. */
static float stochastic_bf16(float value, uint32_t random)
{
    const uint32_t bits = fb_cpu_bits(value);
    if ((bits & 0x7f800000u) == 0x7f800000u)
        return value;
    return fb_cpu_float((bits + (random & 0xffffu)) & 0xffff0000u);
}

/* volatile keeps a compiler that was told to reassociate or contract from cancelling (t - sum) - y
 * to nothing. */
static union fb_cpu_cell kahan(union fb_cpu_cell cell, float x, float (*round)(float))
{
    const volatile float y = x - cell.narrow.compensation;
    const volatile float t = round(cell.narrow.sum + y);
    const volatile float gained = t - cell.narrow.sum;
    cell.narrow.compensation = round(gained - y);
    cell.narrow.sum = t;
    return cell;
}

static float keep(float value)
{
    return value;
}

static float to_bf16(float value)
{
    return fb_cpu_round_bf16(value);
}

union fb_cpu_cell fb_cpu_acc_sum(enum fb_cpu_acc acc, union fb_cpu_cell cell, float x,
                                 uint32_t random)
{
    const float sum = cell.narrow.sum + x;
    switch (acc) {
    case FB_CPU_ACC_FP32:
        cell.narrow.sum = sum;
        break;
    case FB_CPU_ACC_BF16:
        cell.narrow.sum = fb_cpu_round_bf16(sum);
        break;
    case FB_CPU_ACC_BF16_STOCHASTIC:
        cell.narrow.sum = stochastic_bf16(sum, random);
        break;
    case FB_CPU_ACC_BF16_TRUNCATE:
        cell.narrow.sum = truncate_bf16(sum);
        break;
    case FB_CPU_ACC_FP16:
        cell.narrow.sum = fb_cpu_round_fp16(sum);
        break;
    case FB_CPU_ACC_FP32_KAHAN:
        return kahan(cell, x, keep);
    case FB_CPU_ACC_BF16_KAHAN:
        return kahan(cell, x, to_bf16);
    case FB_CPU_ACC_FP64:
        cell.wide += (double)x;
        break;
    }
    return cell;
}

double fb_cpu_acc_value(enum fb_cpu_acc acc, union fb_cpu_cell cell)
{
    if (acc == FB_CPU_ACC_FP64)
        return cell.wide;
    if (acc == FB_CPU_ACC_FP32_KAHAN || acc == FB_CPU_ACC_BF16_KAHAN)
        return (double)cell.narrow.sum - (double)cell.narrow.compensation;
    return cell.narrow.sum;
}

/* Random bits are worth a hash only where they are used. */
static uint32_t random_for(enum fb_cpu_acc acc, uint64_t position, uint64_t step)
{
    return acc == FB_CPU_ACC_BF16_STOCHASTIC ? fb_cpu_acc_random(position, step) : 0;
}

void fb_cpu_acc_add(enum fb_cpu_acc acc, union fb_cpu_cell *cells, const float *from, int64_t ld,
                    int64_t rows, int64_t n, uint64_t position, uint64_t step)
{
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < n; c++) {
            const int64_t at = r * n + c;
            cells[at] = fb_cpu_acc_sum(acc, cells[at], from[r * ld + c],
                                       random_for(acc, position + (uint64_t)at, step));
        }
}

void fb_cpu_acc_products(enum fb_cpu_acc acc, union fb_cpu_cell *cells, const float *a, int64_t row,
                         int64_t column, const float *b, int64_t ldb, int64_t rows, int64_t n,
                         int64_t k, uint64_t position, uint64_t step)
{
    for (int64_t r = 0; r < rows; r++)
        for (int64_t i = 0; i < k; i++)
            for (int64_t c = 0; c < n; c++) {
                const int64_t at = r * n + c;
                const float x = a[r * row + i * column] * b[i * ldb + c];
                cells[at] =
                    fb_cpu_acc_sum(acc, cells[at], x,
                                   random_for(acc, position + (uint64_t)at, step + (uint64_t)i));
            }
}

void fb_cpu_acc_read(enum fb_cpu_acc acc, float *to, int64_t ld, const union fb_cpu_cell *cells,
                     int64_t rows, int64_t n)
{
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t c = 0; c < n; c++)
            to[r * ld + c] = (float)fb_cpu_acc_value(acc, cells[r * n + c]);
        for (int64_t c = n; c < ld; c++)
            to[r * ld + c] = 0.0f;
    }
}
