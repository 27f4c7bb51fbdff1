/* SPDX-License-Identifier: BSD-3-Clause
 *
 * make_records.h: synthetic records for the tests of the store and of the figures. The numbers come
 * from simple formulas (a saturating rate, counted bytes, an error that grows with n) and are no
 * measurements; the run says so in its facts.
 */
#ifndef FB_TESTS_REPORT_MAKE_RECORDS_H
#define FB_TESTS_REPORT_MAKE_RECORDS_H

#include "store/results.h"

/* The facts of a run on the machine `host`, shard `shard` of `shards`. */
enum fb_status make_run(struct fb_run *run, const char *host, int shard, int shards);

struct make_case {
    const char *variant, *dtype, *mask, *acc_dkv, *acc_dq;
    int64_t b, h, n, d;
    size_t samples;
    uint64_t seed;
};

/* Puts a value of an ENUM or SET there by its name. */
enum fb_status make_value(struct fb_record *record, const char *column, const char *name);

enum fb_status make_record(struct fb_record *record, const struct make_case *one);

/* Record `number` of an endless list of small ones with distinct keys; at most 64 samples. */
enum fb_status make_numbered(struct fb_record *record, int number, size_t samples);

/* Grids as the figures want them: "speed", "memory", "drift", "determinism" or "all". */
enum fb_status make_results(struct fb_results *results, const char *grid);

/* Equal in every column and every sample, bit by bit. */
bool same_record(const struct fb_record *a, const struct fb_record *b);

#endif
