/* SPDX-License-Identifier: BSD-3-Clause
 *
 * half.h: bf16 and fp16 as bit patterns, for the harness (inputs, comparison, dumps). Round to
 * nearest even; NaN stays NaN. Kernels keep their own, so that the judge shares nothing with them.
 */
#ifndef FB_CORE_HALF_H
#define FB_CORE_HALF_H

#include <stdint.h>

#include "flashback.h"

float fb_bf16_to_float(uint16_t bits);
float fb_fp16_to_float(uint16_t bits);
/* From double in one rounding (double to float to half would round twice). Magnitudes that round
 * beyond the largest finite value become infinite. */
uint16_t fb_double_to_bf16(double value);
uint16_t fb_double_to_fp16(double value);

/* Element `index` (counted in elements) of an array of dtype. */
double fb_element_read(const void *data, enum fb_dtype dtype, int64_t index);
/* `count` elements from `index` on, `stride` apart. */
void fb_elements_read(double *to, const void *data, enum fb_dtype dtype, int64_t index,
                      int64_t stride, int64_t count);
void fb_element_write(void *data, enum fb_dtype dtype, int64_t index, double value);

#endif
