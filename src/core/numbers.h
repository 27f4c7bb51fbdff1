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

#define FB_NUMBER_TEXT 32

/* "%.17g" with a decimal point: reading it gives the same double. */
void fb_number_print_real(char text[FB_NUMBER_TEXT], double value);

#endif
