/* SPDX-License-Identifier: BSD-3-Clause
 *
 * judge.c: one reference a problem, one model (bound and emulation) a choice of numerics, one
 * comparison a tensor. A tensor passes when
 *
 *   1. nothing in it is NaN or infinite that should not be,
 *   2. no element is further from the reference than FB_BOUND_FACTOR times what the roundings of
 *      the numerics can do to it (sensitive to single elements, whatever the data), and
 *   3. the norm of its errors is at most FB_BOUND_NOISE times that of the same roundings emulated
 *      on the same data (sensitive to small faults everywhere: low-precision accumulators, one key
 *      of thousands), block of rows by block, where enough elements carry that norm.
 */
#include "verify/judge.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/cost.h"
#include "core/half.h"
#include "core/log.h"
#include "core/numerics.h"
#include "core/problem.h"
#include "core/status.h"
#include "verify/exact.h"
#include "verify/explain.h"
#include "verify/model.h"
#include "verify/queries.h"
#include "verify/sample.h"
#include "verify/whole.h"

struct fb_judge {
    struct fb_ref_inputs inputs;
    struct fb_args args;
    bool sampled, exact;
    enum fb_judge_mutant mutant; /* how the judge is blinded, in its own test */
    struct fb_sample sample;
    struct fb_ref_tensors values;
    struct fb_ref_tensors forward; /* complete o and lse of the sampled mode, when asked for */
    bool has_forward;
    struct fb_ref_tensors whole; /* every row, from a device; all NULL: none */
    struct fb_ref_rows rows;     /* the sample as the reference takes it; all NULL otherwise */
    struct fb_model *models;     /* the first is of the standard numerics */
    struct fb_model *floor;      /* of fp32 arithmetic alone, made when first needed */
    int64_t queries;             /* that are not the same */
    char coverage[160];
};

/* ---- Names ------------------------------------------------------------------------------------
 */

const char *fb_judge_coverage(const struct fb_judge *judge)
{
    return judge->coverage;
}

/* ---- Models -----------------------------------------------------------------------------------
 */

static enum fb_status model_of(struct fb_judge *judge, const struct fb_numerics *numerics,
                               int64_t bm, int64_t bn, struct fb_model **out)
{
    for (struct fb_model *model = judge->models; model; model = model->next)
        if (fb_model_is(model, numerics, bm, bn)) {
            *out = model;
            return FB_OK;
        }
    FB_TRY(fb_model_make(&judge->inputs, &judge->rows, numerics, bm, bn, NULL, out));
    (*out)->next = judge->models->next;
    judge->models->next = *out;
    return FB_OK;
}

/* ---- Opening and closing ----------------------------------------------------------------------
 */

/* What the device made is believed only if it agrees with the CPU's rows. */
static enum fb_status make_values(struct fb_judge *judge)
{
    FB_TRY(fb_model_make(&judge->inputs, &judge->rows, &fb_numerics_standard, 0, 0, &judge->values,
                         &judge->models));
    if (!judge->whole.o || fb_whole_agrees(&judge->whole, &judge->inputs, &judge->rows,
                                           &judge->values, &judge->models->spread))
        return FB_OK;
    fb_log_warn("the device's reference differs from the CPU's and is not used");
    fb_ref_free(&judge->whole);
    fb_ref_free(&judge->values);
    fb_model_free(judge->models);
    judge->models = NULL;
    judge->inputs.known_o = judge->inputs.known_lse = NULL;
    return fb_model_make(&judge->inputs, &judge->rows, &fb_numerics_standard, 0, 0, &judge->values,
                         &judge->models);
}

/* Of one key head no more than are asked for; packed sequences share theirs. */
static enum fb_status count_queries(struct fb_judge *judge)
{
    const struct fb_problem *p = judge->args.problem;
    const int64_t packed = p->qlens ? FB_MODEL_KEY_QUERIES * p->b : 0;
    return fb_queries_count(&judge->args, packed > FB_MODEL_QUERIES ? packed : FB_MODEL_QUERIES,
                            &judge->queries);
}

