/* SPDX-License-Identifier: BSD-3-Clause
 *
 * judge.c: one reference a problem, one model (bound and emulation) a choice of numerics, one
 * comparison a tensor. A tensor passes when
 *
 *   1. nothing in it is NaN or infinite that should not be,
 *   2. no element is further from the reference than FB_BOUND_FACTOR times what the roundings of
 *      the numerics can do to it (sensitive to single elements, whatever the data), and
 *   3. the norm of all errors is at most FB_BOUND_NOISE times that of the same roundings emulated
 *      on the same data (sensitive to small faults everywhere: low-precision accumulators, one key
 *      of thousands), where enough elements carry that norm to make it a statistic.
 */
#include "verify/judge.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/half.h"
#include "core/numerics.h"
#include "core/status.h"
#include "verify/bound.h"
#include "verify/sample.h"

/* The third test wants at least this many elements' worth of error (a participation number). */
#define NOISE_ELEMENTS 1000

/* What numerics allow. The floor is the spread of fp32 arithmetic alone, made when first needed. */
struct model {
    struct fb_numerics numerics;
    int64_t bm, bn;
    struct fb_ref_roundings roundings;
    struct fb_ref_tensors spread, emulated;
    bool has_emulated;
    struct model *next;
};

struct fb_judge {
    struct fb_ref_inputs inputs;
    struct fb_args args;
    bool sampled;
    struct fb_sample sample;
    struct fb_ref_tensors values;
    struct fb_ref_tensors forward; /* complete o and lse of the sampled mode, when asked for */
    bool has_forward;
    struct model *models;
    struct model *floor;
    char coverage[128];
};

/* ---- Names ------------------------------------------------------------------------------------
 */

const char *fb_verdict_name(enum fb_verdict verdict)
{
    static const char *const names[] = {"absent", "pass", "fail", "not-checkable"};
    return (size_t)verdict < sizeof names / sizeof *names ? names[verdict] : "unknown";
}

const char *fb_judged_name(enum fb_judged which)
{
    static const char *const names[] = {"o", "lse", "dq", "dk", "dv", "dbias", "dsink"};
    return (size_t)which < FB_JUDGED_COUNT ? names[which] : "unknown";
}

const char *fb_judge_coverage(const struct fb_judge *judge)
{
    return judge->coverage;
}

/* ---- Models -----------------------------------------------------------------------------------
 */

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

static struct fb_ref_request request_of(const struct fb_judge *judge)
{
    struct fb_ref_request want = {{0}};
    if (judge->sampled)
        want.rows = (struct fb_ref_rows){judge->sample.q, judge->sample.k, judge->sample.q_count,
                                         judge->sample.k_count};
    return want;
}

static void model_free(struct model *model)
{
    if (!model)
        return;
    fb_ref_free(&model->spread);
    fb_ref_free(&model->emulated);
    free(model);
}

/* Computes a model, and the values too where asked: they share the pass. */
static enum fb_status model_make(struct fb_judge *judge, const struct fb_numerics *numerics,
                                 int64_t bm, int64_t bn, bool values, struct model **out)
{
    const struct fb_problem *problem = judge->args.problem;
    struct fb_ref_request want = request_of(judge);
    struct fb_ref_casts casts;
    struct model *model = calloc(1, sizeof *model);
    if (!model)
        return fb_fail(FB_NO_MEMORY, "no memory for the error bound");
    model->numerics = *numerics;
    model->bm = bm;
    model->bn = bn;
    fb_bound_roundings(problem, numerics, bm, bn, &model->roundings);
    fb_bound_casts(problem, numerics, bm, bn, &casts);
    model->has_emulated = has_declared_roundings(problem, numerics);
    want.values = values ? &judge->values : NULL;
    want.roundings = &model->roundings;
    want.spread = &model->spread;
    want.casts = &casts;
    want.emulated = model->has_emulated ? &model->emulated : NULL;
    enum fb_status status = fb_ref_compute(&judge->inputs, &want);
    if (status != FB_OK) {
        free(model);
        return fb_fail(status, status == FB_NO_MEMORY
                                   ? "no memory for the fp64 reference"
                                   : "the shapes of the inputs do not fit the problem");
    }
    *out = model;
    return FB_OK;
}

/* Tiles matter to accumulators that round at their ends alone. */
static enum fb_status model_of(struct fb_judge *judge, const struct fb_numerics *numerics,
                               int64_t bm, int64_t bn, struct model **out)
{
    bm = rounds_tiles(numerics->dkv) ? bm : 0;
    bn = rounds_tiles(numerics->dq) ? bn : 0;
    for (struct model *m = judge->models; m; m = m->next)
        if (fb_numerics_equal(&m->numerics, numerics) && m->bm == bm && m->bn == bn) {
            *out = m;
            return FB_OK;
        }
    FB_TRY(model_make(judge, numerics, bm, bn, false, out));
    (*out)->next = judge->models->next;
    judge->models->next = *out;
    return FB_OK;
}

