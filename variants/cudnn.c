/* SPDX-License-Identifier: BSD-3-Clause
 *
 * cudnn.c: the vendor's fused attention, as a peer in the same run. cuDNN's backend API is given
 * the forward and the backward as operation graphs (kernels/cudnn/attention.c) and runs the engine
 * that its heuristics put first.
 *
 * cudnn: one kernel after delta; dq is added into an fp32 accumulator in any order and converted
 * at the end, so that dk and dv keep their bits and dq does not.
 * cudnn-deterministic: dq is one matmul of dS, which lies whole in the workspace, [b, h, nq, nk] in
 * the tensors' type: the same bits every time, for memory that grows with n^2.
 *
 * The workspace holds the engine's own, then delta, then the accumulator: all that a call needs
 * beside its tensors is reported. With grouped heads the engine rounds dk and dv of every query
 * head to the tensors' type before it sums them over the group.
 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flashback.h"
#include "kernels/cudnn/plan.h"
#include "variants/common/cuda.h"

/* Row numbers pass through fp32 in the left bound of a window. */
static const int64_t most_rows = INT64_C(1) << 24;

/* ---- What is refused ----------------------------------------------------------------------- */

/* fb_variant.family */
struct mode {
    enum fb_cudnn_pass backward;
};

/* Rows without a key are refused: cuDNN makes NaN of them. */
static const char *refuse_mask(const struct fb_problem *p)
{
    const bool window = p->window_left != FB_OPEN || p->window_right != FB_OPEN;
    if (p->mask == FB_MASK_CAUSAL && p->nq > p->nk)
        return "mask: causal needs nq <= nk, no row without a key";
    if (window && p->nq > p->nk)
        return "window: needs nq <= nk, no row without a key";
    if (window && p->mask == FB_MASK_CAUSAL_TOPLEFT && p->nq != p->nk)
        return "window: goes with mask=causal-topleft only where nq = nk";
    return NULL;
}

static const char *refuse_lengths(const struct fb_problem *p)
{
    const char *why;
    if (p->b < 1 || p->nq < 1 || p->nk < 1)
        return "b, nq, nk: must be 1 or more";
    if (p->nq > most_rows || p->nk > most_rows)
        return "nq, nk: must be 2^24 or less";
    const struct fb_cudnn_library *library = fb_cudnn_library(&why);
    if (library && library->version() < FB_CUDNN_VERSION(9, 16, 0) && p->nk % 128)
        return "nk: must be a multiple of 128 for cuDNN before 9.16";
    return NULL;
}

/* The engine that adds into an accumulator works the last tile's keys beyond nk out, too, as keys
 * of zeros: p = exp(0 - lse) is infinite in rows whose lse is below -88, and infinity times a key
 * of zeros is the NaN that dq gets. A mask hides them when it hides all beyond nk. */
static const char *refuse_open_tail(const struct fb_problem *p)
{
    const int64_t offset = p->nk - p->nq; /* of the bottom-right diagonal */
    const bool causal =
        p->mask == FB_MASK_CAUSAL || (p->mask == FB_MASK_CAUSAL_TOPLEFT && offset >= 0);
    const bool bounded = p->window_right != FB_OPEN && p->window_right <= 0;
    return p->nk % 128 && !causal && !bounded ? "nk: must be a multiple of 128 without a causal "
                                                "mask, of rows with lse below -88 it "
                                                "makes NaN (cudnn-deterministic does not)"
                                              : NULL;
}

static const char *why_not(const struct fb_variant *self, const struct fb_problem *p,
                           const struct fb_numerics *n)
{
    const struct mode *mode = self->family;
    const char *why = refuse_mask(p);
    (void)n;
    if (!why)
        why = refuse_lengths(p);
    return why || mode->backward != FB_CUDNN_BACKWARD ? why : refuse_open_tail(p);
}

/* ---- From problems to plans ---------------------------------------------------------------- */

static int64_t nearer(int64_t a, int64_t b)
{
    return a == FB_CUDNN_OPEN || (b != FB_CUDNN_OPEN && b < a) ? b : a;
}

