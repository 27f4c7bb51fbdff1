/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local char message[512];
static _Thread_local char trail[512];
static _Thread_local const char *item;

static void add_crumb(const char *file, int line)
{
    size_t used = strlen(trail);
    if (used + 1 < sizeof trail)
        snprintf(trail + used, sizeof trail - used, "%s%s:%d", used ? " < " : "", file, line);
}

/* What a user typed may hold a line feed, or an escape that a terminal obeys. */
static void keep_one_line(void)
{
    for (char *c = message; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127)
            *c = '?';
}

enum fb_status fb_fail_at(const char *file, int line, enum fb_status status, const char *format,
                          ...)
{
    if (!message[0]) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(message, sizeof message, format, arguments);
        va_end(arguments);
        keep_one_line();
    }
    add_crumb(file, line);
    return status;
}

enum fb_status fb_status_about(enum fb_status status, const char *about)
{
    if (status != FB_OK && !item)
        item = about;
    return status;
}

const char *fb_status_item(void)
{
    return item ? item : "";
}

enum fb_status fb_status_pass(const char *file, int line, enum fb_status status)
{
    add_crumb(file, line);
    return status;
}

const char *fb_status_message(void)
{
    return message;
}

const char *fb_status_trail(void)
{
    return trail;
}

const char *fb_status_name(enum fb_status status)
{
    static const char *const names[] = {"ok", "refused", "usage",   "no memory", "device",
                                        "io", "locked",  "corrupt", "internal"};
    return (size_t)status < sizeof names / sizeof *names ? names[status] : "unknown";
}

void fb_status_clear(void)
{
    message[0] = '\0';
    trail[0] = '\0';
    item = NULL;
}
