/* SPDX-License-Identifier: BSD-3-Clause
 *
 * describe.h: the part of a record that follows from its case and the machine, so that a case that
 * crashed has it too, and stands in its group.
 */
#ifndef FB_CASES_DESCRIBE_H
#define FB_CASES_DESCRIBE_H

#include "cases/case.h"
#include "store/record.h"

/* Key, variant, problem, numerics, recipe, threads and the columns derived from them. */
enum fb_status fb_describe_case(struct fb_record *record, const struct fb_case *one);

/* Tiles and kernel, as far as they are known: again where a library chooses only when it is asked.
 */
enum fb_status fb_describe_kernel(struct fb_record *record, const struct fb_variant *variant,
                                  const struct fb_problem *problem,
                                  const struct fb_numerics *numerics);

/* How it ended, and why. */
enum fb_status fb_describe_end(struct fb_record *record, enum fb_outcome outcome,
                               const char *reason);

#endif
