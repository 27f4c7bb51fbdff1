/* SPDX-License-Identifier: BSD-3-Clause
 *
 * sm80.c: limits, workspace, arguments and steps of the mma.sync variants.
 */
#include "variants/common/sm80.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>

#include "kernels/cuda/device.h"
#include "variants/common/cuda.h"

/* ---- Kernels ---- */

/* Shared memory of the device; of a large one where there is none and sizes are asked for. */
static size_t shared_bytes(void)
{
    const struct fb_cuda_device *device = fb_cuda_device();
    return device->ordinal >= 0 ? device->shared_bytes : SIZE_MAX;
}

/* Small tiles are compiled for devices before 9.0. */
static int may_be_small(void)
{
    return fb_cuda_device()->major < 9;
}

const struct fb_sm80_kernels *fb_sm80_kernels_for(const struct fb_problem *p)
{
    return fb_sm80_find(fb_sm80_width(p), shared_bytes(), may_be_small());
}

const struct fb_sm80_split_kernels *fb_sm80_split_kernels_for(const struct fb_problem *p)
{
    return fb_sm80_find_split(fb_sm80_width(p), shared_bytes(), may_be_small());
}

int fb_sm80_stages(const size_t smem[2])
{
    return smem[1] <= shared_bytes() ? 2 : 1;
}

/* ---- Limits ---- */

/* Row numbers and sums of them with window sides are 32-bit numbers in the kernels. */
static const int64_t longest = (int64_t)1 << 28;

/* So are places among the key tiles of all heads, and a grid has no more CTAs. */
static int has_too_many_tiles(const struct fb_problem *p, const struct fb_sm80_kernels *k)
{
    return p->b * (p->hk * fb_sm80_tiles_of(p->nk, k->bn) + p->h * fb_sm80_tiles_of(p->nq, k->bm)) >
           INT32_MAX;
}

const char *fb_sm80_why_not(const struct fb_variant *self, const struct fb_problem *p,
                            const struct fb_numerics *n)
{
    static char why[160];
    (void)self;
    (void)n;
    /* The forward's p, against an older maximum up to 2^8, is multiplied by 1 / (1 - rate). */
    if (p->dtype == FB_FP16 && p->dropout > 0.996)
        return "dropout: must be 0.996 or less with dtype=fp16";
    if (p->nq > longest || p->nk > longest || p->b * p->h > longest)
        return "nq, nk, b*h: must be 268435456 or less";
    if (!fb_sm80_find_forward(fb_sm80_width(p)))
        snprintf(why, sizeof why, "d: this program was built for up to %d (--with-head-dims)",
                 fb_sm80_widest());
    else if (!fb_sm80_kernels_for(p))
        snprintf(why, sizeof why, "d: no tile of it fits %zu KiB of shared memory a block",
                 fb_cuda_device()->shared_bytes / 1024);
    else if (has_too_many_tiles(p, fb_sm80_kernels_for(p)))
        return "tiles: of queries and of keys, of all heads, must be 2147483647 or fewer";
    else
        return NULL;
    return why;
}

/* ---- Workspace ---- */

struct fb_sm80_plan fb_sm80_plan_of(const struct fb_variant *self, const struct fb_problem *p)
{
    const struct fb_sm80_family *family = self->family;
    enum fb_sm80_dq policy = family->policy;
    /* Without queries there is nothing to order, and no CTA of the pre-pass to clear the ticket. */
    if (policy == FB_SM80_DQ_ORDERED && p->nq == 0)
        policy = FB_SM80_DQ_ATOMIC;
    struct fb_sm80_plan plan = {.policy = policy, .sums = family->is_split ? 0 : p->b * p->hk};
    if (policy == FB_SM80_DQ_PARTIALS) {
        plan.shares = fb_sm80_shares_of(p);
        plan.sums = fb_sm80_copies(&plan.shares);
    }
    return plan;
}

/* The parts of the workspace. */
struct parts {
    size_t rows, sums, turns; /* bytes of lse2 (and of delta), of the sums of dQ, of counters */
};

static struct parts parts_of(const struct fb_problem *p, const struct fb_numerics *n,
                             struct fb_sm80_plan plan)
{
    const struct fb_sm80_kernels *k = fb_sm80_kernels_for(p);
    const size_t blocks = (size_t)(p->b * p->h * fb_sm80_tiles_of(p->nq, k->bm));
    const size_t number = n->dq == FB_ACC_FP32 ? 4 : 2;
    struct parts parts = {fb_cuda_aligned(blocks * (size_t)k->bm * sizeof(float)), 0, 0};
    if (plan.sums > 0) {
        const size_t rows = (size_t)(p->h / p->hk * fb_sm80_tiles_of(p->nq, k->bm) * k->bm);
        parts.sums = fb_cuda_aligned((size_t)plan.sums * rows * (size_t)k->head_dim * number);
    }
    if (plan.policy == FB_SM80_DQ_ORDERED) {
        const size_t ctas = (size_t)(p->b * p->hk * fb_sm80_tiles_of(p->nk, k->bn));
        parts.turns = fb_cuda_aligned((ctas * (size_t)k->warps + 1) * sizeof(unsigned));
    }
    return parts;
}

