/* SPDX-License-Identifier: BSD-3-Clause
 *
 * inputs.c: fills tensors with the values of a recipe.
 */
#include "data/inputs.h"

#include <math.h>

#include "core/half.h"
#include "core/problem.h"
#include "data/distributions.h"
#include "data/draw.h"

/* The largest value with 8 significant bits that fp16 holds, and fp16's least step. */
static const double largest = 65280, least_step = 0x1p-24;

double fb_input_round(double value)
{
    double rounded = (double)fb_bf16_to_float(fb_double_to_bf16(value));
    if (rounded > largest)
        return largest;
    if (rounded < -largest)
        return -largest;
    return nearbyint(rounded / least_step) * least_step;
}

static double element_value(struct fb_draw *draw)
{
    const struct fb_distribution *dist = &fb_distributions[draw->recipe->dist];
    if (draw->input <= FB_INPUT_DOUT)
        return fb_input_round(dist->value(draw));
    return fb_input_round(dist->term ? dist->term(draw) : fb_draw_normal(draw, FB_STREAM_MAIN));
}

double fb_input_value(const struct fb_recipe *recipe, const struct fb_problem *problem,
                      enum fb_input input, int64_t batch, int64_t head, int64_t row, int64_t column)
{
    struct fb_draw draw = {.recipe = recipe,
                           .problem = problem,
                           .input = input,
                           .batch = batch,
                           .head = head,
                           .row = row,
                           .column = column,
                           .counter = {0, 0, 0, UINT32_MAX}};
    return element_value(&draw);
}

/* Rows `first` to `first + rows` of batch index `b` of the tensor are rows 0.. of sequence `batch`.
 */
struct stretch {
    int64_t b, batch, first, rows;
};

/* Extent that has storage of its own: a dimension of stride 0 is one index seen many times. */
static int64_t own_extent(const struct fb_tensor *tensor, int dimension)
{
    int64_t extent = tensor->shape[dimension];
    return tensor->stride[dimension] == 0 && extent > 1 ? 1 : extent;
}

static void fill_row(struct fb_draw *draw, const struct fb_tensor *tensor, int64_t offset)
{
    int64_t columns = own_extent(tensor, 3);
    for (int64_t c = 0; c < columns; c++) {
        draw->column = c;
        fb_element_write(tensor->data, tensor->dtype, offset + c * tensor->stride[3],
                         element_value(draw));
    }
}

static void fill_stretch(const struct fb_draw *start, const struct fb_tensor *tensor,
                         struct stretch part)
{
    int64_t heads = own_extent(tensor, 1);
#pragma omp parallel for schedule(static) if (heads * part.rows > 64)
    for (int64_t i = 0; i < heads * part.rows; i++) {
        struct fb_draw draw = *start;
        draw.batch = part.batch;
        draw.head = i / part.rows;
        draw.row = i % part.rows;
        fill_row(&draw, tensor,
                 part.b * tensor->stride[0] + draw.head * tensor->stride[1] +
                     (part.first + draw.row) * tensor->stride[2]);
    }
}

static bool is_packed(const struct fb_problem *p, enum fb_input input)
{
    if (input == FB_INPUT_BIAS || input == FB_INPUT_SINK)
        return false;
    return p->qlens || p->klens;
}

void fb_input_fill(const struct fb_recipe *recipe, const struct fb_problem *problem,
                   enum fb_input input, const struct fb_tensor *tensor)
{
    struct fb_draw draw = {
        .recipe = recipe, .problem = problem, .input = input, .counter = {0, 0, 0, UINT32_MAX}};
    struct stretch part = {0, 0, 0, own_extent(tensor, 2)};
    bool keys = input == FB_INPUT_K || input == FB_INPUT_V;
    if (!is_packed(problem, input) || part.rows < tensor->shape[2]) {
        for (; part.batch < own_extent(tensor, 0); part.b = ++part.batch)
            fill_stretch(&draw, tensor, part);
        return;
    }
    for (; part.batch < problem->b; part.batch++) {
        part.rows =
            keys ? fb_problem_len_k(problem, part.batch) : fb_problem_len_q(problem, part.batch);
        fill_stretch(&draw, tensor, part);
        part.first += part.rows;
    }
}

void fb_input_fill_slopes(const struct fb_problem *problem, const struct fb_tensor *alibi)
{
    for (int64_t i = 0; alibi->data && i < alibi->shape[1]; i++)
        fb_element_write(alibi->data, alibi->dtype, i * alibi->stride[1],
                         fb_problem_slope(problem, i));
}

void fb_inputs_fill(const struct fb_recipe *recipe, const struct fb_problem *problem,
                    const struct fb_args *args)
{
    const struct fb_tensor *const tensors[] = {&args->q,    &args->k,    &args->v,   &args->dout,
                                               &args->dlse, &args->bias, &args->sink};
    for (int i = FB_INPUT_Q; i <= FB_INPUT_SINK; i++)
        if (tensors[i]->data)
            fb_input_fill(recipe, problem, (enum fb_input)i, tensors[i]);
    fb_input_fill_slopes(problem, &args->alibi);
}

bool fb_inputs_exact(const struct fb_recipe *recipe, const struct fb_problem *p)
{
    int exponent;
    bool terms = p->softcap != 0 || p->alibi || p->bias || p->dropout > 0 || p->sink;
    return fb_distribution_is_exact(recipe->dist) && p->dtype != FB_FP32 && !terms &&
           p->d % 2 == 0 && fabs(frexp(p->scale, &exponent)) == 0.5;
}
