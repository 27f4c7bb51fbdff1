/* SPDX-License-Identifier: BSD-3-Clause
 *
 * numbers.h: numbers as text, the same in every locale. The whole text must be the number.
 */
#ifndef FB_CORE_NUMBERS_H
#define FB_CORE_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>

bool fb_number_int(const char *text, int64_t *value);   /* decimal, fits int64_t */
bool fb_number_uint(const char *text, uint64_t *value); /* decimal, fits uint64_t, no sign */
bool fb_number_real(const char *text, double *value);   /* finite, decimal point */

#endif
