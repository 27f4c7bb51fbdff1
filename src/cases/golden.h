/* SPDX-License-Identifier: BSD-3-Clause
 *
 * golden.h: groups of a golden file as cases, with the recipe "golden:FILE#GROUP".
 */
#ifndef FB_CASES_GOLDEN_H
#define FB_CASES_GOLDEN_H

#include "cases/case.h"

/* Adds the cases of a file: every group in fp32, bf16 and fp16 for each of the variants. */
enum fb_status fb_golden_cases(const char *path, const char *const *variants, size_t variant_count,
                               struct fb_case_set *set);

#endif
