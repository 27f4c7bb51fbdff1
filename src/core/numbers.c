/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/numbers.h"

#include <ctype.h>
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>

bool fb_number_int(const char *text, int64_t *value)
{
    char *end;
    if (!isdigit((unsigned char)text[0]) &&
        !(text[0] == '-' && isdigit((unsigned char)text[1])))
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

/* strtod follows LC_NUMERIC; strtod_l with the "C" locale does not. The locale object is made once
 * and lives as long as the process. */
bool fb_number_real(const char *text, double *value)
{
    static locale_t c_locale;
    char *end;
    if (!c_locale)
        c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!c_locale || !(isdigit((unsigned char)text[0]) || text[0] == '-' || text[0] == '.'))
        return false;
    double number = strtod_l(text, &end, c_locale);
    if (end == text || *end || !isfinite(number))
        return false;
    *value = number;
    return true;
}
