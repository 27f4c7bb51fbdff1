/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The reference's parts: its own conversions, masks and random numbers, and the cost model, against
 * definitions and known answers.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/half.h"
#include "data/philox.h"
#include "core/problem.h"
#include "core/cost.h"
#include "reference/internal.h"
#include "reference/philox.h"
#include "tests/tap.h"

/* ---- Conversions ------------------------------------------------------------------------------
 */

static bool same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

static void test_conversions(void)
{
    int wrong[4] = {0};
    for (uint32_t bits = 0; bits < 65536; bits++) {
        uint16_t half = (uint16_t)bits;
        struct fb_ref_view view = {.data = &half, .type = FB_REF_BF16};
        wrong[0] += !same(fb_ref_read(&view, 0, 0, 0, 0), fb_bf16_to_float(half));
        view.type = FB_REF_FP16;
        wrong[1] += !same(fb_ref_read(&view, 0, 0, 0, 0), fb_fp16_to_float(half));
        /* The value, halfway to the next, and a hair to either side of halfway. */
        double value = fb_fp16_to_float(half), next = fb_fp16_to_float((uint16_t)(half + 1));
        double bvalue = fb_bf16_to_float(half), bnext = fb_bf16_to_float((uint16_t)(half + 1));
        for (int shift = -1; shift <= 1; shift++) {
            double x = (value + next) / 2 * (1 + shift * 0x1p-40);
            double y = (bvalue + bnext) / 2 * (1 + shift * 0x1p-40);
            if (isfinite(x))
                wrong[2] +=
                    !same(fb_ref_round(FB_REF_TO_FP16, x), fb_fp16_to_float(fb_double_to_fp16(x)));
            if (isfinite(y) && fabs(y) > 0x1p-120) /* bf16 subnormals play no part */
                wrong[3] +=
                    !same(fb_ref_round(FB_REF_TO_BF16, y), fb_bf16_to_float(fb_double_to_bf16(y)));
        }
    }
    tap_is_int((long long)wrong[0], 0, "all bf16 patterns read alike in reference and harness");
    tap_is_int((long long)wrong[1], 0, "all fp16 patterns too");
    tap_is_int((long long)wrong[2], 0, "rounding to fp16 around every midpoint agrees: %d differ",
               wrong[2]);
    tap_is_int((long long)wrong[3], 0, "rounding to bf16 around every midpoint agrees: %d differ",
               wrong[3]);
    tap_ok(fb_ref_round(FB_REF_TO_BF16, 1 + 0x1p-8) == 1, "ties go to even");
    tap_ok(fb_ref_round(FB_REF_TO_FP16, 65519.99) == 65504 &&
               isinf(fb_ref_round(FB_REF_TO_FP16, 65520)),
           "fp16 overflows from 65520 on");
}

/* ---- Masks and costs --------------------------------------------------------------------------
 */

static double check_masks_of(struct fb_problem *p, int *wrong)
{
    double pairs = 0;
    for (int64_t i = 0; i < p->nq; i++) {
        int64_t lo, hi, first, last;
        fb_ref_keys(p, p->nq, p->nk, i, &lo, &hi);
        fb_problem_visible(p, p->nq, p->nk, i, &first, &last);
        for (int64_t j = 0; j < p->nk; j++) {
            bool seen = fb_ref_visible(p, p->nq, p->nk, i, j);
            pairs += seen;
            *wrong += seen != (lo <= j && j < hi);
            *wrong += seen != (first <= j && j <= last);
        }
    }
    return pairs;
}

static void test_masks(void)
{
    static const int64_t windows[] = {FB_OPEN, 0, 1, 3, 20};
    int wrong = 0, costs = 0;
    for (int64_t n = 0; n < 7 * 7 * 3 * 25; n++) {
        struct fb_problem p;
        fb_problem_init(&p);
        p.b = 2, p.h = p.hk = 3, p.d = 8, p.dv = 4;
        p.nq = n % 7, p.nk = n / 7 % 7;
        p.mask = (enum fb_mask)(n / 49 % 3);
        p.window_left = windows[n / 147 % 5];
        p.window_right = windows[n / 735 % 5];
        struct fb_cost cost;
        double pairs = 6 * check_masks_of(&p, &wrong);
        fb_cost_of(&cost, &p, fb_problem_pairs(&p));
        costs += cost.pairs != pairs || cost.forward_flops != 2 * pairs * 12 ||
                 cost.backward_flops != 2 * pairs * (3 * 8 + 2 * 4);
    }
    tap_is_int((long long)wrong, 0,
               "ranges and the definition agree on every small mask: %d differ", wrong);
    tap_ok(costs == 0, "pairs and FLOPs are exact: %d differ", costs);
}

