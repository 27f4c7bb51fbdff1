/* SPDX-License-Identifier: BSD-3-Clause
 *
 * merge.h: several results files as one.
 */
#ifndef FB_STORE_MERGE_H
#define FB_STORE_MERGE_H

#include "store/results.h"

/* Makes one set out of several files: shards, or experiments that belong together; with variants
 * of these alone, each of which some file must have (FB_USAGE). A key that occurs twice on the same
 * machine (host, cpu_model and gpu_uuid): the file named later wins. On two machines: FB_USAGE,
 * since neither number is *the* number. FB_CORRUPT: a journal is damaged before its last line.
 * *notes (malloc'd, may be NULL) gets one line a remark: replaced records, a torn tail, and where
 * no variants are named shards that are missing. */
enum fb_status fb_results_merge(struct fb_results *results, const char *const *paths, size_t count,
                                const char *const *variants, size_t variant_count, char **notes);

#endif
