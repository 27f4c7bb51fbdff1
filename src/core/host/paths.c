/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/host/paths.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* FB_SRCDIR, FB_BUILDDIR and FB_PKGDATADIR are absolute paths given by the makefile. */
#if !defined FB_SRCDIR || !defined FB_BUILDDIR || !defined FB_PKGDATADIR
#error "compile paths.c with -DFB_SRCDIR=, -DFB_BUILDDIR= and -DFB_PKGDATADIR="
#endif

/* Does the running program lie in the folder it was built in? An installed copy does not. */
static bool runs_from_build(void)
{
    char program[4096];
    size_t length = strlen(FB_BUILDDIR);
    ssize_t got = readlink("/proc/self/exe", program, sizeof program - 1);
    if (got <= 0)
        return false;
    program[got] = '\0';
    return !strncmp(program, FB_BUILDDIR, length) && program[length] == '/';
}

const char *fb_datadir(void)
{
    const char *given = getenv("FLASHBACK_DATADIR");
    if (given && *given)
        return given;
    return runs_from_build() ? FB_SRCDIR : FB_PKGDATADIR;
}
