/* SPDX-License-Identifier: BSD-3-Clause
 *
 * check.h: `flashback check`: judges cases and prints one row each; nothing is timed or logged.
 */
#ifndef FB_RUN_CHECK_H
#define FB_RUN_CHECK_H

#include "cases/set.h"

enum fb_status fb_check_cases(const struct fb_check_options *options, int *exit_status);

#endif