static void describe(struct fb_judge *judge)
{
    const struct fb_args *a = &judge->args;
    int64_t q_rows = a->q.shape[0] * a->q.shape[1] * a->q.shape[2];
    int64_t k_rows = a->k.shape[0] * a->k.shape[1] * a->k.shape[2];
    if (!judge->sampled)
        snprintf(judge->coverage, sizeof judge->coverage, "all");
    else
        snprintf(judge->coverage, sizeof judge->coverage,
                 "rows of o, dq: %lld of %lld; rows of dk, dv: %lld of %lld%s%s",
                 (long long)judge->sample.q_count, (long long)q_rows,
                 (long long)judge->sample.k_count, (long long)k_rows,
                 judge->args.problem->sink ? "; no dsink" : "",
                 judge->whole.dq  ? "; all rows for gross errors"
                 : judge->whole.o ? "; all rows of o for gross errors"
                                  : "");
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
    judge->mutant = options->mutant;
    judge->exact = options->exact;
    judge->sampled = options->mode == FB_JUDGE_SAMPLED ||
                     (options->mode == FB_JUDGE_AUTO && fb_cost_is_long(inputs->problem));
    judge->sampled = judge->sampled && !options->mutant;
    if (judge->sampled) {
        FB_TRY_OUT(fb_sample_rows(&judge->sample, inputs, options->seed));
        judge->rows = (struct fb_ref_rows){judge->sample.q, judge->sample.k, judge->sample.q_count,
                                           judge->sample.k_count};
        if (!options->no_device)
            fb_whole_make(&judge->whole, &judge->inputs);
        judge->inputs.known_o = judge->whole.o;
        judge->inputs.known_lse = judge->whole.lse;
    }
    FB_TRY_OUT(make_values(judge));
    FB_TRY_OUT(count_queries(judge));
    describe(judge);
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
        struct fb_model *next = judge->models->next;
        fb_model_free(judge->models);
        judge->models = next;
    }
    fb_model_free(judge->floor);
    fb_ref_free(&judge->values);
    fb_ref_free(&judge->forward);
    fb_ref_free(&judge->whole);
    fb_sample_free(&judge->sample);
    free(judge);
}

static void write_rows(const struct fb_tensor *to, const double *from)
{
    const int64_t rows = to->shape[0] * to->shape[1] * to->shape[2], width = to->shape[3];
#pragma omp parallel for schedule(static) if (rows * width > 32768)
    for (int64_t r = 0; r < rows; r++) {
        const int64_t at = fb_tensor_row(to, r);
        for (int64_t c = 0; c < width; c++)
            fb_element_write(to->data, to->dtype, at + c * to->stride[3], from[r * width + c]);
    }
}

