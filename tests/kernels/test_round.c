/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Conversions over all 2^16 values of bf16 and fp16 and over the points between all neighbours, in
 * the scalar functions and in the loads and stores of every instruction set; and the rounding of
 * every accumulator type. What is right is worked out in double precision from the neighbours
 * themselves.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/half.h"
#include "kernels/cpu/acc.h"
#include "kernels/cpu/hot/bits.h"
#include "kernels/cpu/hot/ops.h"
#include "tests/tap.h"

struct format {
    const char *name;
    enum fb_cpu_type type;
    enum fb_cpu_acc acc;
    uint16_t infinity; /* positive values are 0 to this */
    float (*widen)(uint16_t);
    float (*round)(float);
    uint16_t (*narrow)(float);
    float (*judge)(uint16_t);
};

static float widen_bf16(uint16_t bits)
{
    return fb_cpu_from_bf16(bits);
}
static float widen_fp16(uint16_t bits)
{
    return fb_cpu_from_fp16(bits);
}
static float round_bf16(float value)
{
    return fb_cpu_round_bf16(value);
}
static float round_fp16(float value)
{
    return fb_cpu_round_fp16(value);
}
static uint16_t narrow_bf16(float value)
{
    return fb_cpu_to_bf16(value);
}
static uint16_t narrow_fp16(float value)
{
    return fb_cpu_to_fp16(value);
}

static const struct format formats[] = {
    {"bf16", FB_CPU_BF16, FB_CPU_ACC_BF16, 0x7f80, widen_bf16, round_bf16, narrow_bf16,
     fb_bf16_to_float},
    {"fp16", FB_CPU_FP16, FB_CPU_ACC_FP16, 0x7c00, widen_fp16, round_fp16, narrow_fp16,
     fb_fp16_to_float},
};

static int same(float a, float b)
{
    return memcmp(&a, &b, sizeof a) == 0 || (isnan(a) && isnan(b));
}

static void test_all_values(const struct format *f)
{
    int widen = 0, back = 0, round = 0;
    for (uint32_t bits = 0; bits < 0x10000; bits++) {
        const float value = f->widen((uint16_t)bits);
        widen += !same(value, f->judge((uint16_t)bits));
        back += isnan(value) ? !isnan(f->widen(f->narrow(value))) : f->narrow(value) != bits;
        round += !same(f->round(value), value);
    }
    tap_ok(widen == 0, "%s: all 65536 values to fp32", f->name);
    tap_ok(back == 0, "%s: and back", f->name);
    tap_ok(round == 0, "%s: rounding leaves all of them alone", f->name);
}

/* Positive neighbours lo < hi, x between them: the nearest, of two equally near the even one. */
static float nearest(const struct format *f, uint16_t lo, float x)
{
    const double below = f->widen(lo), size = f->widen((uint16_t)(lo + 1));
    const double above = isinf(size) ? 2 * below - f->widen((uint16_t)(lo - 1)) : size;
    const double half = (below + above) / 2;
    return x < half || (x == half && lo % 2 == 0) ? (float)below : (float)size;
}

/* Points between lo and its neighbour, the halfway point and its fp32 neighbours among them. */
static int points(const struct format *f, uint16_t lo, float x[5])
{
    const float below = f->widen(lo);
    const float step = lo == 0 ? f->widen(1) : f->widen(lo) - f->widen((uint16_t)(lo - 1));
    const float next = f->widen((uint16_t)(lo + 1));
    const float above = isinf(next) ? below + step : next;
    const float half = below / 2 + above / 2;
    x[0] = below + (above - below) / 4;
    x[1] = nextafterf(half, below);
    x[2] = half;
    x[3] = nextafterf(half, above);
    x[4] = below + (above - below) * 0.75f;
    /* fp32 has nothing between the least bf16 numbers and their halves' neighbours. */
    return isinf(above) ? 0 : 5;
}

static void test_between(const struct format *f)
{
    int round = 0, narrow = 0, accumulate = 0;
    for (uint16_t lo = 0; lo < f->infinity; lo++) {
        float x[5];
        const int count = points(f, lo, x);
        for (int i = 0; i < count; i++) {
            const float want = nearest(f, lo, x[i]);
            const union fb_cpu_cell zero = {.bits = 0};
            round += !same(f->round(x[i]), want) || !same(f->round(-x[i]), -want);
            narrow +=
                !same(f->widen(f->narrow(x[i])), want) || !same(f->widen(f->narrow(-x[i])), -want);
            accumulate += fb_cpu_acc_sum(f->acc, zero, x[i], 0).narrow.sum != want;
        }
    }
    tap_ok(round == 0, "%s: rounding between all neighbours is to nearest even", f->name);
    tap_ok(narrow == 0, "%s: and so is narrowing", f->name);
    tap_ok(accumulate == 0, "%s: and so is the accumulator", f->name);
    tap_ok(isinf(f->round(INFINITY)) && isinf(f->round(3.4e38f)) && isnan(f->round(NAN)) &&
               isnan(f->widen(f->narrow(NAN))),
           "%s: infinity, overflow and NaN", f->name);
}

