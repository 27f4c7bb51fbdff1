/* SPDX-License-Identifier: BSD-3-Clause
 *
 * bound.c: the table of roundings. Each line is a rounding that a correct kernel performs; the doc
 * derives why there are no others.
 */
#include "verify/bound.h"

#include <float.h>
#include <math.h>

/* fp32 unit roundoff. */
#define E 0x1p-24

/* The rounding error of a type that the bound counts with. For bf16 it is half the unit roundoff,
 * 1.2 times the rms error; FB_BOUND_FACTOR covers the worst case twice. */
static double unit_of(enum fb_dtype dtype)
{
    return dtype == FB_BF16 ? 0x1p-9 : dtype == FB_FP16 ? 0x1p-11 : E;
}

/* Half the spacing of the subnormals, or what a flush to zero loses. */
static double floor_of(enum fb_dtype dtype)
{
    return dtype == FB_FP16 ? 0x1p-25 : FLT_MIN;
}

/* n terms summed in fp32 in any order, then rounded to the accumulator's type once a tile. */
static struct fb_ref_sum sum_of(enum fb_acc acc, int64_t tile)
{
    struct fb_ref_sum sum = {.term = E, .stagnation = INFINITY, .tile = tile};
    switch (acc) {
    case FB_ACC_BF16: /* small addends are lost altogether once 2^8 tiles stand in the sum */
        sum.step = 0x1p-9;
        sum.stagnation = 64;
        break;
    case FB_ACC_FP16:
        sum.step = 0x1p-11;
        sum.stagnation = 512;
        sum.floor = 0x1p-25;
        break;
    case FB_ACC_BF16_STOCHASTIC: /* errors up to a whole ulp, but never biased */
        sum.step = 0x1p-8;
        break;
    case FB_ACC_BF16_TRUNCATE: /* always towards zero: errors add up */
        sum.step = 0x1p-8;
        sum.stagnation = 0;
        break;
    case FB_ACC_BF16_KAHAN: /* what is lost in one step is carried to the next: one rounding */
        sum.step = 0x1p-8;
        sum.tile = 0;
        break;
    case FB_ACC_FP32:
    case FB_ACC_FP32_KAHAN:
    case FB_ACC_FP64:
        break;
    }
    return sum;
}

static int64_t tile_of(const struct fb_numerics *numerics, int64_t rows)
{
    return numerics->round == FB_ROUND_ROW ? 1 : rows;
}

void fb_bound_roundings(const struct fb_problem *problem, const struct fb_numerics *numerics,
                        int64_t bm, int64_t bn, struct fb_ref_roundings *roundings)
{
    bool narrow = numerics->ps == FB_PS_IN;
    double u = unit_of(problem->dtype), operand = narrow ? u : E;
    double flush = floor_of(narrow ? problem->dtype : FB_FP32);
    *roundings = (struct fb_ref_roundings){
        .score = sqrt((double)problem->d) * E,
        .term = 2 * E,
        .lse = 4 * E,
        .lse_read = numerics->lse == FB_LSE_BF16 ? 0x1p-9 : 0,
        .exponent = 4 * E,
        .dp = sqrt((double)problem->dv) * E,
        .o = u + sqrt((double)problem->dv) * E,
        .delta = numerics->delta == FB_DELTA_BF16 ? 0x1p-9 : E,
        .recomputed = numerics->delta == FB_DELTA_RECOMPUTED,
        .p = operand + 2 * E,
        .ds = operand + 4 * E,
        .p_floor = flush,
        .ds_floor = flush,
        .output = u,
        .output_floor = floor_of(problem->dtype),
        .sum_o = sum_of(FB_ACC_FP32, 0),
        .sum_dq = sum_of(numerics->dq, tile_of(numerics, bn)),
        .sum_dkv = sum_of(numerics->dkv, tile_of(numerics, bm)),
    };
}

void fb_bound_casts(const struct fb_problem *problem, const struct fb_numerics *numerics,
                    int64_t bm, int64_t bn, struct fb_ref_casts *casts)
{
    enum fb_ref_cast in = problem->dtype == FB_BF16   ? FB_REF_TO_BF16
                          : problem->dtype == FB_FP16 ? FB_REF_TO_FP16
                                                      : FB_REF_TO_FP32;
    *casts = (struct fb_ref_casts){
        .output = in,
        .p_ds = numerics->ps == FB_PS_IN ? in : FB_REF_TO_FP32,
        .delta = numerics->delta == FB_DELTA_BF16 ? FB_REF_TO_BF16 : FB_REF_TO_FP32,
        .lse = numerics->lse == FB_LSE_BF16 ? FB_REF_TO_BF16 : FB_REF_TO_FP32,
        .recomputed = numerics->delta == FB_DELTA_RECOMPUTED,
        .dq = numerics->dq,
        .dkv = numerics->dkv,
        .bm = tile_of(numerics, bm),
        .bn = tile_of(numerics, bn),
    };
}

enum fb_verdict fb_bound_verdict(double rho, const struct fb_metrics *m, enum fb_judged which)
{
    if (m->nonfinite > 0)
        return rho <= FB_BOUND_RHO_OVERFLOW ? FB_VERDICT_FAIL : FB_VERDICT_NOT_CHECKABLE;
    if (which != FB_JUDGED_LSE && !(rho <= FB_BOUND_RHO_MAX))
        return FB_VERDICT_NOT_CHECKABLE;
    bool noisy = m->noise_ratio > FB_BOUND_NOISE;
    return m->bound_ratio <= 1 && !noisy ? FB_VERDICT_PASS : FB_VERDICT_FAIL;
}
