/* SPDX-License-Identifier: BSD-3-Clause
 *
 * test_scaling.c: factors of calls: powers of two with a sign, shared where a gradient sums over
 * what they belong to, new in each call; and the host's operations with them.
 */
#include "data/scaling.h"

#include <math.h>
#include <string.h>

#include "core/half.h"
#include "core/numerics.h"
#include "core/problem.h"
#include "core/tensor.h"
#include "measure/memory_host.h"
#include "tests/tap.h"

static bool is_power_of_two(float x)
{
    int exponent;
    return fabsf(frexpf(x, &exponent)) == 0.5f;
}

/* Which of [b, hk] are equal in all of ten calls? "bh": none; "b": a factor a batch entry... */
static const char *varies(const char *text)
{
    struct fb_problem problem;
    struct fb_scaling s;
    bool by_b = false, by_h = false;
    fb_problem_parse(&problem, text);
    fb_scaling_make(&s, &fb_memory_host, &problem, &fb_numerics_standard, 1, 5);
    for (uint64_t call = 0; call < 10; call++) {
        fb_scaling_draw(&s, call);
        for (int64_t i = 0; i < s.b * s.hk; i++) {
            by_b |= s.host[i] != s.host[i % s.hk];
            by_h |= s.host[i] != s.host[i / s.hk * s.hk];
        }
    }
    fb_scaling_free(&s);
    fb_problem_free(&problem);
    return by_b ? by_h ? "bh" : "b" : by_h ? "h" : "";
}

static void test_shared(void)
{
    tap_is(varies("b=3,h=8,hk=4,n=8,d=8"), "bh", "each key head of each entry has its own");
    tap_is(varies("b=3,h=4,n=8,d=8,bias=full"), "bh", "a bias of its own changes nothing");
    tap_is(varies("b=3,h=4,n=8,d=8,sink"), "h", "a sink's gradient sums over the batch");
    tap_is(varies("b=3,h=4,n=8,d=8,bias=head"), "h", "so does that of a bias of heads");
    tap_is(varies("b=3,h=4,n=8,d=8,bias=batch"), "b", "that of a bias of entries over heads");
    tap_is(varies("b=3,h=4,n=8,d=8,bias=all"), "", "and one of all over both");
    tap_is(varies("b=3,h=4,n=8,d=8,layout=expanded-dout"), "", "one row of dout has one");
    tap_is(varies("h=4,qlens=3+5,klens=3+5,d=8"), "h", "packed sequences share a head's");
}

static void test_draws(void)
{
    struct fb_problem problem;
    struct fb_scaling s;
    float first[6];
    int equal = 0, powers = 0;
    fb_problem_parse(&problem, "b=2,h=3,n=8,d=8");
    fb_scaling_make(&s, &fb_memory_host, &problem, &fb_numerics_standard, 1, 5);
    fb_scaling_draw(&s, 0);
    memcpy(first, s.host, sizeof first);
    for (uint64_t call = 0; call < 200; call++) {
        fb_scaling_draw(&s, call);
        for (int i = 0; i < 6; i++)
            powers += is_power_of_two(s.host[i]) && fabsf(s.host[i]) <= 64;
        equal += !memcmp(first, s.host, sizeof first);
    }
    tap_ok(powers == 1200, "all are powers of two with a sign, 64 at most");
    tap_ok(equal == 1, "no two of 200 calls have the same");
    fb_scaling_draw(&s, 0);
    tap_ok(!memcmp(first, s.host, sizeof first), "a call's can be drawn again");
    tap_ok(!memcmp(first, s.value, sizeof first), "and lie in the memory they are for");
    fb_scaling_free(&s);
    fb_problem_free(&problem);
}

static int steps_of(const char *dtype, enum fb_acc dkv, double largest)
{
    struct fb_numerics numerics = fb_numerics_standard;
    struct fb_problem problem;
    struct fb_scaling s;
    char text[64];
    snprintf(text, sizeof text, "n=8,d=8,dtype=%s", dtype);
    fb_problem_parse(&problem, text);
    numerics.dkv = dkv;
    fb_scaling_make(&s, &fb_memory_host, &problem, &numerics, largest, 5);
    const int steps = s.steps;
    fb_scaling_free(&s);
    fb_problem_free(&problem);
    return steps;
}

static void test_range(void)
{
    tap_is_int(steps_of("fp32", FB_ACC_FP32, 3), 6, "six steps in fp32");
    tap_is_int(steps_of("bf16", FB_ACC_BF16, 3), 6, "and in bf16");
    tap_is_int(steps_of("fp32", FB_ACC_FP32, 1e35), 0, "none near the upper end");
    tap_is_int(steps_of("bf16", FB_ACC_FP32, 1e-35), 0, "nor near the lower one");
    tap_is_int(steps_of("fp16", FB_ACC_FP32, 3), 0, "signs alone in fp16");
    tap_is_int(steps_of("bf16", FB_ACC_FP16, 3), 0, "and where a sum is kept in it");
}

static void test_host(void)
{
    float from[2 * 2 * 3], to[2 * 2 * 3], factor[] = {2, -0.5f};
    const struct fb_factors factors = {factor, 1, 2};
    struct fb_tensor t = {.data = from, .dtype = FB_FP32, .shape = {1, 4, 1, 3}};
    struct fb_difference d;
    t = fb_tensor_dense(&t, from);
    struct fb_tensor out = fb_tensor_dense(&t, to);
    for (int i = 0; i < 12; i++)
        from[i] = (float)i + 1;
    fb_memory_host.scale(&fb_memory_host, &out, &t, &factors);
    tap_ok(to[0] == 2 && to[5] == 12 && to[6] == -3.5f && to[11] == -6,
           "two query heads have their key head's factor");
    fb_memory_host.compare(&fb_memory_host, &out, &t, &factors, &d);
    tap_ok(d.count == 0 && d.square == 0 && d.worst == 0, "no difference in the base's measure");
    to[1] = NAN;
    to[7] = -4.5f; /* 9, and 8 is right */
    fb_memory_host.compare(&fb_memory_host, &out, &t, &factors, &d);
    tap_ok(d.count == 2 && isinf(d.worst) && !isfinite(d.square), "a NaN is infinitely far");
    to[1] = from[1] * 2;
    fb_memory_host.compare(&fb_memory_host, &out, &t, &factors, &d);
    tap_ok(d.count == 1 && d.worst == 1 && d.square == 1, "distances are the base's");
    from[1] = to[1] = NAN;
    to[7] = -4;
    fb_memory_host.compare(&fb_memory_host, &out, &t, &factors, &d);
    tap_ok(d.count == 0, "NaN for NaN is the same");
    struct fb_tensor expanded = out;
    expanded.shape[0] = 5;
    expanded.stride[0] = expanded.stride[1] = 0;
    out = fb_tensor_distinct(&expanded);
    tap_ok(out.shape[0] == 1 && out.shape[1] == 1 && out.shape[3] == 3,
           "what stands for many is written once");
}

int main(void)
{
    test_shared();
    test_draws();
    test_range();
    test_host();
    return tap_done();
}
