/* SPDX-License-Identifier: BSD-3-Clause
 *
 * mutants.c: a blind judge takes what it cannot see for right, so each mutant puts the reference's
 * value in the place of what it overlooks.
 */
#include "verify/self_test/mutants.h"

#include <math.h>
#include <stdlib.h>

#include "core/half.h"
#include "core/problem.h"
#include "core/status.h"

#define BLIND_ROWS 64

const char *fb_mutant_name(enum fb_judge_mutant mutant)
{
    static const char *const names[FB_MUTANT_COUNT] = {"none", "lets NaN pass", "tolerance x 10",
                                                       "compares a buffer with itself",
                                                       "skips the last tile"};
    return (size_t)mutant < FB_MUTANT_COUNT ? names[mutant] : "unknown";
}

static double seen_by(enum fb_judge_mutant mutant, double got, double want, int64_t row,
                      int64_t rows)
{
    switch (mutant) {
    case FB_MUTANT_NAN_PASSES:
        return isfinite(got) ? got : want;
    case FB_MUTANT_LOOSE:
        return isfinite(got) && isfinite(want) ? want + (got - want) / 10 : got;
    case FB_MUTANT_SELF:
        return want;
    case FB_MUTANT_SHORT:
        return row >= rows - BLIND_ROWS ? want : got;
    default:
        return got;
    }
}

enum fb_status fb_mutant_see(enum fb_judge_mutant mutant, const struct fb_tensor *tensor,
                             const double *reference, struct fb_tensor *seen)
{
    const int64_t *shape = tensor->shape;
    int64_t n = 0, count = shape[0] * shape[1] * shape[2] * shape[3];
    *seen = *tensor;
    seen->stride[3] = 1;
    for (int axis = 2; axis >= 0; axis--)
        seen->stride[axis] = seen->stride[axis + 1] * shape[axis + 1];
    seen->data = malloc((size_t)count * fb_dtype_bytes(tensor->dtype) + 1);
    if (!seen->data)
        return fb_fail(FB_NO_MEMORY, "no memory for a mutant's copy of a tensor");
    for (int64_t b = 0; b < shape[0]; b++)
        for (int64_t h = 0; h < shape[1]; h++)
            for (int64_t row = 0; row < shape[2]; row++)
                for (int64_t c = 0; c < shape[3]; c++, n++) {
                    int64_t at = b * tensor->stride[0] + h * tensor->stride[1] +
                                 row * tensor->stride[2] + c * tensor->stride[3];
                    double got = fb_element_read(tensor->data, tensor->dtype, at);
                    fb_element_write(seen->data, seen->dtype, n,
                                     seen_by(mutant, got, reference[n], row, shape[2]));
                }
    return FB_OK;
}