/* fp32 arithmetic, nothing else: no narrow operands, exact o and outputs. */
static enum fb_status floor_of(struct fb_judge *judge, struct model **out)
{
    if (!judge->floor) {
        struct fb_problem plain = *judge->args.problem;
        struct model *model = calloc(1, sizeof *model);
        struct fb_ref_request want = request_of(judge);
        if (!model)
            return fb_fail(FB_NO_MEMORY, "no memory for the error bound");
        plain.dtype = FB_FP32;
        fb_bound_roundings(&plain, &fb_numerics_standard, 0, 0, &model->roundings);
        want.roundings = &model->roundings;
        want.spread = &model->spread;
        if (fb_ref_compute(&judge->inputs, &want) != FB_OK) {
            free(model);
            return fb_fail(FB_NO_MEMORY, "no memory for the error bound");
        }
        judge->floor = model;
    }
    *out = judge->floor;
    return FB_OK;
}

/* ---- Opening and closing ----------------------------------------------------------------------
 */

static void describe(struct fb_judge *judge)
{
    const struct fb_args *a = &judge->args;
    int64_t q_rows = a->q.shape[0] * a->q.shape[1] * a->q.shape[2];
    int64_t k_rows = a->k.shape[0] * a->k.shape[1] * a->k.shape[2];
    if (!judge->sampled)
        snprintf(judge->coverage, sizeof judge->coverage, "all");
    else
        snprintf(judge->coverage, sizeof judge->coverage,
                 "rows of o, dq: %lld of %lld; rows of dk, dv: %lld of %lld",
                 (long long)judge->sample.q_count, (long long)q_rows,
                 (long long)judge->sample.k_count, (long long)k_rows);
}

enum fb_status fb_judge_open(struct fb_judge **out, const struct fb_args *inputs,
                             const struct fb_judge_options *options)
{
    static const struct fb_judge_options defaults = {0};
    enum fb_status status = FB_OK;
    struct fb_judge *judge = calloc(1, sizeof *judge);
    *out = NULL;
    if (!judge)
        return fb_fail(FB_NO_MEMORY, "no memory for the judge");
    if (!options)
        options = &defaults;
    judge->args = *inputs;
    fb_ref_inputs_from_args(&judge->inputs, inputs);
    judge->inputs.keep = options->keep;
    judge->sampled = options->mode == FB_JUDGE_SAMPLED ||
                     (options->mode == FB_JUDGE_AUTO && fb_sample_wanted(inputs->problem));
    if (judge->sampled)
        FB_TRY_OUT(fb_sample_rows(&judge->sample, inputs, options->seed));
    describe(judge);
    FB_TRY_OUT(model_make(judge, &fb_numerics_standard, 0, 0, true, &judge->models));
out:
    if (status != FB_OK)
        fb_judge_close(judge);
    else
        *out = judge;
    return status;
}

void fb_judge_close(struct fb_judge *judge)
{
    if (!judge)
        return;
    while (judge->models) {
        struct model *next = judge->models->next;
        model_free(judge->models);
        judge->models = next;
    }
    model_free(judge->floor);
    fb_ref_free(&judge->values);
    fb_ref_free(&judge->forward);
    fb_sample_free(&judge->sample);
    free(judge);
}

static void write_rows(const struct fb_tensor *to, const double *from)
{
    int64_t n = 0;
    for (int64_t b = 0; b < to->shape[0]; b++)
        for (int64_t h = 0; h < to->shape[1]; h++)
            for (int64_t row = 0; row < to->shape[2]; row++)
                for (int64_t c = 0; c < to->shape[3]; c++)
                    fb_element_write(to->data, to->dtype,
                                     b * to->stride[0] + h * to->stride[1] + row * to->stride[2] +
                                         c * to->stride[3],
                                     from[n++]);
}

enum fb_status fb_judge_forward(struct fb_judge *judge, const struct fb_tensor *o,
                                const struct fb_tensor *lse)
{
    const struct fb_ref_tensors *from = &judge->values;
    if (judge->sampled) {
        if (!judge->has_forward) {
            static const int64_t none = 0;
            struct fb_ref_inputs forward = judge->inputs;
            struct fb_ref_request want = {.rows = {.k = &none}, .values = &judge->forward};
            forward.dout.data = NULL;
            if (fb_ref_compute(&forward, &want) != FB_OK)
                return fb_fail(FB_NO_MEMORY, "no memory for the reference's o and lse");
            judge->has_forward = true;
        }
        from = &judge->forward;
    }
    write_rows(o, from->o);
    write_rows(lse, from->lse);
    return FB_OK;
}