enum fb_status fb_judge_forward(struct fb_judge *judge, const struct fb_tensor *o,
                                const struct fb_tensor *lse)
{
    const struct fb_ref_tensors *from = judge->whole.o ? &judge->whole : &judge->values;
    if (judge->sampled && !judge->whole.o) {
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

static bool subject_of(const struct fb_judge *judge, const struct fb_args *outputs,
                       enum fb_judged which, struct subject *s)
{
    const struct fb_tensor *t = tensor_of(outputs, which);
    bool key_side = which == FB_JUDGED_DK || which == FB_JUDGED_DV;
    bool gradient = which >= FB_JUDGED_DQ;
    if (!t->data || !fb_judged_array(&judge->values, which) || (gradient && !judge->args.dout.data))
        return false;
    *s = (struct subject){.which = which, .tensor = t, .width = t->shape[3]};
    s->count = t->shape[0] * t->shape[1] * t->shape[2];
    if (judge->sampled && which <= FB_JUDGED_DV) {
        s->rows = key_side ? judge->sample.k : judge->sample.q;
        s->count = key_side ? judge->sample.k_count : judge->sample.q_count;
    }
    return true;
}

/* NaN where the statistic does not apply. fp32 arithmetic is added to the expectation only when it
 * decides (the tensor is within its bound so far), for it costs a pass. */
static enum fb_status noise_of(struct fb_judge *judge, const struct fb_model *model,
                               const struct subject *s, const double *row_errors, bool within,
                               double *noise)
{
    *noise = NAN;
    if (!model->has_emulated || s->which == FB_JUDGED_LSE || s->which > FB_JUDGED_DV ||
        !fb_model_has_queries(model, s->which, judge->queries))
        return FB_OK;
    *noise = fb_model_noise(model, NULL, &judge->values, s->which, s->count, s->width, row_errors);
    if (!(*noise > FB_BOUND_NOISE) || !within)
        return FB_OK;
    if (!judge->floor)
        FB_TRY(fb_model_make_floor(&judge->inputs, &judge->rows, &judge->floor));
    *noise = fb_model_noise(model, judge->floor, &judge->values, s->which, s->count, s->width,
                            row_errors);
    return FB_OK;
}

static enum fb_status judge_tensor(struct fb_judge *judge, const struct fb_model *model,
                                   const struct subject *s, struct fb_metrics *metrics,
                                   enum fb_verdict *verdict)
{
    enum fb_status status = FB_OK;
    struct fb_tensor seen = {0};
    double *row_errors = malloc((size_t)(s->count + 1) * sizeof *row_errors);
    double *allowed = fb_model_allowed(model, &judge->values, s->which, s->count * s->width,
                                       s->tensor->dtype != FB_FP32);
    if (!allowed || !row_errors) {
        status = fb_fail(FB_NO_MEMORY, "no memory to judge %s", fb_judged_name(s->which));
        goto out;
    }
    const double *reference = fb_judged_array(&judge->values, s->which);
    if (judge->mutant)
        FB_TRY_OUT(fb_mutant_see(judge->mutant, s->tensor, reference, &seen));
    const struct fb_metrics_input input = {.tensor = judge->mutant ? &seen : s->tensor,
                                           .reference = reference,
                                           .allowed = allowed,
                                           .rows = s->rows,
                                           .count = s->count,
                                           .band = judge->args.problem->dtype,
                                           .row_errors = row_errors,
                                           .lse = s->which == FB_JUDGED_LSE};
    FB_TRY_OUT(fb_metrics_compare(&input, metrics));
    FB_TRY_OUT(
        noise_of(judge, model, s, row_errors, metrics->bound_ratio <= 1, &metrics->noise_ratio));
    *verdict = fb_bound_verdict(judge->models->spread.rho, metrics, s->which);
out:
    free(seen.data);
    free(allowed);
    free(row_errors);
    return status;
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

/* Are shares of this tensor rounded before they are summed over a group of heads? */
static bool rounds_shares(const struct fb_judge *judge, unsigned roundings, int which)
{
    const struct fb_problem *p = judge->args.problem;
    return (roundings & FB_ROUNDS_HEADS) && p->h != p->hk && which != FB_JUDGED_DQ;
}

/* Bit for bit, where the data allow to ask for it. Whoever declares one rounding more keeps to its
 * declaration all the same, but not to the standard; then a remark says so. */
static void certify(const struct fb_judge *judge, unsigned roundings, const struct subject *s,
                    struct fb_judgement *j)
{
    struct fb_mismatch m;
    const int64_t *at = m.first;
    const bool covered = rounds_shares(judge, roundings, s->which);
    char *text = covered ? j->remark : j->reason;
    if (!judge->exact || judge->sampled || s->which < FB_JUDGED_DQ || s->which > FB_JUDGED_DV)
        return;
    fb_exact_compare(s->tensor, fb_judged_array(&judge->values, s->which), &m);
    if (!m.count)
        return;
    j->standard[s->which] = FB_VERDICT_FAIL;
    if (!covered)
        j->declared[s->which] = FB_VERDICT_FAIL;
    if (!*text)
        snprintf(text, sizeof j->reason,
                 "%s: %lld of %lld elements are not exact on dyadic data, first at "
                 "[%lld,%lld,%lld,%lld]: %.9g for %.9g%s",
                 fb_judged_name(s->which), (long long)m.count, (long long)m.elements,
                 (long long)at[0], (long long)at[1], (long long)at[2], (long long)at[3], m.got,
                 m.want, covered ? "; a declared rounding" : "");
}

/* The rows outside the sample: those that are grossly off must keep to their bound, too. */
static enum fb_status judge_whole(struct fb_judge *judge, const struct fb_model *model,
                                  const struct subject *s, struct fb_judgement *j)
{
    const struct fb_model *const models[] = {model, judge->models};
    enum fb_verdict *const verdicts[] = {&j->declared[s->which], &j->standard[s->which]};
    struct fb_whole_suspects suspects;
    if (!fb_judged_array(&judge->whole, s->which) || s->which == FB_JUDGED_LSE ||
        j->metrics[s->which].nonfinite)
        return FB_OK;
    FB_TRY(fb_whole_compare(&judge->whole, s->which, s->tensor, judge->args.problem->dtype,
                            &j->metrics[s->which], &suspects));
    enum fb_verdict verdict = FB_VERDICT_PASS;
    for (int n = 0; n < 2 && suspects.count; n++) {
        char text[256] = "";
        if (n == 0 || models[1] != models[0])
            FB_TRY(fb_whole_judge(&judge->inputs, models[n], s->which, s->tensor, &suspects,
                                  &verdict, text));
        *verdicts[n] = worse(*verdicts[n], verdict);
        if (n == 0 && !j->reason[0])
            snprintf(j->reason, sizeof j->reason, "%s", text);
    }
    return FB_OK;
}

enum fb_status fb_judge_compare(struct fb_judge *judge, const struct fb_declaration *declared,
                                const struct fb_args *outputs, struct fb_judgement *j)
{
    struct fb_model *model, *standard = judge->models;
    memset(j, 0, sizeof *j);
    FB_TRY(model_of(judge, declared->numerics, declared->bm, declared->bn, &model));
    for (int which = 0; which < FB_JUDGED_COUNT; which++) {
        struct subject s;
        struct fb_metrics ignored;
        if (!subject_of(judge, outputs, which, &s))
            continue;
        FB_TRY(judge_tensor(judge, model, &s, &j->metrics[which], &j->declared[which]));
        j->standard[which] = j->declared[which];
        if (model != standard)
            FB_TRY(judge_tensor(judge, standard, &s, &ignored, &j->standard[which]));
        FB_TRY(judge_whole(judge, model, &s, j));
        if (model == standard)
            certify(judge, declared->roundings, &s, j);
        fb_judge_suspect(declared->numerics, which, j);
        j->verdict = worse(j->verdict, j->declared[which]);
        j->verdict_standard = worse(j->verdict_standard, j->standard[which]);
        if (j->declared[which] != FB_VERDICT_PASS && !j->reason[0])
            fb_judge_explain(standard->spread.rho, which, j);
    }
    return FB_OK;
}
