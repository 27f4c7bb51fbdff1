/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/numbers.h"

#include <ctype.h>
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

bool fb_number_int(const char *text, int64_t *value)
{
    char *end;
    if (!isdigit((unsigned char)text[0]) && !(text[0] == '-' && isdigit((unsigned char)text[1])))
        return false;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    if (errno || *end)
        return false;
    *value = number;
    return true;
}

bool fb_number_uint(const char *text, uint64_t *value)
{
    char *end;
    if (!isdigit((unsigned char)text[0]))
        return false;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    if (errno || *end)
        return false;
    *value = number;
    return true;
}

/* strtod and printf follow LC_NUMERIC; with the "C" locale they do not. The locale object is made
 * once and lives as long as the process. */
static locale_t c_locale(void)
{
    static locale_t locale;
    if (!locale)
        locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    return locale;
}

void fb_number_print_real(char text[FB_NUMBER_TEXT], double value)
{
    locale_t locale = c_locale();
    locale_t before = locale ? uselocale(locale) : (locale_t)0;
    snprintf(text, FB_NUMBER_TEXT, "%.17g", value);
    if (before)
        uselocale(before);
}

bool fb_number_real(const char *text, double *value)
{
    char *end;
    locale_t locale = c_locale();
    if (!locale || !(isdigit((unsigned char)text[0]) || text[0] == '-' || text[0] == '.'))
        return false;
    double number = strtod_l(text, &end, locale);
    if (end == text || *end || !isfinite(number))
        return false;
    *value = number;
    return true;
}