/* ---- Comparing --------------------------------------------------------------------------------
 */

/* One tensor of one judgement, and where the reference keeps it. */
struct subject {
    enum fb_judged which;
    const struct fb_tensor *tensor;
    const int64_t *rows;
    int64_t count, width;
};

static const struct fb_tensor *tensor_of(const struct fb_args *outputs, enum fb_judged which)
{
    const struct fb_tensor *const tensors[FB_JUDGED_COUNT] = {
        &outputs->o,  &outputs->lse,   &outputs->dq,   &outputs->dk,
        &outputs->dv, &outputs->dbias, &outputs->dsink};
    return tensors[which];
}

static const double *array_of(const struct fb_ref_tensors *from, enum fb_judged which)
{
    const double *const arrays[FB_JUDGED_COUNT] = {from->o,  from->lse,   from->dq,   from->dk,
                                                   from->dv, from->dbias, from->dsink};
    return arrays[which];
}

static bool subject_of(const struct fb_judge *judge, const struct fb_args *outputs,
                       enum fb_judged which, struct subject *s)
{
    const struct fb_tensor *t = tensor_of(outputs, which);
    bool key_side = which == FB_JUDGED_DK || which == FB_JUDGED_DV;
    bool gradient = which >= FB_JUDGED_DQ;
    if (!t->data || !array_of(&judge->values, which) || (gradient && !judge->args.dout.data))
        return false;
    *s = (struct subject){.which = which, .tensor = t, .width = t->shape[3]};
    s->count = t->shape[0] * t->shape[1] * t->shape[2];
    if (judge->sampled && which <= FB_JUDGED_DV) {
        s->rows = key_side ? judge->sample.k : judge->sample.q;
        s->count = key_side ? judge->sample.k_count : judge->sample.q_count;
    }
    return true;
}

/* FB_BOUND_FACTOR times the spread and the rounding of the output; exactly 0 where nothing can move
 * an exact 0 (a key that nobody sees). */
static double *allowed_of(const struct fb_judge *judge, const struct model *model,
                          const struct subject *s)
{
    int64_t count = s->count * s->width;
    const double *spread = array_of(&model->spread, s->which);
    const double *value = array_of(&judge->values, s->which);
    bool narrow = s->tensor->dtype != FB_FP32;
    double output = narrow ? model->roundings.output : 0x1p-24;
    double floor = narrow ? model->roundings.output_floor : 0x1p-126;
    double *allowed = malloc((size_t)(count + 1) * sizeof *allowed);
    for (int64_t n = 0; allowed && n < count; n++) {
        bool exact = spread[n] == 0 && value[n] == 0;
        allowed[n] = exact ? 0 : FB_BOUND_FACTOR * (spread[n] + output * fabs(value[n]) + floor);
    }
    return allowed;
}

/* The norm of the emulated errors, and how many elements carry it: (sum e^2)^2 / sum e^4. */
static double emulated_norm(const struct fb_judge *judge, const struct model *model,
                            const struct subject *s, double *elements)
{
    const double *emulated = array_of(&model->emulated, s->which);
    const double *value = array_of(&judge->values, s->which);
    double second = 0, fourth = 0;
    for (int64_t n = 0; n < s->count * s->width; n++) {
        double square = (emulated[n] - value[n]) * (emulated[n] - value[n]);
        second += square;
        fourth += square * square;
    }
    *elements = fourth > 0 ? second * second / fourth : 0;
    return sqrt(second);
}

static double norm_of(const double *x, int64_t count)
{
    double sum = 0;
    for (int64_t n = 0; n < count; n++)
        sum += x[n] * x[n];
    return sqrt(sum);
}

/* NaN where the statistic does not apply. fp32 arithmetic is added to the expectation only when it
 * decides, for it costs a pass. */
static enum fb_status noise_of(struct fb_judge *judge, const struct model *model,
                               const struct subject *s, double error, double *noise)
{
    double elements;
    bool emulated = model->has_emulated && s->which != FB_JUDGED_LSE && s->which <= FB_JUDGED_DV;
    *noise = NAN;
    if (!emulated)
        return FB_OK;
    double norm = emulated_norm(judge, model, s, &elements);
    if (!(elements >= NOISE_ELEMENTS))
        return FB_OK;
    *noise = error / norm;
    if (!(*noise <= FB_BOUND_NOISE)) {
        struct model *floor;
        FB_TRY(floor_of(judge, &floor));
        double arithmetic = norm_of(array_of(&floor->spread, s->which), s->count * s->width);
        *noise = error / (norm + arithmetic / FB_BOUND_NOISE);
    }
    return FB_OK;
}