static void test_moves(const struct format *f, const struct fb_cpu_ops *ops)
{
    static uint16_t narrow[0x10000], back[0x10000];
    static float wide[0x10000];
    int load = 0, store = 0, odd = 0;
    for (uint32_t i = 0; i < 0x10000; i++)
        narrow[i] = (uint16_t)i;
    ops->load(wide, 256, narrow, f->type, 256, 256, 256);
    ops->store(back, f->type, 256, wide, 256, 256, 256, 1.0f);
    for (uint32_t i = 0; i < 0x10000; i++) {
        load += !same(wide[i], f->widen(narrow[i]));
        const float value = f->widen(narrow[i]);
        store += i != 0x8000 && (isnan(value) ? !isnan(f->widen(back[i])) : back[i] != narrow[i]);
    }
    tap_ok(load == 0, "%s, %s: load of all values", f->name, ops->isa);
    tap_ok(store == 0, "%s, %s: store of all values", f->name, ops->isa);
    memset(wide, 0xff, sizeof wide);
    ops->load(wide, 48, narrow + 0x3c00, f->type, 7, 5, 37);
    for (int i = 0; i < 5 * 48; i++)
        odd += wide[i] != (i % 48 < 37 ? f->widen((uint16_t)(0x3c00 + i / 48 * 7 + i % 48)) : 0.0f);
    tap_ok(odd == 0 && isnan(wide[5 * 48]), "%s, %s: odd strides and widths, filled with zeros",
           f->name, ops->isa);
}

static void test_truncate(void)
{
    int wrong = 0;
    const union fb_cpu_cell zero = {.bits = 0};
    for (uint16_t lo = 0; lo < 0x7f80; lo++) {
        float x[5];
        const int count = points(&formats[0], lo, x);
        for (int i = 0; i < count; i++) {
            const float want = widen_bf16(lo);
            wrong += fb_cpu_acc_sum(FB_CPU_ACC_BF16_TRUNCATE, zero, x[i], 0).narrow.sum != want;
            wrong += fb_cpu_acc_sum(FB_CPU_ACC_BF16_TRUNCATE, zero, -x[i], 0).narrow.sum != -want;
        }
    }
    tap_is_int((long long)wrong, 0, "bf16-truncate: toward zero between all neighbours");
}

static void test_stochastic(void)
{
    int wrong = 0;
    const union fb_cpu_cell zero = {.bits = 0};
    for (uint16_t lo = 0; lo < 0x7f7f; lo++) {
        const float below = widen_bf16(lo), above = widen_bf16((uint16_t)(lo + 1));
        const float x = fb_cpu_float(((uint32_t)lo << 16) + 0x4000u); /* a quarter of the way */
        for (uint32_t random = 0; random < 4; random++) {
            const float want = random == 3 ? above : below;
            const float got =
                fb_cpu_acc_sum(FB_CPU_ACC_BF16_STOCHASTIC, zero, x, random * 0x4000u | 0x12340000u)
                    .narrow.sum;
            wrong += got != want;
        }
    }
    tap_is_int((long long)wrong, 0, "bf16-stochastic: up in one of four at a quarter of the way");
    double sum = 0;
    for (uint64_t i = 0; i < 100000; i++)
        sum += fb_cpu_acc_sum(FB_CPU_ACC_BF16_STOCHASTIC, zero, 1.0f + 0x1p-10f,
                              fb_cpu_acc_random(i, 3))
                   .narrow.sum;
    tap_ok(fabs(sum / 100000 - (1 + 0x1p-10)) < 5 * 0x1p-7 * 0.34 / sqrt(100000),
           "bf16-stochastic: right in the mean (%.7f for %.7f)", sum / 100000, 1 + 0x1p-10);
    tap_ok(fb_cpu_acc_random(7, 9) == fb_cpu_acc_random(7, 9) &&
               fb_cpu_acc_random(7, 9) != fb_cpu_acc_random(9, 7) &&
               fb_cpu_acc_random(7, 9) != fb_cpu_acc_random(7, 10),
           "random bits depend on position and step, and on nothing else");
    tap_ok(isinf(fb_cpu_acc_sum(FB_CPU_ACC_BF16_STOCHASTIC, zero, INFINITY, ~0u).narrow.sum) &&
               isnan(fb_cpu_acc_sum(FB_CPU_ACC_BF16_STOCHASTIC, zero, NAN, ~0u).narrow.sum),
           "bf16-stochastic: infinity and NaN stay");
}

