/* SPDX-License-Identifier: BSD-3-Clause
 *
 * golden.h: groups of a golden file as cases, with the recipe "golden:FILE#GROUP", and the test of
 * the reference itself on them.
 */
#ifndef FB_CASES_GOLDEN_H
#define FB_CASES_GOLDEN_H

#include <stdbool.h>

#include "cases/case.h"
#include "store/golden.h"

bool fb_golden_is_recipe(const char *recipe);

/* Reads the group that the recipe names. FB_USAGE: no such group. */
enum fb_status fb_golden_load(const char *recipe, struct fb_golden_case *one);

/* Rounds the group's inputs into the tensors of args. */
enum fb_status fb_golden_copy_inputs(const struct fb_golden_case *one, const struct fb_args *args);

/* Appends the cases of a file: every group in fp32, bf16 and fp16 for each of the variants. */
enum fb_status fb_golden_cases(const char *path, const char *const *variants, size_t variant_count,
                               struct fb_case **cases, size_t *count);

/* Judges the reference on every group, in double precision and on the exact inputs. One line a
 * group through `report` (name, largest error over the tolerance, passed). */
enum fb_status fb_golden_check_reference(const char *path,
                                         void (*report)(void *user, const char *group, double ratio,
                                                        bool passed),
                                         void *user);

#endif
