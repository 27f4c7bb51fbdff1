/* SPDX-License-Identifier: BSD-3-Clause
 *
 * capture.h: what a function prints on stdout, as a string.
 */
#ifndef FB_TESTS_CAPTURE_H
#define FB_TESTS_CAPTURE_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct capture {
    int saved;
    FILE *file;
};

/* From here on stdout goes to a temporary file. */
static inline void capture_begin(struct capture *capture)
{
    fflush(stdout);
    capture->saved = dup(1);
    capture->file = tmpfile();
    if (!capture->file || dup2(fileno(capture->file), 1) < 0)
        abort();
}

/* stdout is back; what was printed (malloc'd). */
static inline char *capture_end(struct capture *capture)
{
    fflush(stdout);
    dup2(capture->saved, 1);
    close(capture->saved);
    clearerr(stdout);
    long length = lseek(fileno(capture->file), 0, SEEK_END);
    char *text = calloc((size_t)length + 1, 1);
    if (!text || pread(fileno(capture->file), text, (size_t)length, 0) != length)
        abort();
    fclose(capture->file);
    return text;
}

#endif
