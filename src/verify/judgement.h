/* SPDX-License-Identifier: BSD-3-Clause
 *
 * judgement.h: what the judge says of the tensors of a call.
 */
#ifndef FB_VERIFY_JUDGEMENT_H
#define FB_VERIFY_JUDGEMENT_H

#include "verify/metrics.h"

enum fb_verdict {
    FB_VERDICT_ABSENT,        /* the tensor was not handed over, or the problem has none */
    FB_VERDICT_PASS,          /* within the bound */
    FB_VERDICT_FAIL,          /* outside, or non-finite */
    FB_VERDICT_NOT_CHECKABLE, /* the problem is so ill-conditioned that the bound says nothing */
};

enum fb_judged { /* the tensors that are judged */
                 FB_JUDGED_O,
                 FB_JUDGED_LSE,
                 FB_JUDGED_DQ,
                 FB_JUDGED_DK,
                 FB_JUDGED_DV,
                 FB_JUDGED_DBIAS,
                 FB_JUDGED_DSINK,
                 FB_JUDGED_COUNT
};

struct fb_judgement {
    struct fb_metrics metrics[FB_JUDGED_COUNT]; /* bound_ratio is against the declared numerics */
    enum fb_verdict declared[FB_JUDGED_COUNT];  /* against the numerics the variant declared */
    enum fb_verdict standard[FB_JUDGED_COUNT];  /* against fb_numerics_standard */
    enum fb_verdict verdict;          /* FAIL if any tensor failed, else NOT_CHECKABLE if any, else
                                         PASS; ABSENT when no tensor was handed over */
    enum fb_verdict verdict_standard; /* the same over `standard` */
    char reason[256]; /* one line on the first tensor that did not pass, "" if none */
    char remark[256]; /* one line that is no verdict, "" if none: a declared accumulator that shows
                         no trace of its roundings (the variant may not do what it declares), or
                         exact data that a declared rounding leaves inexact */
};

const char *fb_judged_name(enum fb_judged which); /* "o", "lse", "dq", ... */

#endif
