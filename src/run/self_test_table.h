/* SPDX-License-Identifier: BSD-3-Clause
 *
 * self_test_table.h: what the traps are tried on, and what must come of it.
 */
#ifndef FB_RUN_SELF_TEST_TABLE_H
#define FB_RUN_SELF_TEST_TABLE_H

#include <stdbool.h>
#include <stddef.h>

/* One case of the table. */
struct fb_expectation {
    const char *variant, *problem, *recipe;
    int threads;      /* 0: all processors */
    bool fails;       /* the mistake must be found; else the case must pass */
    const char *said; /* part of the reason that must be given, "" for any */
};

extern const struct fb_expectation fb_expectations[];
extern const size_t fb_expectation_count;

#endif
