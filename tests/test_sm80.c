/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The sm80 variants without a device: sizes that the kernels' 32-bit numbers do not hold, and
 * dropout that takes p beyond fp16, are refused, by name.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <string.h>

#include "core/numerics.h"
#include "core/problem.h"
#include "core/registry.h"
#include "tests/tap.h"

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
    static const char *const reasons[] = {"lengths", "tiles of queries", "dtype=fp16 only"};
    struct fb_problem problem;
    const struct fb_numerics numerics = fb_numerics_standard;
    const char *why = NULL;
    int named = 0;
    const int parsed = fb_problem_parse(&problem, text) == FB_OK;

    if (parsed) {
        why = fb_registry_find(name)->why_not(&problem, &numerics);
        fb_problem_free(&problem);
    }
    for (size_t i = 0; why && i < sizeof reasons / sizeof *reasons; i++)
        named |= !strncmp(why, reasons[i], strlen(reasons[i]));
    tap_ok(parsed && named == refused, "%s, %s: %s", name, text, why ? why : "taken");
}

int main(void)
{
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
