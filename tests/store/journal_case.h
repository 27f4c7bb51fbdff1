/* SPDX-License-Identifier: BSD-3-Clause
 *
 * journal_case.h: journals of numbered records, for the tests of what can happen to one.
 */
#ifndef FB_TESTS_STORE_JOURNAL_CASE_H
#define FB_TESTS_STORE_JOURNAL_CASE_H

#include "store/journal.h"

/* Opens path as shard `shard` of two. done as in fb_journal_open. */
enum fb_status journal_case_open(const char *path, struct fb_journal **journal,
                                 enum fb_journal_mode mode, int shard, struct fb_results *done);

/* Appends record `number` of make_numbered, with five samples. */
enum fb_status journal_case_append(struct fb_journal *journal, int number);

/* Are records 0 to count - 1 there, right and in order? */
bool journal_case_holds(const struct fb_results *results, size_t count);

void journal_case_pause(long us);

#endif
