/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Numerics as text: all 1536 combinations come back, faults are named.
 */
#include <string.h>

#include "core/numerics.h"
#include "core/status.h"
#include "tests/tap.h"

static void check_refused(const char *text, const char *part)
{
    struct fb_numerics numerics;
    enum fb_status status = fb_numerics_parse(&numerics, text);
    if (!tap_ok(status == FB_USAGE && strstr(fb_status_message(), part), "'%s' is refused: %s",
                text, part))
        tap_note("got %d '%s'", (int)status, fb_status_message());
    fb_status_clear();
}

static int round_trip(const struct fb_numerics *numerics)
{
    struct fb_numerics again;
    char text[FB_NUMERICS_TEXT], second[FB_NUMERICS_TEXT];
    fb_numerics_print(numerics, text);
    if (fb_numerics_parse(&again, text) != FB_OK)
        return 0;
    fb_numerics_print(&again, second);
    return fb_numerics_equal(numerics, &again) && !strcmp(text, second);
}

static void test_all(void)
{
    int good = 0, standard = 0, total = 0;
    for (int i = 0; i < 8 * 8 * 2 * 3 * 2 * 2; i++) {
        struct fb_numerics n = {.dkv = (enum fb_acc)(i % 8),
                                .dq = (enum fb_acc)(i / 8 % 8),
                                .ps = (enum fb_ps)(i / 64 % 2),
                                .delta = (enum fb_delta)(i / 128 % 3),
                                .lse = (enum fb_lse)(i / 384 % 2),
                                .round = (enum fb_round)(i / 768 % 2)};
        total++;
        good += round_trip(&n);
        standard += fb_numerics_is_standard(&n);
    }
    tap_ok(good == total, "parse(print(n)) == n for %d of %d", good, total);
    tap_ok(standard == 1, "one of them is the standard");
}

int main(void)
{
    struct fb_numerics n;
    char text[FB_NUMERICS_TEXT];
    test_all();
    tap_ok(fb_numerics_parse(&n, "") == FB_OK && fb_numerics_is_standard(&n),
           "the empty text is the standard");
    fb_numerics_print(&n, text);
    tap_is(text, "dkv=fp32,dq=fp32,ps=in,delta=fp32,lse=fp32,round=tile",
           "the standard prints in full");
    tap_ok(fb_numerics_parse(&n, "round=row,dkv=bf16-stochastic") == FB_OK &&
               n.dkv == FB_ACC_BF16_STOCHASTIC && n.round == FB_ROUND_ROW && n.dq == FB_ACC_FP32,
           "items in any order, the rest standard");
    check_refused("dkv=fp8", "dkv=fp8 is not one of fp32, bf16, bf16-stochastic");
    check_refused("round=", "round= is not one of tile, row");
    check_refused("ps=FP32", "ps=FP32 is not one of in, fp32");
    check_refused("acc=fp32", "'acc' is not an item of the numerics; allowed: dkv=");
    check_refused("dkv", "'dkv' is not an item");
    check_refused("dkv=fp32,", "'' is not an item");
    check_refused("dq=bf16,dq=bf16", "dq is given twice");
    check_refused("dkv=fp32,dq=fp32,ps=in,delta=fp32,lse=fp32,round=tile,dkv=fp32,dq=fp32,ps=in,"
                  "delta=fp32,lse=fp32,round=tile,dkv=fp32,dq=fp32,ps=in,delta=fp32,lse=fp32,"
                  "round=tile,dkv=fp32,dq=fp32,ps=in,delta=fp32,lse=fp32,round=tile,dkv=fp32",
                  "given twice");
    return tap_done();
}
