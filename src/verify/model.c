/* SPDX-License-Identifier: BSD-3-Clause
 *
 * model.c: asks the reference for error sums and emulated gradients of given numerics.
 */
#include "verify/model.h"

#include <math.h>
#include <stdlib.h>

#include "core/numerics.h"
#include "core/status.h"

/* Rounding of fp32 outputs (lse, dbias, dsink) and what they flush to zero. */
#define FP32_UNIT 0x1p-24
#define FP32_FLUSH 0x1p-126

/* Elements' worth of error that make a block, and a tensor, a statistic. */
#define BLOCK_ELEMENTS 100
#define NOISE_ELEMENTS 500

/* And queries, where a rounding is one a query, that may be much of the error of a block of dq. */
#define BLOCK_QUERIES 8

static bool rounds_tiles(enum fb_acc acc)
{
    return acc == FB_ACC_BF16 || acc == FB_ACC_BF16_STOCHASTIC || acc == FB_ACC_BF16_TRUNCATE ||
           acc == FB_ACC_FP16 || acc == FB_ACC_BF16_KAHAN;
}

/* Does anything but fp32 arithmetic happen? Otherwise there is nothing to emulate. */
static bool has_declared_roundings(const struct fb_problem *problem, const struct fb_numerics *n)
{
    return problem->dtype != FB_FP32 || rounds_tiles(n->dq) || rounds_tiles(n->dkv) ||
           n->delta == FB_DELTA_BF16 || n->lse == FB_LSE_BF16;
}

/* delta and a rounded lse are off once a query, and with them all that the query gives to dq, dk or
 * dv: whatever the number of elements, their error norm is that of as many numbers. */
static bool rounds_queries(const struct fb_model *model, enum fb_judged which)
{
    const bool lse = model->numerics.lse == FB_LSE_BF16;
    const bool delta = model->problem->dtype != FB_FP32 || model->numerics.delta == FB_DELTA_BF16;
    return which == FB_JUDGED_DV ? lse : which != FB_JUDGED_O && (lse || delta);
}

bool fb_model_has_queries(const struct fb_model *model, enum fb_judged which, int64_t queries)
{
    const struct fb_problem *p = model->problem;
    const bool key_side = which == FB_JUDGED_DK || which == FB_JUDGED_DV;
    return !rounds_queries(model, which) ||
           (queries >= FB_MODEL_QUERIES &&
            (!key_side || queries >= FB_MODEL_KEY_QUERIES * p->b * p->hk));
}

static enum fb_status compute(const struct fb_ref_inputs *inputs, const struct fb_ref_request *want)
{
    enum fb_status status = fb_ref_compute(inputs, want);
    if (status == FB_OK)
        return FB_OK;
    return fb_fail(status, status == FB_NO_MEMORY
                               ? "no memory for the fp64 reference"
                               : "the shapes of the inputs do not fit the problem");
}

enum fb_status fb_model_make(const struct fb_ref_inputs *inputs, const struct fb_ref_rows *rows,
                             const struct fb_numerics *numerics, int64_t bm, int64_t bn,
                             struct fb_ref_tensors *values, struct fb_model **out)
{
    struct fb_ref_casts casts;
    struct fb_model *model = calloc(1, sizeof *model);
    if (!model)
        return fb_fail(FB_NO_MEMORY, "no memory for the error bound");
    model->problem = inputs->problem;
    model->numerics = *numerics;
    model->bm = rounds_tiles(numerics->dkv) ? bm : 0;
    model->bn = rounds_tiles(numerics->dq) ? bn : 0;
    model->has_emulated = has_declared_roundings(inputs->problem, numerics);
    fb_bound_roundings(inputs->problem, numerics, model->bm, model->bn, &model->roundings);
    fb_bound_casts(inputs->problem, numerics, model->bm, model->bn, &casts);
    const struct fb_ref_request want = {
        .rows = *rows,
        .values = values,
        .roundings = &model->roundings,
        .spread = &model->spread,
        .casts = &casts,
        .emulated = model->has_emulated ? &model->emulated : NULL,
    };
    enum fb_status status = compute(inputs, &want);
    if (status != FB_OK)
        free(model);
    else
        *out = model;
    return status;
}

enum fb_status fb_model_make_floor(const struct fb_ref_inputs *inputs,
                                   const struct fb_ref_rows *rows, struct fb_model **out)
{
    struct fb_problem plain = *inputs->problem;
    struct fb_model *model = calloc(1, sizeof *model);
    if (!model)
        return fb_fail(FB_NO_MEMORY, "no memory for the error bound");
    plain.dtype = FB_FP32;
    model->numerics = fb_numerics_standard;
    fb_bound_roundings(&plain, &model->numerics, 0, 0, &model->roundings);
    const struct fb_ref_request want = {
        .rows = *rows, .roundings = &model->roundings, .spread = &model->spread};
    enum fb_status status = compute(inputs, &want);
    if (status != FB_OK)
        free(model);
    else
        *out = model;
    return status;
}

