/* SPDX-License-Identifier: BSD-3-Clause
 *
 * self_test.h: the judge on trial. Faults are put into perfect gradients, one at a time, and the
 * judge has to find each. Then judges with a fault of their own (mutants.h) go through the same:
 * each must miss the fault that is meant for it, or the test could not tell it from a sound one.
 */
#ifndef FB_VERIFY_SELF_TEST_SELF_TEST_H
#define FB_VERIFY_SELF_TEST_SELF_TEST_H

#include <stdbool.h>

#include "flashback.h"

/* Called for each line of the test: who was on trial ("judge", or what a mutant does), with which
 * fault, whether it went as it must, and the judge's reason ("" where it passed the tensors). */
struct fb_self_test_report {
    void (*line)(void *user, const char *judge, const char *fault, bool as_expected,
                 const char *reason);
    void *user;
};

/* FB_OK whatever is found; FB_NO_MEMORY. */
enum fb_status fb_judge_self_test(const struct fb_self_test_report *report);

#endif
