/* SPDX-License-Identifier: BSD-3-Clause
 *
 * metrics.h: how far a tensor is from the reference, in numbers. Reporting only; what is acceptable
 * is decided by the bound (bound.h) and the judge (judge.h).
 */
#ifndef FB_VERIFY_METRICS_H
#define FB_VERIFY_METRICS_H

#include <stdbool.h>
#include <stdint.h>

#include "flashback.h"

/* One tensor against the reference. A non-finite value where the reference is finite counts in
 * `nonfinite` and makes every ratio below infinite, so that NaN can never look small. */
struct fb_metrics {
    int64_t elements;   /* compared: all of the tensor, or the sampled rows times their width */
    int64_t nonfinite;  /* NaN or Inf in the whole tensor, not in the sample alone, where the
                           reference is finite (an lse of -inf is right for a row without keys) */
    double max_abs;     /* max |x - ref| */
    double rel_l2;      /* ||x - ref|| / ||ref||; 0 when both are 0, inf when ref alone is 0 */
    double row_rel_l2;  /* the largest ||x_r - ref_r|| / max(||ref_r||, rms row norm) over rows r:
                           one lost row or tile cannot hide in the norm of a long tensor */
    int64_t worst_row;  /* flat over [b, h, n]: the row of row_rel_l2; -1 where all are exact */
    double cosine;      /* <x, ref> / (||x|| ||ref||); 1 when both are 0 */
    double norm_ratio;  /* ||x|| / ||ref||; 1 when both are 0 */
    double bound_ratio; /* max |x - ref| / allowed, element by element; <= 1 passes */
    double noise_ratio; /* rms over blocks of rows of ||x - ref|| / expected norm of the declared
                           roundings, filled in by the judge; NaN where no block has enough
                           elements to make that a statistic */
    double band_ratio;  /* max |x - ref| / (atol + rtol |ref|) with the lecture's fixed band */
    int64_t worst[4];   /* [b, h, n, d] index of the largest bound ratio, or of the first non-finite
                           element; -1 when nothing was compared */
    double worst_got, worst_want; /* the two values there */
};

/* What one comparison reads. Row r of the sample stands at tensor row rows[r] (flat over
 * [b, h, n]); rows == NULL takes every row in order. */
struct fb_metrics_input {
    const struct fb_tensor *tensor; /* what the variant wrote, on the host */
    const double *reference;        /* [count, width] */
    const double *allowed;          /* [count, width], or NULL: no bound ratio */
    const int64_t *rows;            /* [count], ascending, or NULL */
    int64_t count;
    enum fb_dtype band; /* whose fixed band applies */
    double *row_errors; /* [count], gets ||x_r - ref_r||^2 of every row, or NULL */
    double *row_offs;   /* [count], gets what row_rel_l2 is the largest of, or NULL */
    bool lse;           /* the tensor is an lse: -inf stands for a row without keys */
};

/* FB_NO_MEMORY. The figures are the same whatever the number of threads. */
enum fb_status fb_metrics_compare(const struct fb_metrics_input *input, struct fb_metrics *metrics);

/* The lecture's fixed bands: fp32 1e-5/1e-4, bf16 5e-3/5e-3, fp16 1e-3/1e-3. */
void fb_metrics_band(enum fb_dtype dtype, double *atol, double *rtol);

#endif