bool fb_model_is(const struct fb_model *model, const struct fb_numerics *numerics, int64_t bm,
                 int64_t bn)
{
    return fb_numerics_equal(&model->numerics, numerics) &&
           model->bm == (rounds_tiles(numerics->dkv) ? bm : 0) &&
           model->bn == (rounds_tiles(numerics->dq) ? bn : 0);
}

void fb_model_free(struct fb_model *model)
{
    if (!model)
        return;
    fb_ref_free(&model->spread);
    fb_ref_free(&model->emulated);
    free(model);
}

const double *fb_judged_array(const struct fb_ref_tensors *from, enum fb_judged which)
{
    const double *const arrays[FB_JUDGED_COUNT] = {from->o,  from->lse,   from->dq,   from->dk,
                                                   from->dv, from->dbias, from->dsink};
    return arrays[which];
}

/* Where nothing can move an exact 0 (a key that nobody sees), nothing but 0 is allowed. */
double *fb_model_allowed(const struct fb_model *model, const struct fb_ref_tensors *values,
                         enum fb_judged which, int64_t count, bool narrow)
{
    const double *spread = fb_judged_array(&model->spread, which);
    const double *value = fb_judged_array(values, which);
    double output = narrow ? model->roundings.output : FP32_UNIT;
    double floor = narrow ? model->roundings.output_floor : FP32_FLUSH;
    double *allowed = malloc((size_t)(count + 1) * sizeof *allowed);
    for (int64_t n = 0; allowed && n < count; n++) {
        bool exact = spread[n] == 0 && value[n] == 0;
        allowed[n] = exact ? 0 : FB_BOUND_FACTOR * (spread[n] + output * fabs(value[n]) + floor);
    }
    return allowed;
}

/* Sums over one block of elements of one tensor. */
struct block {
    double second, fourth; /* powers of the emulated error */
    double floor;          /* squares of the spread of fp32 arithmetic */
};

static struct block block_of(const double *emulated, const double *value, const double *floor,
                             int64_t first, int64_t end)
{
    struct block sums = {0};
    for (int64_t n = first; n < end; n++) {
        double square = (emulated[n] - value[n]) * (emulated[n] - value[n]);
        sums.second += square;
        sums.fourth += square * square;
        sums.floor += floor ? floor[n] * floor[n] : 0;
    }
    return sums;
}

/* How many rows of a block have much of what it may be off by: as elements are counted, but by
 * their spread, since a row that may be far off need not be so in the emulation. */
static double rows_of(const double *spread, int64_t first, int64_t end, int64_t width)
{
    double second = 0, fourth = 0;
    for (int64_t row = first; row < end; row++) {
        double square = 0;
        for (int64_t n = row * width; n < (row + 1) * width; n++)
            square += spread[n] * spread[n];
        second += square;
        fourth += square * square;
    }
    return fourth > 0 ? second * second / fourth : 0;
}

double fb_model_noise(const struct fb_model *model, const struct fb_model *floor,
                      const struct fb_ref_tensors *values, enum fb_judged which, int64_t rows,
                      int64_t width, const double *row_errors)
{
    const double *spread = floor ? fb_judged_array(&floor->spread, which) : NULL;
    const bool by_query = which == FB_JUDGED_DQ && rounds_queries(model, which);
    double ratios = 0, elements = 0;
    int64_t blocks = 0;
    for (int64_t first = 0; first < rows; first += FB_MODEL_BLOCK) {
        int64_t end = first + FB_MODEL_BLOCK < rows ? first + FB_MODEL_BLOCK : rows;
        struct block sums =
            block_of(fb_judged_array(&model->emulated, which), fb_judged_array(values, which),
                     spread, first * width, end * width);
        double carried = sums.fourth > 0 ? sums.second * sums.second / sums.fourth : 0, error = 0;
        if (!(carried >= BLOCK_ELEMENTS) ||
            (by_query &&
             rows_of(fb_judged_array(&model->spread, which), first, end, width) < BLOCK_QUERIES))
            continue;
        for (int64_t row = first; row < end; row++)
            error += row_errors[row];
        double expected = sqrt(sums.second) + FB_BOUND_FACTOR / FB_BOUND_NOISE * sqrt(sums.floor);
        ratios += error / (expected * expected);
        elements += carried;
        blocks++;
    }
    return elements >= NOISE_ELEMENTS ? sqrt(ratios / (double)blocks) : NAN;
}
