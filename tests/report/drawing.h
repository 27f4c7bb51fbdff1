/* SPDX-License-Identifier: BSD-3-Clause
 *
 * drawing.h: the main of a program whose tests draw figures.
 */
#ifndef FB_TESTS_REPORT_DRAWING_H
#define FB_TESTS_REPORT_DRAWING_H

#include <stdlib.h>
#include <unistd.h>

#include "tests/tap.h"

/* Runs the tests with a new folder, a template of mkdtemp, which they leave empty; skips them where
 * there is no gnuplot. The scripts are those of the source tree. */
static inline int drawing_main(char *folder, void (*tests)(void))
{
    const char *source = getenv("srcdir");
    if (system("gnuplot --version >/dev/null 2>&1") != 0) {
        tap_skip("gnuplot is not installed");
        return tap_done();
    }
    if (!mkdtemp(folder))
        return 99;
    setenv("FLASHBACK_DATADIR", source ? source : ".", 0);
    tests();
    rmdir(folder);
    return tap_done();
}

#endif