static void set_mask(struct fb_cudnn_attention *a, const struct fb_problem *p)
{
    const int64_t offset = p->nk - p->nq; /* of the bottom-right diagonal */
    a->left = p->window_left == FB_OPEN ? FB_CUDNN_OPEN : p->window_left - offset;
    a->right = p->mask == FB_MASK_CAUSAL           ? offset
               : p->mask == FB_MASK_CAUSAL_TOPLEFT ? 0
                                                   : FB_CUDNN_OPEN;
    if (p->window_right != FB_OPEN)
        a->right = nearer(a->right, offset + p->window_right);
    if (a->right != FB_CUDNN_OPEN && a->right >= p->nk)
        a->right = FB_CUDNN_OPEN; /* as wide as to bound nothing */
    if (a->left != FB_CUDNN_OPEN && a->left >= p->nq)
        a->left = FB_CUDNN_OPEN;
}

static struct fb_cudnn_attention plain_numbers(const struct fb_problem *p, enum fb_cudnn_pass pass)
{
    struct fb_cudnn_attention a;
    memset(&a, 0, sizeof a);
    a.pass = pass;
    a.bf16 = p->dtype == FB_BF16;
    a.b = p->b;
    a.h = p->h;
    a.hk = p->hk;
    a.nq = p->nq;
    a.nk = p->nk;
    a.d = p->d;
    a.dv = p->dv;
    a.scale = p->scale;
    set_mask(&a, p);
    return a;
}

/* The strides that a problem's layout stands for, before there are tensors to ask. */
static void expected_strides(struct fb_cudnn_attention *a, const struct fb_problem *p)
{
    const int64_t wide = p->d > p->dv ? p->d : p->dv, packed = (p->h + 2 * p->hk) * wide;
    for (int role = 0; role < FB_CUDNN_ROLES_GIVEN; role++) {
        const bool key =
            role == FB_CUDNN_K || role == FB_CUDNN_V || role == FB_CUDNN_DK || role == FB_CUDNN_DV;
        const bool value = role == FB_CUDNN_V || role == FB_CUDNN_DV || role == FB_CUDNN_O ||
                           role == FB_CUDNN_DOUT;
        const int64_t h = key ? p->hk : p->h, n = key ? p->nk : p->nq;
        const int64_t d = role == FB_CUDNN_LSE ? 1 : value ? p->dv : p->d;
        const bool inside = p->layout == FB_LAYOUT_BNHD && role != FB_CUDNN_LSE;
        int64_t *s = a->stride[role];
        s[0] = h * n * d;
        s[1] = inside ? d : n * d;
        s[2] = inside ? h * d : d;
        if (p->layout == FB_LAYOUT_PACKED_QKV && role <= FB_CUDNN_V) {
            s[0] = n * packed;
            s[1] = wide;
            s[2] = packed;
        }
        if (p->layout == FB_LAYOUT_EXPANDED_DOUT && role == FB_CUDNN_DOUT)
            s[0] = s[1] = s[2] = 0;
    }
}

/* The tensors of a call, by role; delta and dq_accum lie in the workspace. */
static void tensors_of(const struct fb_args *args,
                       const struct fb_tensor *tensor[FB_CUDNN_ROLES_GIVEN])
{
    tensor[FB_CUDNN_Q] = &args->q;
    tensor[FB_CUDNN_K] = &args->k;
    tensor[FB_CUDNN_V] = &args->v;
    tensor[FB_CUDNN_O] = &args->o;
    tensor[FB_CUDNN_LSE] = &args->lse;
    tensor[FB_CUDNN_DOUT] = &args->dout;
    tensor[FB_CUDNN_DQ] = &args->dq;
    tensor[FB_CUDNN_DK] = &args->dk;
    tensor[FB_CUDNN_DV] = &args->dv;
}

static size_t delta_bytes(const struct fb_problem *p)
{
    return fb_cuda_aligned((size_t)(p->b * p->h * p->nq) * sizeof(float));
}

static size_t accumulator_bytes(const struct fb_problem *p, enum fb_cudnn_pass pass)
{
    return pass == FB_CUDNN_BACKWARD
               ? fb_cuda_aligned((size_t)(p->b * p->h * p->nq * p->d) * sizeof(float))
               : 0;
}

