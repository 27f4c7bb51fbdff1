/* SPDX-License-Identifier: BSD-3-Clause
 *
 * tap.h: the Test Anything Protocol, as much of it as a test program needs. One line a check on
 * stdout; automake's TAP driver counts them. End main with `return tap_done();`.
 */
#ifndef FB_TESTS_TAP_H
#define FB_TESTS_TAP_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static int tap_count;
static int tap_failed;

__attribute__((format(printf, 2, 3), unused)) static bool tap_ok(bool passed, const char *format,
                                                                 ...)
{
    va_list arguments;
    tap_count++;
    tap_failed += !passed;
    printf("%sok %d - ", passed ? "" : "not ", tap_count);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
    fflush(stdout);
    return passed;
}

/* The comparisons below: a check that fails shows both sides. */
__attribute__((format(printf, 4, 0), unused)) static bool
tap_compared(bool passed, const char *got, const char *want, const char *format, va_list arguments)
{
    char text[512];
    vsnprintf(text, sizeof text, format, arguments);
    if (!tap_ok(passed, "%s", text))
        printf("# got:    %s\n# wanted: %s\n", got, want);
    return passed;
}

/* Equal texts; NULL is equal to NULL alone. */
__attribute__((format(printf, 3, 4), unused)) static bool tap_is(const char *got, const char *want,
                                                                 const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    bool passed = tap_compared(got && want ? !strcmp(got, want) : got == want, got ? got : "(null)",
                               want ? want : "(null)", format, arguments);
    va_end(arguments);
    return passed;
}

/* Equal whole numbers. */
__attribute__((format(printf, 3, 4), unused)) static bool tap_is_int(long long got, long long want,
                                                                     const char *format, ...)
{
    char left[32], right[32];
    va_list arguments;
    snprintf(left, sizeof left, "%lld", got);
    snprintf(right, sizeof right, "%lld", want);
    va_start(arguments, format);
    bool passed = tap_compared(got == want, left, right, format, arguments);
    va_end(arguments);
    return passed;
}

/* Equal doubles; NaN is equal to NaN. */
__attribute__((format(printf, 3, 4), unused)) static bool tap_is_real(double got, double want,
                                                                      const char *format, ...)
{
    char left[32], right[32];
    va_list arguments;
    snprintf(left, sizeof left, "%.17g", got);
    snprintf(right, sizeof right, "%.17g", want);
    va_start(arguments, format);
    bool passed =
        tap_compared(got == want || (got != got && want != want), left, right, format, arguments);
    va_end(arguments);
    return passed;
}

__attribute__((format(printf, 1, 2), unused)) static void tap_skip(const char *format, ...)
{
    va_list arguments;
    printf("ok %d # SKIP ", ++tap_count);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
}

/* A remark that the driver shows but does not count. */
__attribute__((format(printf, 1, 2), unused)) static void tap_note(const char *format, ...)
{
    va_list arguments;
    fputs("# ", stdout);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
}

/* Prints the plan and gives the exit status: 0 when every check passed. */
__attribute__((unused)) static int tap_done(void)
{
    printf("1..%d\n", tap_count);
    return tap_failed ? 1 : 0;
}

#endif
