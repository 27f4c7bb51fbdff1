/* SPDX-License-Identifier: BSD-3-Clause
 *
 * grouping.h: records that may be compared: one problem, one recipe, one number of threads. The
 * tables show a group at a time.
 */
#ifndef FB_REPORT_GROUPING_H
#define FB_REPORT_GROUPING_H

#include "store/results.h"

#define FB_LABEL 640

struct fb_group_view {
    char *label;                      /* "b=1 h=8 n=1024 d=64 fp32 causal" */
    const struct fb_record **records; /* by variant, in the file's order; not owned */
    size_t count;
};

struct fb_grouping {
    struct fb_group_view *groups; /* in the order of their first record */
    size_t count;
};

enum fb_status fb_grouping_make(struct fb_grouping *grouping, const struct fb_results *results);
void fb_grouping_free(struct fb_grouping *grouping);

/* Threads that made a record's time: those of a variant on the CPU. 0 for one on a device, whatever
 * number the host had, and where none is recorded. */
int64_t fb_threads_of(const struct fb_record *record);

/* Do their threads tell two records apart? Not where either has none. */
bool fb_threads_differ(const struct fb_record *a, const struct fb_record *b);

/* Saved and workspace bytes, what a variant takes beyond the tensors; NaN if unknown. */
double fb_record_extra_bytes(const struct fb_record *record);

/* o, lse and delta: what a variant without n x n storage keeps. */
double fb_record_linear_bytes(const struct fb_record *record);

/* The problem for people: n for nq = nk, hk and dv only where they differ from h and d. */
void fb_label_problem(const struct fb_record *record, char label[FB_LABEL]);

/* The variant, with the items of its numerics that are not standard: "cpu-split dq=bf16". */
void fb_label_variant(const struct fb_record *record, char label[FB_LABEL]);

/* Only the items that are not standard, "" if none. */
void fb_label_numerics(const struct fb_record *record, char label[FB_LABEL]);

#endif
