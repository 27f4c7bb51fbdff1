/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The 16-bit formats: all patterns there and back, and rounding against the definition, nearest
 * with ties to even, searched among the neighbours.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "core/half.h"
#include "tests/tap.h"

struct format {
    const char *name;
    float (*widen)(uint16_t bits);
    uint16_t (*narrow)(double value);
    int exponent_bits, mantissa_bits;
};

static const struct format formats[] = {{"bf16", fb_bf16_to_float, fb_double_to_bf16, 8, 7},
                                        {"fp16", fb_fp16_to_float, fb_double_to_fp16, 5, 10}};

/* The value of a pattern by the definition of the format. */
static double value_of(const struct format *f, unsigned bits)
{
    int exponent = (int)(bits >> f->mantissa_bits & ((1u << f->exponent_bits) - 1));
    int mantissa = (int)(bits & ((1u << f->mantissa_bits) - 1));
    int bias = (1 << (f->exponent_bits - 1)) - 1;
    double sign = bits & 0x8000 ? -1 : 1;
    if (exponent == (1 << f->exponent_bits) - 1)
        return mantissa ? (double)NAN : sign * (double)INFINITY;
    if (exponent == 0)
        return sign * ldexp(mantissa, 1 - bias - f->mantissa_bits);
    return sign * ldexp(mantissa + (1 << f->mantissa_bits), exponent - bias - f->mantissa_bits);
}

static void test_patterns(const struct format *f)
{
    int wide = 0, back = 0;
    for (unsigned bits = 0; bits < 65536; bits++) {
        double value = value_of(f, bits);
        float got = f->widen((uint16_t)bits);
        if (isnan(value)) {
            wide += isnan(got);
            back += isnan(f->widen(f->narrow((double)got))) &&
                    isnan(f->widen(f->narrow((double)(float)got)));
            continue;
        }
        wide += (double)got == value && !signbit(got) == !signbit(value);
        back += f->narrow(value) == bits && f->narrow((double)(float)value) == bits;
    }
    tap_ok(wide == 65536, "%s: %d of 65536 patterns widen to their value", f->name, wide);
    tap_ok(back == 65536, "%s: %d of 65536 patterns come back", f->name, back);
}

/* Midpoints between neighbours go to the even one, anything off a midpoint to the nearer one; in
 * double the least step off a midpoint is far finer than a float's, so rounding twice would show.
 */
static void test_rounding(const struct format *f)
{
    unsigned infinity = ((1u << f->exponent_bits) - 1) << f->mantissa_bits;
    int good = 0;
    for (unsigned bits = 0; bits < infinity; bits++) {
        double low = value_of(f, bits);
        double high = bits + 1 < infinity
                          ? value_of(f, bits + 1)
                          : 2 * low - value_of(f, bits - 1); /* where 2^k would be */
        double middle = low + (high - low) / 2;
        unsigned even = bits & 1 ? bits + 1 : bits;
        good += f->narrow(middle) == even && f->narrow(-middle) == (even | 0x8000) &&
                f->narrow(nextafter(middle, 0)) == bits &&
                f->narrow(nextafter(middle, INFINITY)) == bits + 1 &&
                f->narrow(nextafter(low, INFINITY)) == bits &&
                f->narrow(nextafter(high, 0)) == bits + 1;
    }
    tap_ok(good == (int)infinity, "%s: %d of %u gaps round to nearest even", f->name, good,
           infinity);
}

static void test_extremes(const struct format *f)
{
    unsigned infinity = ((1u << f->exponent_bits) - 1) << f->mantissa_bits;
    tap_ok(f->narrow(1e300) == infinity && f->narrow(-1e300) == (infinity | 0x8000) &&
               f->narrow((double)INFINITY) == infinity &&
               f->narrow((double)(float)INFINITY) == infinity,
           "%s: too large becomes infinite", f->name);
    tap_ok(f->narrow(5e-324) == 0 && f->narrow(-5e-324) == 0x8000 && f->narrow(1e-300) == 0 &&
               f->narrow(-0.0) == 0x8000,
           "%s: too small becomes a zero of its sign", f->name);
    tap_ok(isnan(f->widen(f->narrow((double)NAN))) &&
               isnan(f->widen(f->narrow((double)(float)-NAN))),
           "%s: NaN stays NaN", f->name);
}

static void test_elements(void)
{
    uint16_t half[2] = {0, 0};
    float single[2] = {0, 0};
    fb_element_write(half, FB_BF16, 1, 1.5);
    tap_ok(half[0] == 0 && half[1] == 0x3fc0 && fb_element_read(half, FB_BF16, 1) == 1.5,
           "elements of bf16 arrays");
    fb_element_write(half, FB_FP16, 1, -2);
    tap_ok(half[0] == 0 && half[1] == 0xc000 && fb_element_read(half, FB_FP16, 1) == -2,
           "elements of fp16 arrays");
    fb_element_write(single, FB_FP32, 1, 0.1);
    tap_ok(single[0] == 0 && fb_element_read(single, FB_FP32, 1) == (double)0.1f,
           "elements of fp32 arrays");
    tap_ok(fb_double_to_fp16(1.5249285751529568e-05) == 0x0100, "a value between two subnormals");
}

/* A stretch of a strided array is what its elements are, one by one. */
static void test_stretch(void)
{
    enum { COUNT = 300, FIRST = 7, STRIDE = 3 };
    static const enum fb_dtype dtypes[] = {FB_FP32, FB_BF16, FB_FP16};
    float array[FIRST + COUNT * STRIDE];
    double read[COUNT];
    for (size_t n = 0; n < sizeof array / sizeof *array; n++)
        array[n] = (float)n * 1.37f - 500;
    for (int i = 0; i < 3; i++) {
        bool equal = true;
        fb_elements_read(read, array, dtypes[i], FIRST, STRIDE, COUNT);
        for (int64_t n = 0; n < COUNT; n++) {
            const double one = fb_element_read(array, dtypes[i], FIRST + n * STRIDE);
            equal &= read[n] == one || (isnan(read[n]) && isnan(one));
        }
        tap_ok(equal, "a stretch of elements, type %d", (int)dtypes[i]);
    }
}

int main(void)
{
    for (int i = 0; i < 2; i++) {
        test_patterns(&formats[i]);
        test_rounding(&formats[i]);
        test_extremes(&formats[i]);
    }
    test_elements();
    test_stretch();
    return tap_done();
}
