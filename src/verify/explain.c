/* SPDX-License-Identifier: BSD-3-Clause */
#include "verify/explain.h"

#include <stdio.h>

#include "verify/bound.h"

void fb_judge_explain(double rho, enum fb_judged which, struct fb_judgement *j)
{
    const struct fb_metrics *m = &j->metrics[which];
    char at[96];
    snprintf(at, sizeof at, "[%lld,%lld,%lld,%lld]", (long long)m->worst[0], (long long)m->worst[1],
             (long long)m->worst[2], (long long)m->worst[3]);
    if (j->declared[which] == FB_VERDICT_NOT_CHECKABLE)
        snprintf(j->reason, sizeof j->reason,
                 "%s: scores so large that fp32 leaves p uncertain by %.2g: no verdict",
                 fb_judged_name(which), rho);
    else if (m->nonfinite > 0)
        snprintf(j->reason, sizeof j->reason, "%s: %lld non-finite values, at %s: %g for %g",
                 fb_judged_name(which), (long long)m->nonfinite, at, m->worst_got, m->worst_want);
    else if (!(m->bound_ratio <= 1))
        snprintf(j->reason, sizeof j->reason, "%s: %.3g times the bound at %s: %.9g for %.9g",
                 fb_judged_name(which), m->bound_ratio, at, m->worst_got, m->worst_want);
    else
        snprintf(j->reason, sizeof j->reason,
                 "%s: errors are %.3g times those of the declared roundings (at most %g), relative "
                 "L2 %.2g",
                 fb_judged_name(which), m->noise_ratio, FB_BOUND_NOISE, m->rel_l2);
}

/* A declared rounding that leaves no error behind did not happen. Compensated bf16 sums are left
 * out: whether the compensation is added to the result is the variant's business. */
void fb_judge_suspect(const struct fb_numerics *declared, enum fb_judged which,
                      struct fb_judgement *j)
{
    enum fb_acc acc = which == FB_JUDGED_DQ ? declared->dq : declared->dkv;
    bool rounds = acc == FB_ACC_BF16 || acc == FB_ACC_BF16_STOCHASTIC ||
                  acc == FB_ACC_BF16_TRUNCATE || acc == FB_ACC_FP16;
    bool gradient = which == FB_JUDGED_DQ || which == FB_JUDGED_DK || which == FB_JUDGED_DV;
    if (rounds && gradient && j->metrics[which].noise_ratio < FB_BOUND_SILENCE && !j->remark[0])
        snprintf(j->remark, sizeof j->remark,
                 "%s: errors are %.2g times those of the declared accumulator: is it what it says?",
                 fb_judged_name(which), j->metrics[which].noise_ratio);
}
