/* SPDX-License-Identifier: BSD-3-Clause
 *
 * scaling_host.c: factors on tensors in the host's memory, by all threads.
 */
#include "measure/scaling_host.h"

#include <math.h>

#include "core/half.h"
#include "core/problem.h"
#include "core/tensor.h"

/* Entry and head of row `row` of [b, h, n]. */
static float factor_of(const struct fb_factors *factors, const int64_t shape[4], int64_t row)
{
    const int64_t head = row / shape[2];
    if (!factors->value)
        return 1;
    return factors->value[fb_factor_index(factors, shape, head / shape[1], head % shape[1])];
}

enum fb_status fb_host_scale(const struct fb_memory *memory, const struct fb_tensor *to,
                             const struct fb_tensor *from, const struct fb_factors *factors)
{
    const struct fb_tensor out = fb_tensor_distinct(to);
    const int64_t *shape = out.shape, rows = shape[0] * shape[1] * shape[2];
    (void)memory;
#pragma omp parallel for schedule(static) if (rows * shape[3] > 32768)
    for (int64_t r = 0; r < rows; r++) {
        const int64_t at = fb_tensor_row(&out, r), source = fb_tensor_row(from, r);
        const float factor = factor_of(factors, shape, r);
        for (int64_t c = 0; c < shape[3]; c++)
            fb_element_write(
                out.data, out.dtype, at + c * out.stride[3],
                factor * fb_element_read(from->data, from->dtype, source + c * from->stride[3]));
    }
    return FB_OK;
}

/* What row `r` adds to the difference. */
static struct fb_difference compare_row(const struct fb_tensor *got, const struct fb_tensor *base,
                                        float factor, int64_t r)
{
    const int64_t at = fb_tensor_row(got, r), source = fb_tensor_row(base, r);
    struct fb_difference sum = {0};
    for (int64_t c = 0; c < got->shape[3]; c++) {
        const double x = fb_element_read(got->data, got->dtype, at + c * got->stride[3]) / factor;
        const double y = fb_element_read(base->data, base->dtype, source + c * base->stride[3]);
        if (x == y || (isnan(x) && isnan(y)))
            continue;
        const double apart = fabs(x - y);
        sum.count++;
        sum.square += apart * apart;
        sum.worst =
            apart > sum.worst || isnan(apart) ? (isnan(apart) ? INFINITY : apart) : sum.worst;
    }
    return sum;
}

enum fb_status fb_host_compare(const struct fb_memory *memory, const struct fb_tensor *got,
                               const struct fb_tensor *base, const struct fb_factors *factors,
                               struct fb_difference *difference)
{
    const int64_t *shape = got->shape, rows = shape[0] * shape[1] * shape[2];
    int64_t count = 0;
    double square = 0, worst = 0;
    (void)memory;
#pragma omp parallel for schedule(static) reduction(+ : count, square) reduction(max : worst)
    for (int64_t r = 0; r < rows; r++) {
        const struct fb_difference row = compare_row(got, base, factor_of(factors, shape, r), r);
        count += row.count;
        square += row.square;
        worst = row.worst > worst ? row.worst : worst;
    }
    *difference = (struct fb_difference){.count = count, .square = square, .worst = worst};
    return FB_OK;
}
