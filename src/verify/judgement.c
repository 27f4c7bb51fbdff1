/* SPDX-License-Identifier: BSD-3-Clause */
#include "verify/judgement.h"

const char *fb_judged_name(enum fb_judged which)
{
    static const char *const names[] = {"o", "lse", "dq", "dk", "dv", "dbias", "dsink"};
    return (size_t)which < FB_JUDGED_COUNT ? names[which] : "unknown";
}
