/* SPDX-License-Identifier: BSD-3-Clause */
#include "cases/describe.h"

#include <string.h>

#include "core/backends.h"
#include "core/numerics.h"
#include "core/offer.h"
#include "core/problem.h"
#include "core/host/processors.h"
#include "core/registry.h"
#include "core/status.h"
#include "kernels/cpu/hot/ops.h" /* which copy of the kernels runs: part of provenance */
#include "core/cost.h"

static void describe_problem(struct fb_record *r, const struct fb_problem *p)
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
    r->fwd.flops = cost.forward_flops;
    r->bwd.flops = cost.backward_flops;
    r->dtype = (int)p->dtype;
    r->mask = (int)p->mask;
}

static void describe_numerics(struct fb_record *r, const struct fb_numerics *n)
{
    r->acc_dkv = (int)n->dkv;
    r->acc_dq = (int)n->dq;
    r->ps_type = (int)n->ps;
    r->delta_type = (int)n->delta;
    r->lse_type = (int)n->lse;
    r->round_step = (int)n->round;
}

static enum fb_status describe_variant(struct fb_record *r, const struct fb_variant *variant)
{
    r->det_claim = (int)(variant->properties.deterministic & FB_DET_ALL);
    r->gemms_executed = variant->properties.gemms;
    if (fb_backend_is_host(variant->backend))
        FB_TRY(fb_text_set(&r->isa, "%s", fb_cpu_isa_name()));
    return fb_text_set(&r->backend, "%s", variant->backend);
}

/* The words come from a variant, which may be a plug-in's: one line of ASCII is made of them. */
enum fb_status fb_describe_kernel(struct fb_record *record, const struct fb_variant *variant,
                                  const struct fb_problem *problem,
                                  const struct fb_numerics *numerics)
{
    struct fb_description what = {0};
    if (!variant->describe)
        return FB_OK;
    variant->describe(variant, problem, numerics, &what);
    what.text[sizeof what.text - 1] = '\0';
    for (char *c = what.text; *c; c++)
        if (*c < ' ' || *c > '~')
            *c = '?';
    record->bm = what.bm;
    record->bn = what.bn;
    return fb_text_set(&record->kernel, "%s", what.text);
}

enum fb_status fb_describe_case(struct fb_record *record, const struct fb_case *one)
{
    const struct fb_variant *variant = fb_registry_find(one->variant);
    const struct fb_terms *terms = &one->terms;

    FB_TRY(fb_text_set(&record->key, "%s", one->key));
    FB_TRY(fb_text_set(&record->variant, "%s", one->variant));
    FB_TRY(fb_text_set(&record->problem, "%s", one->problem));
    FB_TRY(fb_text_set(&record->numerics, "%s", one->numerics));
    FB_TRY(fb_text_set(&record->recipe, "%s", one->recipe));
    record->threads = one->threads ? one->threads : fb_processors();
    if (terms->source.kind == FB_SOURCE_DRAWN)
        record->seed = terms->source.recipe.seed;
    describe_numerics(record, &terms->numerics);
    if (variant)
        FB_TRY(describe_variant(record, variant));
    describe_problem(record, &terms->problem);
    if (!variant || fb_offer_lacks(variant, &terms->problem, &terms->numerics))
        return FB_OK; /* a variant sees only what it offers */
    return fb_describe_kernel(record, variant, &terms->problem, &terms->numerics);
}

enum fb_status fb_describe_end(struct fb_record *record, enum fb_outcome outcome,
                               const char *reason)
{
    record->outcome = (int)outcome;
    return fb_text_set(&record->reason, "%s", reason);
}
