/* SPDX-License-Identifier: BSD-3-Clause
 *
 * golden.h: the test of the reference itself on a golden file.
 */
#ifndef FB_VERIFY_GOLDEN_H
#define FB_VERIFY_GOLDEN_H

#include <stdbool.h>

#include "flashback.h"

/* Judges the reference on every group, in double precision and on the exact inputs. One line a
 * group through `report` (name, largest error over the tolerance, passed). */
enum fb_status fb_golden_check_reference(const char *path,
                                         void (*report)(void *user, const char *group, double ratio,
                                                        bool passed),
                                         void *user);

#endif