static enum fb_verdict verdict_of(const struct model *model, const struct fb_metrics *m,
                                  enum fb_judged which)
{
    if (m->nonfinite > 0)
        return FB_VERDICT_FAIL;
    if (which != FB_JUDGED_LSE && !(model->spread.rho <= FB_BOUND_RHO_MAX))
        return FB_VERDICT_NOT_CHECKABLE;
    bool noisy = m->noise_ratio > FB_BOUND_NOISE;
    return m->bound_ratio <= 1 && !noisy ? FB_VERDICT_PASS : FB_VERDICT_FAIL;
}

static enum fb_status judge_tensor(struct fb_judge *judge, const struct model *model,
                                   const struct subject *s, struct fb_metrics *metrics,
                                   enum fb_verdict *verdict)
{
    double *allowed = allowed_of(judge, model, s);
    if (!allowed)
        return fb_fail(FB_NO_MEMORY, "no memory to judge %s", fb_judged_name(s->which));
    const struct fb_metrics_input input = {.tensor = s->tensor,
                                           .reference = array_of(&judge->values, s->which),
                                           .allowed = allowed,
                                           .rows = s->rows,
                                           .count = s->count,
                                           .band = judge->args.problem->dtype,
                                           .lse = s->which == FB_JUDGED_LSE};
    fb_metrics_compare(&input, metrics);
    free(allowed);
    FB_TRY(noise_of(judge, model, s, metrics->error_norm, &metrics->noise_ratio));
    *verdict = verdict_of(model, metrics, s->which);
    return FB_OK;
}

/* The worse of two: a failure outweighs what could not be checked, and that a pass. */
static enum fb_verdict worse(enum fb_verdict a, enum fb_verdict b)
{
    static const int weight[] = {[FB_VERDICT_ABSENT] = 0,
                                 [FB_VERDICT_PASS] = 1,
                                 [FB_VERDICT_NOT_CHECKABLE] = 2,
                                 [FB_VERDICT_FAIL] = 3};
    return weight[a] >= weight[b] ? a : b;
}

static void explain(const struct fb_judge *judge, const struct model *model, enum fb_judged which,
                    struct fb_judgement *j)
{
    const struct fb_metrics *m = &j->metrics[which];
    char at[96];
    snprintf(at, sizeof at, "[%lld,%lld,%lld,%lld]", (long long)m->worst[0], (long long)m->worst[1],
             (long long)m->worst[2], (long long)m->worst[3]);
    (void)judge;
    if (j->declared[which] == FB_VERDICT_NOT_CHECKABLE)
        snprintf(j->reason, sizeof j->reason,
                 "%s: scores so large that fp32 leaves p uncertain by %.2g: no verdict",
                 fb_judged_name(which), model->spread.rho);
    else if (m->nonfinite > 0)
        snprintf(j->reason, sizeof j->reason, "%s: %lld non-finite values, at %s: %g for %g",
                 fb_judged_name(which), (long long)m->nonfinite, at, m->worst_got, m->worst_want);
    else if (!(m->bound_ratio <= 1))
        snprintf(j->reason, sizeof j->reason, "%s: %.3g times the bound at %s: %.9g for %.9g",
                 fb_judged_name(which), m->bound_ratio, at, m->worst_got, m->worst_want);
    else
        snprintf(
            j->reason, sizeof j->reason,
            "%s: relative error %.2g is %.3g times that of the declared roundings (at most %g)",
            fb_judged_name(which), m->rel_l2, m->noise_ratio, FB_BOUND_NOISE);
}

enum fb_status fb_judge_compare(struct fb_judge *judge, const struct fb_numerics *declared,
                                int64_t bm, int64_t bn, const struct fb_args *outputs,
                                struct fb_judgement *j)
{
    struct model *model, *standard = judge->models;
    memset(j, 0, sizeof *j);
    FB_TRY(model_of(judge, declared, bm, bn, &model));
    for (int which = 0; which < FB_JUDGED_COUNT; which++) {
        struct subject s;
        struct fb_metrics ignored;
        if (!subject_of(judge, outputs, which, &s))
            continue;
        FB_TRY(judge_tensor(judge, model, &s, &j->metrics[which], &j->declared[which]));
        j->standard[which] = j->declared[which];
        if (model != standard)
            FB_TRY(judge_tensor(judge, standard, &s, &ignored, &j->standard[which]));
        j->verdict = worse(j->verdict, j->declared[which]);
        j->verdict_standard = worse(j->verdict_standard, j->standard[which]);
        if (j->declared[which] != FB_VERDICT_PASS && !j->reason[0])
            explain(judge, model, which, j);
    }
    return FB_OK;
}
