/* SPDX-License-Identifier: BSD-3-Clause
 *
 * golden.h: files of exact gradients (doc/golden-format.md): each group of the file is one problem
 * with its inputs, in fp32, and the exact outputs, in fp64.
 */
#ifndef FB_STORE_GOLDEN_H
#define FB_STORE_GOLDEN_H

#include <stddef.h>
#include <stdint.h>

#include "flashback.h"

struct fb_golden; /* an open file */

/* One group. Inputs are contiguous fp32 tensors inside `args` (problem, q, k, v, dout, bias, sink,
 * alibi point here; outputs are absent); expected outputs are contiguous fp64 arrays. */
struct fb_golden_case {
    char *name;
    struct fb_problem problem; /* dtype fp32; finished */
    struct fb_args args;
    uint8_t *keep;         /* [b, h, nq, nk], NULL without dropout */
    double *o, *lse;       /* [b, h, nq, dv], [b, h, nq] */
    double *dq, *dk, *dv;  /* [b, h, nq, d], [b, hk, nk, d], [b, hk, nk, dv] */
    double *dbias, *dsink; /* the shape of bias, [h]; NULL where the group has none */
    double dout_max;       /* largest |element| of dout, part of the tolerance */
};

/* FB_IO: cannot be opened; FB_CORRUPT: not HDF5, or no groups. */
enum fb_status fb_golden_open(struct fb_golden **golden, const char *path);
size_t fb_golden_count(const struct fb_golden *golden);
/* FB_CORRUPT names the group and what is missing or misshapen. Free with fb_golden_case_free. */
enum fb_status fb_golden_read(struct fb_golden *golden, size_t index, struct fb_golden_case *one);
void fb_golden_case_free(struct fb_golden_case *one);
void fb_golden_close(struct fb_golden *golden);

/* Outputs agree with the expectation when |x - expected| <= FB_GOLDEN_TOLERANCE * max(largest
 * |expected| of the tensor, dout_max), and x is exactly 0 where the whole expected tensor is. */
#define FB_GOLDEN_TOLERANCE 1e-10

#endif
