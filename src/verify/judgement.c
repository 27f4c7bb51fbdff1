/* SPDX-License-Identifier: BSD-3-Clause */
#include "verify/judgement.h"

const char *fb_verdict_name(enum fb_verdict verdict)
{
    static const char *const names[] = {"absent", "pass", "fail", "not-checkable"};
    return (size_t)verdict < sizeof names / sizeof *names ? names[verdict] : "unknown";
}

const char *fb_judged_name(enum fb_judged which)
{
    static const char *const names[] = {"o", "lse", "dq", "dk", "dv", "dbias", "dsink"};
    return (size_t)which < FB_JUDGED_COUNT ? names[which] : "unknown";
}