static size_t workspace_bytes(const struct fb_problem *p, const struct fb_numerics *n,
                              struct fb_sm80_plan plan)
{
    const struct parts parts = parts_of(p, n, plan);
    return 2 * parts.rows + parts.sums + parts.turns;
}

enum fb_status fb_sm80_sizes(const struct fb_variant *self, const struct fb_problem *p,
                             const struct fb_numerics *n, size_t *saved, size_t *workspace)
{
    *saved = 0;
    *workspace = workspace_bytes(p, n, fb_sm80_plan_of(self, p));
    return FB_OK;
}

void fb_sm80_describe(const struct fb_variant *self, const struct fb_problem *p,
                      const struct fb_numerics *n, struct fb_description *what)
{
    const struct fb_sm80_family *family = self->family;
    const struct fb_sm80_kernels *k = fb_sm80_kernels_for(p);
    const struct fb_sm80_split_kernels *split = fb_sm80_split_kernels_for(p);
    (void)n;
    if (!k || !split)
        return;
    what->bm = k->bm;
    what->bn = family->is_split ? split->bn : k->bn;
    snprintf(what->text, sizeof what->text, "%dx%d, head size %d, %d warps, %d stages", k->bm,
             k->bn, k->head_dim, k->warps,
             fb_sm80_stages(family->is_split ? split->smem : k->smem));
}

/* ---- Arguments ---- */

static struct fb_sm80_tensor tensor_of(const struct fb_tensor *t)
{
    return (struct fb_sm80_tensor){t->data, t->stride[0], t->stride[1], t->stride[2]};
}

static struct fb_sm80_rows rows_of(const struct fb_tensor *t)
{
    return (struct fb_sm80_rows){t->data, t->stride[0], t->stride[1], t->stride[2]};
}

/* Every row starts on 16 bytes. */
static int is_aligned(const struct fb_tensor *t)
{
    return !t->data || ((uintptr_t)t->data % 16 == 0 && t->stride[0] % 8 == 0 &&
                        t->stride[1] % 8 == 0 && t->stride[2] % 8 == 0);
}

static int are_aligned(const struct fb_args *a)
{
    const struct fb_tensor *all[] = {&a->q, &a->k, &a->v, &a->o, &a->dout, &a->dq, &a->dk, &a->dv};
    if (a->problem->d % 8 != 0 || a->problem->dv % 8 != 0)
        return 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (!is_aligned(all[i]))
            return 0;
    return 1;
}

/* A side of the window: open, or near enough to add row numbers to. */
static int side(int64_t window)
{
    return window == FB_OPEN ? -1 : (int)fb_sm80_at_most(window, longest);
}

static void set_terms(struct fb_sm80_args *c, const struct fb_args *a)
{
    const struct fb_problem *p = a->problem;
    c->softcap = (float)p->softcap;
    c->alibi = p->alibi != FB_ALIBI_NONE ? a->alibi.data : NULL;
    c->sink = p->sink ? a->sink.data : NULL;
    if (p->dropout > 0) {
        const double threshold = floor(p->dropout * 4294967296.0 + 0.5);
        c->keep_scale = (float)(1 / (1 - p->dropout));
        c->drop_threshold = threshold > UINT32_MAX ? UINT32_MAX : (uint32_t)threshold;
        c->seed = p->dropout_seed;
        c->offset = p->dropout_offset;
    }
}

static enum fb_sm80_round round_of(enum fb_acc acc)
{
    return acc == FB_ACC_BF16 ? FB_SM80_BF16 : acc == FB_ACC_FP16 ? FB_SM80_FP16 : FB_SM80_FP32;
}

static void set_numerics(struct fb_sm80_args *c, const struct fb_numerics *n)
{
    c->round_dkv = round_of(n->dkv);
    c->round_dq = round_of(n->dq);
    c->lse_bf16 = n->lse == FB_LSE_BF16;
    c->delta_bf16 = n->delta == FB_DELTA_BF16;
}