/* What the engines want; where there is none, 0: prepare then says why. */
static size_t engine_bytes(const struct fb_problem *p, enum fb_cudnn_pass pass)
{
    const char *why;
    bool unsupported;
    struct fb_cudnn_attention a = plain_numbers(p, pass);
    expected_strides(&a, p);
    const struct fb_cudnn_plan *plan = fb_cudnn_plan_find(&a, &unsupported, &why);
    return plan ? fb_cuda_aligned(fb_cudnn_plan_workspace(plan)) : 0;
}

static enum fb_status sizes(const struct fb_variant *self, const struct fb_problem *p,
                            const struct fb_numerics *n, size_t *saved, size_t *workspace)
{
    const struct mode *mode = self->family;
    const size_t forth = engine_bytes(p, FB_CUDNN_FORWARD);
    const size_t back =
        engine_bytes(p, mode->backward) + delta_bytes(p) + accumulator_bytes(p, mode->backward);
    (void)n;
    *saved = 0;
    *workspace = forth > back ? forth : back;
    return FB_OK;
}

/* The engine, once it has been chosen. */
static void describe(const struct fb_variant *self, const struct fb_problem *p,
                     const struct fb_numerics *n, struct fb_description *what)
{
    const struct mode *mode = self->family;
    struct fb_cudnn_attention a = plain_numbers(p, mode->backward);
    (void)n;
    expected_strides(&a, p);
    const struct fb_cudnn_plan *plan = fb_cudnn_plan_known(&a);
    if (plan)
        snprintf(what->text, sizeof what->text, "%s", fb_cudnn_plan_name(plan));
}

/* ---- Running ------------------------------------------------------------------------------- */

/* A pass of a prepared problem. */
struct job {
    struct fb_cudnn_attention what;
    struct fb_cudnn_plan *plan;
};

struct state {
    struct job forward, backward;
};

static enum fb_status find_plan(struct fb_context *ctx, struct job *job)
{
    const char *why;
    bool unsupported;
    job->plan = fb_cudnn_plan_find(&job->what, &unsupported, &why);
    if (job->plan)
        return FB_OK;
    ctx->explain(ctx, "%s", why);
    return unsupported ? FB_REFUSED : FB_DEVICE;
}

static enum fb_status prepare(const struct fb_variant *self, struct fb_context *ctx,
                              const struct fb_problem *p, const struct fb_numerics *n, void **out)
{
    const struct mode *mode = self->family;
    struct state *state = calloc(1, sizeof *state);
    (void)n;
    if (!state) {
        ctx->explain(ctx, "no memory for the state of cuDNN");
        return FB_NO_MEMORY;
    }
    state->forward.what = plain_numbers(p, FB_CUDNN_FORWARD);
    state->backward.what = plain_numbers(p, mode->backward);
    expected_strides(&state->forward.what, p);
    expected_strides(&state->backward.what, p);
    enum fb_status status = find_plan(ctx, &state->forward);
    if (status == FB_OK)
        status = find_plan(ctx, &state->backward);
    if (status != FB_OK) {
        free(state);
        return status;
    }
    *out = state;
    return FB_OK;
}

static void release(const struct fb_variant *self, struct fb_context *ctx, void *state)
{
    (void)self;
    (void)ctx;
    free(state); /* the plans stay for whoever asks next */
}

/* Takes the strides of this call's tensors. Others than prepare expected cost a new plan, once. */
static enum fb_status take_strides(struct fb_context *ctx, struct job *job,
                                   const struct fb_tensor *const tensor[FB_CUDNN_ROLES_GIVEN])
{
    struct fb_cudnn_attention what = job->what;
    for (int role = 0; role < FB_CUDNN_ROLES_GIVEN; role++)
        if (fb_cudnn_attention_uses(&what, (enum fb_cudnn_role)role))
            memcpy(what.stride[role], tensor[role]->stride, sizeof what.stride[role]);
    if (job->plan && !memcmp(&what, &job->what, sizeof what))
        return FB_OK;
    job->what = what;
    return find_plan(ctx, job);
}

