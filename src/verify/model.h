/* SPDX-License-Identifier: BSD-3-Clause
 *
 * model.h: what numerics allow on given data: the error bound of every element and the gradients
 * with the declared roundings emulated. The judge's inside; the table of roundings is bound.h.
 */
#ifndef FB_VERIFY_MODEL_H
#define FB_VERIFY_MODEL_H

#include "verify/bound.h"
#include "verify/judgement.h"

struct fb_model {
    const struct fb_problem *problem;
    struct fb_numerics numerics;
    int64_t bm, bn; /* 0 where no accumulator rounds at tile ends */
    struct fb_ref_roundings roundings;
    struct fb_ref_tensors spread, emulated;
    bool has_emulated; /* false where fp32 arithmetic is the only error */
    struct fb_model *next;
};

/* Computes a model and, where values is not NULL, the reference's values in the same pass. Tiles
 * that do not matter to the numerics are set to 0. */
enum fb_status fb_model_make(const struct fb_ref_inputs *inputs, const struct fb_ref_rows *rows,
                             const struct fb_numerics *numerics, int64_t bm, int64_t bn,
                             struct fb_ref_tensors *values, struct fb_model **out);

/* The model of fp32 arithmetic and nothing else, whatever the problem's dtype. */
enum fb_status fb_model_make_floor(const struct fb_ref_inputs *inputs,
                                   const struct fb_ref_rows *rows, struct fb_model **out);

/* Is this the model of these numerics and tiles? */
bool fb_model_is(const struct fb_model *model, const struct fb_numerics *numerics, int64_t bm,
                 int64_t bn);

void fb_model_free(struct fb_model *model);

/* FB_BOUND_FACTOR times spread and output rounding, malloc'd [count]; NULL without memory. narrow:
 * the tensor is in the problem's dtype, not in fp32. */
double *fb_model_allowed(const struct fb_model *model, const struct fb_ref_tensors *values,
                         enum fb_judged which, int64_t count, bool narrow);

/* Are there enough queries (fb_queries_count) for its errors to be a statistic? Where something is
 * rounded once a query so many are needed, and so many for each key head. */
#define FB_MODEL_QUERIES 128
#define FB_MODEL_KEY_QUERIES 16
bool fb_model_has_queries(const struct fb_model *model, enum fb_judged which, int64_t queries);

/* How large the errors of a tensor are beside those of the emulated roundings, 1 being as expected:
 * the rms over blocks of FB_MODEL_BLOCK rows of the ratio of norms. Only blocks count whose
 * emulated error is carried by many elements ((sum e^2)^2 / sum e^4, a participation number), so
 * that the ratio is a statistic and not a coincidence, and only if all of them together have
 * enough; where something is rounded once a query, a block of dq needs several that it may be off
 * by. Else NaN. floor, where not NULL, is added to the expectation. row_errors: [count / width],
 * squares. Needs has_emulated. */
#define FB_MODEL_BLOCK 64
double fb_model_noise(const struct fb_model *model, const struct fb_model *floor,
                      const struct fb_ref_tensors *values, enum fb_judged which, int64_t rows,
                      int64_t width, const double *row_errors);

/* The array of one tensor. */
const double *fb_judged_array(const struct fb_ref_tensors *from, enum fb_judged which);

#endif
