/* SPDX-License-Identifier: BSD-3-Clause
 *
 * term_case.c: inputs, calls and judgements for the tests of score terms.
 */
#include "tests/term_case.h"

#include <stdio.h>
#include <string.h>

#include "core/half.h"
#include "core/numerics.h"
#include "core/problem.h"
#include "core/status.h"
#include "core/tensor.h"
#include "data/buffers_check.h"
#include "measure/devices.h"
#include "measure/memory_host.h"

/* Elements between the rows of a variant's buffers: inputs and outputs are never contiguous. */
enum { GAP = 3 };

static void note(const char *what, const char *why)
{
    printf("# %s: %s\n", what, why);
}

bool term_case_init(struct term_case *c, const char *problem, const char *numerics,
                    const char *recipe)
{
    const struct fb_buffers_options plain = {0};
    memset(c, 0, sizeof *c);
    if (fb_problem_parse(&c->problem, problem) != FB_OK ||
        fb_numerics_parse(&c->numerics, numerics) != FB_OK ||
        fb_recipe_parse(&c->recipe, recipe) != FB_OK ||
        fb_buffers_make(&c->inputs, &fb_memory_host, &c->problem, &c->numerics, &plain) != FB_OK) {
        note(problem, fb_status_message());
        return false;
    }
    fb_inputs_fill(&c->recipe, &c->problem, &c->inputs.args);
    return true;
}

bool term_case_judge(struct term_case *c)
{
    const struct fb_judge_options options = {.mode = FB_JUDGE_FULL, .keep = c->keep};
    return fb_judge_open(&c->judge, &c->inputs.args, &options) == FB_OK;
}

void term_case_free(struct term_case *c)
{
    fb_judge_close(c->judge);
    fb_buffers_free(&c->inputs);
    fb_problem_free(&c->problem);
}

/* Dimensions of stride 0 are one index seen many times. */
static void copy(const struct fb_tensor *from, const struct fb_tensor *to)
{
    for (int64_t b = 0; to->data && b < to->shape[0]; b++)
        for (int64_t h = 0; h < to->shape[1]; h++)
            for (int64_t n = 0; n < to->shape[2]; n++)
                for (int64_t x = 0; x < to->shape[3]; x++)
                    fb_element_write(to->data, to->dtype, fb_tensor_offset(to, b, h, n, x),
                                     fb_element_read(from->data, from->dtype,
                                                     fb_tensor_offset(from, b, h, n, x)));
}

static void copy_inputs(const struct fb_args *from, const struct fb_args *to)
{
    copy(&from->q, &to->q);
    copy(&from->k, &to->k);
    copy(&from->v, &to->v);
    copy(&from->dout, &to->dout);
    copy(&from->dlse, &to->dlse);
    copy(&from->bias, &to->bias);
    copy(&from->sink, &to->sink);
    copy(&from->alibi, &to->alibi);
}

static bool call(struct term_run *run, enum fb_pass pass)
{
    struct fb_finding found = {FB_FOUND_NOTHING, ""};
    struct fb_context *ctx = &run->host.ctx;
    bool good = fb_buffers_poison(&run->buffers, pass) == FB_OK &&
                fb_buffers_seal(&run->buffers, pass) == FB_OK;
    good = good && (pass == FB_PASS_FORWARD ? run->variant->forward : run->variant->backward)(
                       run->variant, ctx, NULL, &run->buffers.args) == FB_OK;
    good = good && fb_buffers_check(&run->buffers, pass, &found) == FB_OK && !found.text[0];
    if (!good)
        note(run->variant->name, found.text[0] ? found.text : run->host.explanation);
    return good;
}

bool term_run(struct term_run *run, struct term_case *c, const struct fb_variant *variant,
              int threads)
{
    struct fb_buffers_options options = {.row_gap = GAP};
    memset(run, 0, sizeof *run);
    run->variant = variant;
    const char *why = fb_variant_why_not(variant, &c->problem, &c->numerics);
    if (why) {
        note(variant->name, why);
        return false;
    }
    if (variant->sizes(variant, &c->problem, &c->numerics, &options.saved_bytes,
                       &options.workspace_bytes) != FB_OK ||
        fb_buffers_make(&run->buffers, &fb_memory_host, &c->problem, &c->numerics, &options) !=
            FB_OK)
        return false;
    fb_host_context_init(&run->host, threads);
    copy_inputs(&c->inputs.args, &run->buffers.args);
    run->buffers.args.keep = c->keep;
    return call(run, FB_PASS_FORWARD) && call(run, FB_PASS_BACKWARD);
}

void term_run_free(struct term_run *run)
{
    fb_buffers_free(&run->buffers);
}

bool term_case_passes(struct term_case *c, const struct fb_variant *variant, int threads)
{
    struct term_run run;
    struct fb_judgement judgement = {.reason = ""};
    struct fb_declaration declared = {.numerics = &c->numerics};
    bool good = term_run(&run, c, variant, threads);
    struct fb_description what = {0};
    if (variant->describe)
        variant->describe(variant, &c->problem, &c->numerics, &what);
    declared.bm = what.bm;
    declared.bn = what.bn;
    good = good && fb_judge_compare(c->judge, &declared, &run.buffers.args, &judgement) == FB_OK;
    good = good && judgement.verdict == FB_VERDICT_PASS;
    if (judgement.reason[0])
        note(variant->name, judgement.reason);
    term_run_free(&run);
    return good;
}