static enum fb_status run(struct fb_context *ctx, struct job *job, const struct fb_args *args)
{
    const struct fb_tensor *tensor[FB_CUDNN_ROLES_GIVEN];
    const enum fb_cudnn_pass pass = (enum fb_cudnn_pass)job->what.pass;
    void *pointer[FB_CUDNN_ROLES] = {NULL};
    char *scratch = args->workspace;
    tensors_of(args, tensor);
    enum fb_status status = take_strides(ctx, job, tensor);
    if (status != FB_OK)
        return status;
    for (int role = 0; role < FB_CUDNN_ROLES_GIVEN; role++)
        pointer[role] = tensor[role]->data;
    size_t used = fb_cuda_aligned(fb_cudnn_plan_workspace(job->plan));
    if (pass != FB_CUDNN_FORWARD) {
        pointer[FB_CUDNN_DELTA] = scratch + used;
        used += delta_bytes(args->problem);
        pointer[FB_CUDNN_DQ_ACCUM] = scratch + used;
        used += accumulator_bytes(args->problem, pass);
    }
    if (used > args->workspace_bytes) {
        ctx->explain(ctx, "these strides need a workspace of %zu bytes, not %zu", used,
                     args->workspace_bytes);
        return FB_REFUSED;
    }
    ctx->phase(ctx, fb_cudnn_plan_name(job->plan)); /* so the record names the engine */
    const char *error = fb_cudnn_plan_run(job->plan, ctx->stream, pointer, scratch);
    if (!error)
        return FB_OK;
    ctx->explain(ctx, "%s", error);
    return FB_DEVICE;
}

static enum fb_status forward(const struct fb_variant *self, struct fb_context *ctx, void *state,
                              const struct fb_args *args)
{
    (void)self;
    return run(ctx, &((struct state *)state)->forward, args);
}

static enum fb_status backward(const struct fb_variant *self, struct fb_context *ctx, void *state,
                               const struct fb_args *args)
{
    (void)self;
    return run(ctx, &((struct state *)state)->backward, args);
}

/* ---- The table ----------------------------------------------------------------------------- */

/* Of scales that are not positive it makes NaN, not an error. */
#define SHARED                                                                                     \
    .abi_version = FB_ABI_VERSION, .struct_size = sizeof(struct fb_variant), .backend = "cudnn",   \
    .offer = {.dtypes = FB_BIT(FB_BF16) | FB_BIT(FB_FP16),                                         \
              .masks = FB_MASKS_KNOWN,                                                             \
              .terms = FB_BIT(FB_TERM_WINDOW) | FB_BIT(FB_TERM_GROUPS) | FB_BIT(FB_TERM_DV),       \
              .layouts = FB_ANY,                                                                   \
              .d = {.multiple = 8},                                                                \
              .round = FB_ANY},                                                                    \
    .why_not = why_not, .sizes = sizes, .describe = describe, .prepare = prepare,                  \
    .release = release, .forward = forward, .backward = backward

static const struct mode atomically = {FB_CUDNN_BACKWARD};
static const struct mode in_order = {FB_CUDNN_BACKWARD_DETERMINISTIC};

static const struct fb_variant atomic = {
    .name = "cudnn",
    .summary = "the vendor's fused attention",
    .properties = {.deterministic = FB_DET_DK | FB_DET_DV,
                   .gemms = 5,
                   .workspace_growth = FB_GROWTH_LINEAR,
                   .roundings = FB_ROUNDS_HEADS},
    .family = &atomically,
    SHARED,
};

static const struct fb_variant deterministic = {
    .name = "cudnn-deterministic",
    .summary = "the vendor's, dQ in a matmul of its own from a stored dS",
    .properties = {.deterministic = FB_DET_ALL,
                   .gemms = 5,
                   .workspace_growth = FB_GROWTH_QUADRATIC,
                   .roundings = FB_ROUNDS_HEADS},
    .family = &in_order,
    SHARED,
};

const struct fb_variant *const fb_variants_cudnn[] = {&atomic, &deterministic, NULL};
