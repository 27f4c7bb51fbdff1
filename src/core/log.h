/* SPDX-License-Identifier: BSD-3-Clause
 *
 * log.h: remarks to the user on stderr, one line each. Errors travel by status.h instead.
 */
#ifndef FB_CORE_LOG_H
#define FB_CORE_LOG_H

#include <stdbool.h>

void fb_log_quiet(bool quiet); /* drops notes; warnings stay */
void fb_log_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
void fb_log_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