/* The sum of 10000 times x, in an accumulator of that type. */
static double long_sum(enum fb_cpu_acc acc, float x)
{
    union fb_cpu_cell cell = {.bits = 0};
    for (uint64_t i = 0; i < 10000; i++)
        cell = fb_cpu_acc_sum(acc, cell, x, fb_cpu_acc_random(1, i));
    return fb_cpu_acc_value(acc, cell) / (10000 * (double)x);
}

static void test_sums(void)
{
    const float x = 0.1f;
    const double plain = long_sum(FB_CPU_ACC_FP32, x), kahan = long_sum(FB_CPU_ACC_FP32_KAHAN, x);
    tap_ok(fabs(plain - 1) > 1e-6 && fabs(plain - 1) < 1e-3, "fp32 drifts: %.9f", plain);
    tap_ok(fabs(kahan - 1) < 1e-7, "fp32-kahan does not: %.9f", kahan);
    tap_ok(fabs(long_sum(FB_CPU_ACC_FP64, x) - 1) < 1e-12, "fp64 does not");
    tap_ok(long_sum(FB_CPU_ACC_BF16, x) < 0.1, "bf16 stagnates: %.3f",
           long_sum(FB_CPU_ACC_BF16, x));
    tap_ok(long_sum(FB_CPU_ACC_BF16_TRUNCATE, x) < long_sum(FB_CPU_ACC_BF16, x),
           "bf16-truncate sooner: %.3f", long_sum(FB_CPU_ACC_BF16_TRUNCATE, x));
    tap_ok(fabs(long_sum(FB_CPU_ACC_BF16_STOCHASTIC, x) - 1) < 0.15,
           "bf16-stochastic does not: %.3f", long_sum(FB_CPU_ACC_BF16_STOCHASTIC, x));
    tap_ok(fabs(long_sum(FB_CPU_ACC_BF16_KAHAN, x) - 1) < 0.01, "bf16-kahan does not: %.4f",
           long_sum(FB_CPU_ACC_BF16_KAHAN, x));
    tap_ok(long_sum(FB_CPU_ACC_FP16, x) < 0.7, "fp16 stagnates later: %.3f",
           long_sum(FB_CPU_ACC_FP16, x));
}

/* cells += a b with a rounding a row of b, against one element at a time. */
static void test_products(void)
{
    float a[6], b[3 * 4], read[2 * 16];
    union fb_cpu_cell cells[2 * 3] = {{.bits = 0}}, want[2 * 3] = {{.bits = 0}};
    for (int i = 0; i < 12; i++) {
        b[i] = 1.0f / (float)(i + 3);
        a[i % 6] = (float)i * 0.37f;
    }
    fb_cpu_acc_products(FB_CPU_ACC_BF16, cells, a, 3, 1, b, 4, 2, 3, 3, 0, 0);
    for (int r = 0; r < 2; r++)
        for (int k = 0; k < 3; k++)
            for (int c = 0; c < 3; c++)
                want[r * 3 + c].narrow.sum =
                    round_bf16(want[r * 3 + c].narrow.sum + a[r * 3 + k] * b[k * 4 + c]);
    tap_ok(memcmp(cells, want, sizeof cells) == 0, "round=row: a rounding for every product");
    fb_cpu_acc_read(FB_CPU_ACC_BF16, read, 16, cells, 2, 3);
    tap_ok(read[0] == want[0].narrow.sum && read[16 + 2] == want[5].narrow.sum && read[3] == 0 &&
               read[16 + 15] == 0,
           "cells are read as a tile, filled with zeros");
}

int main(void)
{
    static const char *const names[] = {"generic", "v2", "v3", "v4"};
    for (int f = 0; f < 2; f++) {
        test_all_values(&formats[f]);
        test_between(&formats[f]);
        for (int i = 0; i < 4; i++) {
            setenv("FLASHBACK_ISA", names[i], 1);
            if (fb_cpu_ops())
                test_moves(&formats[f], fb_cpu_ops());
            else
                tap_skip("%s is not on this machine or not in this build", names[i]);
        }
    }
    test_truncate();
    test_stochastic();
    test_sums();
    test_products();
    return tap_done();
}
