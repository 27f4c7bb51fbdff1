/* SPDX-License-Identifier: BSD-3-Clause */
#include "cases/describe.h"

#include <string.h>

#include "core/numerics.h"
#include "core/problem.h"
#include "core/processors.h"
#include "core/registry.h"
#include "core/status.h"
#include "kernels/cpu/ops.h" /* which copy of the kernels runs: part of provenance */
#include "core/recipe.h"
#include "measure/machine.h"
#include "core/cost.h"
#include "cases/golden.h"
#include "cases/input_file.h"

static enum fb_status describe_problem(struct fb_record *r, const struct fb_problem *p)
{
    r->b = p->b;
    r->h = p->h;
    r->hk = p->hk;
    r->nq = p->nq;
    r->nk = p->nk;
    r->d = p->d;
    r->dv = p->dv;
    r->window_l = p->window_left;
    r->window_r = p->window_right;
    r->scale = p->scale;
    r->softcap = p->softcap;
    r->dropout = p->dropout;
    r->pairs = fb_problem_pairs(p);
    struct fb_cost cost;
    fb_cost_of(&cost, p, r->pairs);
    r->fwd_flops = cost.forward_flops;
    r->bwd_flops = cost.backward_flops;
    FB_TRY(fb_text_set(&r->dtype, "%s", fb_dtype_name(p->dtype)));
    return fb_text_set(&r->mask, "%s", fb_mask_name(p->mask));
}

static enum fb_status describe_numerics(struct fb_record *r, const struct fb_numerics *n)
{
    static const char *const delta[] = {"fp32", "bf16", "recomputed"};
    FB_TRY(fb_text_set(&r->acc_dkv, "%s", fb_acc_name(n->dkv)));
    FB_TRY(fb_text_set(&r->acc_dq, "%s", fb_acc_name(n->dq)));
    FB_TRY(fb_text_set(&r->ps_type, "%s", n->ps == FB_PS_IN ? "in" : "fp32"));
    FB_TRY(fb_text_set(&r->delta_type, "%s", delta[n->delta]));
    FB_TRY(fb_text_set(&r->lse_type, "%s", n->lse == FB_LSE_FP32 ? "fp32" : "bf16"));
    return fb_text_set(&r->round_step, "%s", n->round == FB_ROUND_TILE ? "tile" : "row");
}

static enum fb_status describe_variant(struct fb_record *r, const struct fb_variant *variant)
{
    unsigned bits = variant->properties.deterministic;
    r->gemms_executed = variant->properties.gemms;
    FB_TRY(fb_text_set(&r->backend, "%s", variant->backend));
    if (!strcmp(variant->backend, "cpu"))
        FB_TRY(fb_text_set(&r->isa, "%s", fb_cpu_isa_name()));
    return fb_text_set(&r->det_claim, "%s%s%s%s", bits & FB_DET_DQ ? "dq" : "",
                       bits & FB_DET_DK ? (bits & FB_DET_DQ ? "+dk" : "dk") : "",
                       bits & FB_DET_DV ? (bits & (FB_DET_DQ | FB_DET_DK) ? "+dv" : "dv") : "",
                       bits ? "" : "none");
}

enum fb_status fb_describe_case(struct fb_record *record, const struct fb_case *one)
{
    const struct fb_variant *variant = fb_registry_find(one->variant);
    struct fb_problem problem;
    struct fb_numerics numerics;
    struct fb_recipe recipe;
    enum fb_status status;

    FB_TRY(fb_text_set(&record->key, "%s", one->key));
    FB_TRY(fb_text_set(&record->variant, "%s", one->variant));
    FB_TRY(fb_text_set(&record->problem, "%s", one->problem));
    FB_TRY(fb_text_set(&record->numerics, "%s", one->numerics));
    FB_TRY(fb_text_set(&record->recipe, "%s", one->recipe));
    record->threads = one->threads ? one->threads : fb_processors();
    FB_TRY(fb_numerics_parse(&numerics, one->numerics));
    if (!fb_golden_is_recipe(one->recipe) && !fb_input_file_is_recipe(one->recipe)) {
        FB_TRY(fb_recipe_parse(&recipe, one->recipe));
        record->seed = recipe.seed;
    }
    FB_TRY(describe_numerics(record, &numerics));
    if (variant)
        FB_TRY(describe_variant(record, variant));
    FB_TRY(fb_problem_parse(&problem, one->problem));
    status = describe_problem(record, &problem);
    if (status == FB_OK && variant && variant->tiles)
        variant->tiles(&problem, &numerics, &record->bm, &record->bn);
    fb_problem_free(&problem);
    return status;
}

enum fb_status fb_describe_end(struct fb_record *record, const char *verdict, const char *reason)
{
    const char *status =
        strcmp(verdict, "refused") && strcmp(verdict, "crashed") ? "done" : verdict;
    FB_TRY(fb_text_set(&record->status, "%s", status));
    FB_TRY(fb_text_set(&record->verdict, "%s", verdict));
    return fb_text_set(&record->reason, "%s", reason);
}
