/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/log.h"

#include <stdarg.h>
#include <stdio.h>

static bool is_quiet;

void fb_log_quiet(bool quiet)
{
    is_quiet = quiet;
}

static void write_line(const char *kind, const char *format, va_list arguments)
{
    char text[1024];
    vsnprintf(text, sizeof text, format, arguments);
    fprintf(stderr, "flashback: %s%s\n", kind, text);
}

void fb_log_note(const char *format, ...)
{
    if (is_quiet)
        return;
    va_list arguments;
    va_start(arguments, format);
    write_line("", format, arguments);
    va_end(arguments);
}

void fb_log_warn(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    write_line("warning: ", format, arguments);
    va_end(arguments);
}
