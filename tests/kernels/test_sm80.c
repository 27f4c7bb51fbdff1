/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The sm80 variants without a device: sizes that the kernels' 32-bit numbers do not hold, and
 * dropout that takes p beyond fp16, are refused, by name; a schedule is one for every problem.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <string.h>

#include "core/numerics.h"
#include "core/offer.h"
#include "core/problem.h"
#include "core/registry.h"
#include "tests/tap.h"
#ifdef HAVE_CUDA
#include "variants/common/sm80.h"
#endif

#ifndef HAVE_CUDA

int main(void)
{
    tap_skip("sm80: built without CUDA");
    return tap_done();
}

#else

static const char *const names[] = {"sm80-atomic", "sm80-split", "sm80-ordered", "sm80-partials"};

static void test_refusal(const char *name, const char *text, int refused)
{
    static const char *const reasons[] = {"nq, nk, b*h:", "tiles:", "dropout:"};
    struct fb_problem problem;
    const struct fb_numerics numerics = fb_numerics_standard;
    const char *why = NULL;
    int named = 0;
    const int parsed = fb_problem_parse(&problem, text) == FB_OK;

    if (parsed) {
        why = fb_offer_why_not(fb_registry_find(name), &problem, &numerics);
        fb_problem_free(&problem);
    }
    for (size_t i = 0; why && i < sizeof reasons / sizeof *reasons; i++)
        named |= !strncmp(why, reasons[i], strlen(reasons[i]));
    tap_ok(parsed && named == refused, "%s, %s: %s", name, text, why ? why : "taken");
}

/* Units side by side: one at least, the kernels divide by them, and no more than there are. */
static void test_sections(void)
{
    static const char *const texts[] = {
        "h=64,nq=0,nk=8192,d=64,causal,dtype=bf16", /* key tiles that no query needs */
        "h=64,nq=0,nk=8192,d=64,window=64:64,dtype=fp16",
        "b=3,h=24,qlens=0+0+0,klens=8192+0+4096,d=64,dtype=bf16",
        "h=64,nq=8192,nk=0,d=64,causal,dtype=bf16",
        "h=64,nq=1,nk=8192,d=64,causal,dtype=bf16",
        "h=64,hk=2,n=131072,d=64,causal,dtype=bf16",
        "b=0,h=64,n=64,d=64,causal,dtype=bf16",
        "n=64,d=64,causal,dtype=bf16",
        "h=64,n=8192,d=64,dtype=bf16"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct fb_problem p;
        if (fb_problem_parse(&p, texts[i]) != FB_OK || !fb_sm80_kernels_for(&p)) {
            tap_ok(false, "%s: no kernels", texts[i]);
            continue;
        }
        const int64_t units = p.b * p.hk > 0 ? p.b * p.hk : 1;
        for (int ordered = 0; ordered < 2; ordered++) {
            const int section = fb_sm80_section(&p, ordered);
            tap_ok(section >= 1 && section <= units, "%s%s: %d of %lld units side by side",
                   texts[i], ordered ? ", ordered" : "", section, (long long)units);
        }
        const int turn = fb_sm80_turn(&p);
        tap_ok(turn >= 0 && turn <= 3, "... turns of 2^%d query tiles", turn);
        fb_problem_free(&p);
    }
}

int main(void)
{
    test_sections();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        test_refusal(names[i], "n=300000000,d=64,dtype=bf16", 1);
        test_refusal(names[i], "b=131072,nq=1,nk=2097152,d=64,dtype=bf16", 1); /* 2^31 key tiles */
        /* ... and of queries */
        test_refusal(names[i], "b=131072,nq=2097152,nk=1,d=64,dtype=bf16", 1);
        test_refusal(names[i], "b=131072,h=4,hk=1,nq=64,nk=524288,d=64,dtype=bf16", 0);
        test_refusal(names[i], "n=64,d=64,dropout=0.997@1:0,dtype=fp16", 1);
        test_refusal(names[i], "n=64,d=64,dropout=0.995@1:0,dtype=fp16", 0);
        test_refusal(names[i], "n=64,d=64,dropout=0.997@1:0,dtype=bf16", 0);
    }
    return tap_done();
}

#endif
