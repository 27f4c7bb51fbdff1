/* SPDX-License-Identifier: BSD-3-Clause
 *
 * problem.h: problems as text, `b=2,h=8,n=1024,d=64,causal,dtype=bf16`, and what follows from them.
 */
#ifndef FB_CORE_PROBLEM_H
#define FB_CORE_PROBLEM_H

#include <stdbool.h>

#include "flashback.h"

/* Room that any canonical string of a problem without packed lengths or a slope list fits in. */
#define FB_PROBLEM_TEXT 512

/* The language's limits, so that products of two sizes fit 64 bits. */
#define FB_PROBLEM_MAX_D 256
#define FB_PROBLEM_MAX_H 1048576
#define FB_PROBLEM_MAX_N 2147483647

/* h = 1, dtype fp32, full mask, open window, nothing else switched on. Unset are b, nq and nk (-1),
 * hk, d and dv (0) and scale (NaN): fb_problem_finish derives or demands them. */
void fb_problem_init(struct fb_problem *problem);

/* Reads the items of text into *problem, on top of what it holds (so that an experiment's defaults
 * come first). An item may stand once in a text; `n` counts as both nq and nk. No defaults are
 * derived and nothing is checked across items. FB_USAGE names the item and the allowed values. */
enum fb_status fb_problem_merge(struct fb_problem *problem, const char *text);

/* Derives what is unset and checks all of it: hk = h, dv = d, scale = 1/sqrt(d); b is the number of
 * packed lengths, else 1; nq and nk are the longest packed lengths; where only one of qlens and
 * klens is given and the other side has no length either, both are the same. Refuses a problem
 * whose pairs or bytes do not fit 64 bits. */
enum fb_status fb_problem_finish(struct fb_problem *problem);

/* init, merge, finish. On failure *problem holds nothing and may still be freed. */
enum fb_status fb_problem_parse(struct fb_problem *problem, const char *text);

/* Canonical print: parse(print(p)) == p. The result is malloc'd; NULL without memory. */
char *fb_problem_print(const struct fb_problem *problem);

bool fb_problem_equal(const struct fb_problem *a, const struct fb_problem *b);
enum fb_status fb_problem_copy(struct fb_problem *to, const struct fb_problem *from);
void fb_problem_free(struct fb_problem *problem);

/* Names as they stand in problem strings and results. */
const char *fb_dtype_name(enum fb_dtype dtype);
const char *fb_mask_name(enum fb_mask mask);
const char *fb_bias_name(enum fb_bias bias); /* "none" where off */
const char *fb_layout_name(enum fb_layout layout);
size_t fb_dtype_bytes(enum fb_dtype dtype);
/* Where row `row` of the rows [b, h, n] in logical order begins, in elements from data. */
int64_t fb_tensor_row(const struct fb_tensor *tensor, int64_t row);

/* Lowest and highest key that query i sees under the mask and the window (lo > hi: none), for a
 * sequence of nq queries and nk keys. This is the judge's own; kernels have theirs. */
void fb_problem_visible(const struct fb_problem *problem, int64_t nq, int64_t nk, int64_t i,
                        int64_t *lo, int64_t *hi);

/* Exact number of visible (query, key) pairs, over all batches and query heads. */
int64_t fb_problem_pairs(const struct fb_problem *problem);

/* Queries and keys of sequence s: nq and nk, or the packed lengths. */
int64_t fb_problem_len_q(const struct fb_problem *problem, int64_t s);
int64_t fb_problem_len_k(const struct fb_problem *problem, int64_t s);

/* Slope of head i: 0 without ALiBi. */
double fb_problem_slope(const struct fb_problem *problem, int64_t i);

/* Rows of q and of k in memory, over all sequences: b nq, or the sum of qlens. */
int64_t fb_problem_rows_q(const struct fb_problem *problem);
int64_t fb_problem_rows_k(const struct fb_problem *problem);

#endif
