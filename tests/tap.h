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