static void test_cost(void)
{
    struct fb_problem p;
    struct fb_cost cost;
    fb_problem_parse(&p, "b=64,h=16,n=1024,d=64,dtype=bf16");
    fb_cost_of(&cost, &p, fb_problem_pairs(&p));
    tap_ok(cost.backward_flops == 2.5 * cost.forward_flops && cost.pairs == 1024.0 * 1024 * 1024,
           "backward is 2.5 times forward where dv = d");
    tap_ok(fb_cost_executed(&p, fb_problem_pairs(&p), 5) == cost.backward_flops &&
               fb_cost_executed(&p, fb_problem_pairs(&p), 7) == 1.4 * cost.backward_flops &&
               fb_cost_executed(&p, fb_problem_pairs(&p), 4) == 0.8 * cost.backward_flops,
           "executed GEMMs: 5 is nominal, 7 is 7/5, 4 is 4/5");
    tap_ok(cost.backward_bytes == 64.0 * 16 * 1024 * (8 * 64 * 2 + 4), "bytes of the backward");
    fb_problem_free(&p);
    fb_problem_parse(&p, "h=2,n=1024,d=64,causal,dtype=bf16");
    fb_cost_of(&cost, &p, fb_problem_pairs(&p));
    tap_ok(cost.pairs == 2 * 1024.0 * 1025 / 2, "causal counts n (n + 1) / 2");
    fb_problem_free(&p);
    fb_problem_parse(&p, "b=3,h=2,nq=5,nk=6,d=4,qlens=5+0+2,klens=6+3+4,causal,dtype=fp32");
    fb_cost_of(&cost, &p, fb_problem_pairs(&p));
    tap_ok(cost.pairs == 2 * ((2 + 3 + 4 + 5 + 6) + 0 + (3 + 4)),
           "packed sequences count one by one");
    fb_problem_free(&p);
}

/* ---- Dropout ----------------------------------------------------------------------------------
 */

static void test_philox(void)
{
    static const uint32_t known[3][10] = {
        {0, 0, 0, 0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
        {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0x408f276d,
         0x41c83b0e, 0xa20bc7c6, 0x6d5451fd},
        {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0, 0xd16cfe09,
         0x94fdcceb, 0x5001e420, 0x24126ea1}};
    for (int n = 0; n < 3; n++) {
        uint32_t out[4], core[4];
        fb_ref_philox(known[n], known[n] + 4, out);
        fb_philox(known[n][4] | (uint64_t)known[n][5] << 32, known[n], core);
        tap_ok(!memcmp(out, known[n] + 6, sizeof out), "Philox4x32-10 known answer %d", n);
        tap_ok(!memcmp(out, core, sizeof out), "and the harness agrees");
    }
    struct fb_problem p;
    fb_problem_parse(&p, "b=2,h=3,nq=50,nk=70,d=8,dropout=0.48@1234567890123:7,dtype=fp32");
    int64_t count = 2 * 3 * 50 * 70, kept = 0, moved = 0;
    uint8_t *mask = malloc((size_t)count), *other = malloc((size_t)count);
    fb_ref_philox_mask(&p, mask);
    p.dropout_seed++;
    fb_ref_philox_mask(&p, other);
    for (int64_t n = 0; n < count; n++) {
        kept += mask[n];
        moved += mask[n] != other[n];
    }
    double share = (double)kept / (double)count;
    tap_ok(fabs(share - 0.52) < 0.015, "dropout 0.48 keeps %.3f", share);
    tap_ok(fabs((double)moved / (double)count - 2 * 0.48 * 0.52) < 0.02,
           "another seed is another mask: %lld of %lld differ", (long long)moved, (long long)count);
    p.dropout_seed--;
    p.dropout_offset++;
    fb_ref_philox_mask(&p, other);
    tap_ok(memcmp(mask, other, (size_t)count), "another offset is another mask");
    free(mask);
    free(other);
    fb_problem_free(&p);
}

int main(void)
{
    test_conversions();
    test_masks();
    test_cost();
    test_philox();
    return tap_done();
}
