/* SPDX-License-Identifier: BSD-3-Clause
 *
 * self_test.h: `flashback check --self-test`. The traps (variants/traps.c) go through a check like
 * any variant, on problems that must fail them and on problems that cannot show their mistake and
 * must pass; then the judge itself is tried (verify/self_test/self_test.h).
 */
#ifndef FB_RUN_SELF_TEST_H
#define FB_RUN_SELF_TEST_H

#include <stdbool.h>

#include "flashback.h"

/* Prints a line a case. *exit_status: 0 when all went as it must, 1 else, 128 + a signal. */
enum fb_status fb_self_test(bool quiet, int *exit_status);

#endif