static struct fb_sm80_args args_of(const struct fb_args *a)
{
    const struct fb_problem *p = a->problem;
    struct fb_sm80_args c = {
        .q = tensor_of(&a->q),
        .k = tensor_of(&a->k),
        .v = tensor_of(&a->v),
        .o = tensor_of(&a->o),
        .dout = tensor_of(&a->dout),
        .dq = tensor_of(&a->dq),
        .dk = tensor_of(&a->dk),
        .dv = tensor_of(&a->dv),
        .lse = rows_of(&a->lse),
        .dlse = rows_of(&a->dlse),
        .cu_q = a->cu_qlens,
        .cu_k = a->cu_klens,
        .batch = (int)p->b,
        .heads = (int)p->h,
        .kv_heads = (int)p->hk,
        .nq = (int)p->nq,
        .nk = (int)p->nk,
        .columns = (int)p->d,
        .columns_v = (int)p->dv,
        .aligned = are_aligned(a),
        .causal = p->mask != FB_MASK_FULL,
        .top_left = p->mask == FB_MASK_CAUSAL_TOPLEFT,
        .window_left = side(p->window_left),
        .window_right = side(p->window_right),
        .scale = (float)p->scale,
        .section = fb_sm80_section(p, 0),
        .stages = 1,
    };
    set_terms(&c, a);
    set_numerics(&c, a->numerics);
    return c;
}

struct fb_sm80_args fb_sm80_backward_args(const struct fb_args *a, struct fb_sm80_plan plan)
{
    const int ordered = plan.policy == FB_SM80_DQ_ORDERED;
    const struct parts parts = parts_of(a->problem, a->numerics, plan);
    struct fb_sm80_args c = args_of(a);
    char *at = a->workspace;
    if (!a->problem->dlse)
        c.dlse.data = NULL;
    c.dsink = a->problem->sink ? a->dsink.data : NULL;
    c.dq_policy = plan.policy;
    c.shares = plan.shares;
    c.descend = ordered && fb_sm80_is_downwards(a->problem);
    c.section = fb_sm80_section(a->problem, ordered);
    c.turn = fb_sm80_turn(a->problem);
    c.lse2 = (float *)(void *)at;
    c.delta = (float *)(void *)(at + parts.rows);
    c.dq_sum = plan.sums > 0 ? at + 2 * parts.rows : NULL;
    c.turns = parts.turns ? (unsigned *)(void *)(at + 2 * parts.rows + parts.sums) : NULL;
    return c;
}

int fb_sm80_general(const struct fb_sm80_args *c)
{
    return !c->aligned || !(c->scale > 0) || c->cu_q || c->softcap != 0 || c->alibi ||
           c->keep_scale != 0 || c->round_dkv != FB_SM80_FP32 || c->round_dq != FB_SM80_FP32;
}

/* ---- Steps ---- */

enum fb_status fb_sm80_forward(const struct fb_variant *self, struct fb_context *ctx, void *state,
                               const struct fb_args *a)
{
    (void)self;
    const struct fb_sm80_forward_kernels *k = fb_sm80_find_forward(fb_sm80_width(a->problem));
    const struct fb_sm80_args c = args_of(a);
    (void)state;
    const int general = fb_sm80_general(&c) || c.sink;
    ctx->phase(ctx, "forward");
    return fb_cuda_check(ctx, k->run(&c, a->problem->dtype == FB_BF16, general, ctx->stream),
                         "forward");
}

enum fb_status fb_sm80_delta(struct fb_context *ctx, const struct fb_args *a,
                             const struct fb_sm80_args *c)
{
    const struct fb_sm80_kernels *k = fb_sm80_kernels_for(a->problem);
    ctx->phase(ctx, "delta");
    return fb_cuda_check(ctx, k->run_pre(c, a->problem->dtype == FB_BF16, ctx->stream), "delta");
}

enum fb_status fb_sm80_key_major(const struct fb_variant *self, struct fb_context *ctx, void *state,
                                 const struct fb_args *a)
{
    const struct fb_sm80_kernels *k = fb_sm80_kernels_for(a->problem);
    const int bf16 = a->problem->dtype == FB_BF16;
    struct fb_sm80_args c = fb_sm80_backward_args(a, fb_sm80_plan_of(self, a->problem));
    enum fb_status status = fb_sm80_delta(ctx, a, &c);
    (void)state;
    c.stages = fb_sm80_stages(k->smem);
    if (status != FB_OK)
        return status;
    ctx->phase(ctx, "main");
    status = fb_cuda_check(ctx, k->run_main(&c, bf16, fb_sm80_general(&c), ctx->stream), "main");
    if (status != FB_OK)
        return status;
    ctx->phase(ctx, "convert");
    return fb_cuda_check(ctx, k->run_post(&c, bf16, ctx->stream), "convert");
}
