/* SPDX-License-Identifier: BSD-3-Clause
 *
 * cpu.c: translation from problems to kernel jobs, the shared forward.
 */
#include "variants/common/cpu.h"

#include "kernels/cpu/forward.h"
#include "kernels/cpu/hot/ops.h"
#include "kernels/cpu/threads.h"

static enum fb_cpu_type type_of(enum fb_dtype dtype)
{
    return dtype == FB_BF16 ? FB_CPU_BF16 : dtype == FB_FP16 ? FB_CPU_FP16 : FB_CPU_FP32;
}

static enum fb_cpu_acc acc_of(enum fb_acc acc)
{
    switch (acc) {
    case FB_ACC_FP32:
        return FB_CPU_ACC_FP32;
    case FB_ACC_BF16:
        return FB_CPU_ACC_BF16;
    case FB_ACC_BF16_STOCHASTIC:
        return FB_CPU_ACC_BF16_STOCHASTIC;
    case FB_ACC_BF16_TRUNCATE:
        return FB_CPU_ACC_BF16_TRUNCATE;
    case FB_ACC_FP16:
        return FB_CPU_ACC_FP16;
    case FB_ACC_FP32_KAHAN:
        return FB_CPU_ACC_FP32_KAHAN;
    case FB_ACC_BF16_KAHAN:
        return FB_CPU_ACC_BF16_KAHAN;
    case FB_ACC_FP64:
        return FB_CPU_ACC_FP64;
    }
    return FB_CPU_ACC_FP32;
}

/* Sides so far out that they cannot matter are kept small enough to add row numbers to. */
static int64_t side(int64_t window)
{
    return fb_cpu_min(window, FB_CPU_OPEN / 4);
}

static void set_mask(struct fb_cpu_job *job, const struct fb_problem *p)
{
    job->left = -FB_CPU_OPEN;
    job->right = job->top = FB_CPU_OPEN;
    if (p->mask == FB_MASK_CAUSAL)
        job->right = 0;
    if (p->mask == FB_MASK_CAUSAL_TOPLEFT)
        job->top = 0;
    if (p->window_left != FB_OPEN)
        job->left = -side(p->window_left);
    if (p->window_right != FB_OPEN)
        job->right = fb_cpu_min(job->right, side(p->window_right));
}

static void set_lengths(struct fb_cpu_job *job, const struct fb_problem *p)
{
    job->packed = p->qlens || p->klens;
    job->q_rows = p->nq;
    job->k_rows = p->nk;
    job->entries = p->b * p->nq * p->nk;
    if (!job->packed)
        return;
    job->q_rows = job->k_rows = job->entries = 0;
    for (int64_t b = 0; b < p->b; b++) {
        const int64_t nq = p->qlens ? p->qlens[b] : p->nq, nk = p->klens ? p->klens[b] : p->nk;
        job->q_rows += nq;
        job->k_rows += nk;
        job->entries += nq * nk;
    }
}

/* An entry is kept when its word is at least round(dropout 2^32): above that less one. Where that
 * is 0 everything is kept. */
static void set_dropout(struct fb_cpu_terms *terms, const struct fb_problem *p)
{
    const uint64_t threshold = (uint64_t)(p->dropout * 0x1p32 + 0.5);
    terms->dropout = threshold > 0;
    terms->limit = (uint32_t)(threshold - 1);
    terms->rescale = (float)(1 / (1 - p->dropout));
    terms->seed = p->dropout_seed;
    terms->offset = p->dropout_offset;
}

static void set_terms(struct fb_cpu_job *job, const struct fb_problem *p)
{
    struct fb_cpu_terms *terms = &job->terms;
    terms->softcap = (float)p->softcap;
    terms->alibi = p->alibi != FB_ALIBI_NONE;
    terms->bias = p->bias != FB_BIAS_NONE;
    terms->bias_one_batch = p->bias == FB_BIAS_HEAD || p->bias == FB_BIAS_ALL;
    terms->bias_one_head = p->bias == FB_BIAS_BATCH || p->bias == FB_BIAS_ALL;
    set_dropout(terms, p);
    terms->sink = p->sink;
    terms->dlse = p->dlse;
    terms->any = terms->softcap != 0 || terms->alibi || terms->bias || terms->dropout;
}

struct fb_cpu_job fb_cpu_job_plan(const struct fb_problem *p, const struct fb_numerics *n)
{
    struct fb_cpu_job job = {
        .b = p->b,
        .h = p->h,
        .hk = p->hk,
        .nq = p->nq,
        .nk = p->nk,
        .d = p->d,
        .dv = p->dv,
        .scale = (float)p->scale,
        .threads = fb_cpu_threads_max(),
        .ps = n->ps == FB_PS_IN ? type_of(p->dtype) : FB_CPU_FP32,
        .acc_dkv = acc_of(n->dkv),
        .acc_dq = acc_of(n->dq),
        .delta = n->delta == FB_DELTA_BF16         ? FB_CPU_DELTA_BF16
                 : n->delta == FB_DELTA_RECOMPUTED ? FB_CPU_DELTA_RECOMPUTED
                                                   : FB_CPU_DELTA_FP32,
        .lse_bf16 = n->lse == FB_LSE_BF16,
        .round_row = n->round == FB_ROUND_ROW,
    };
    set_mask(&job, p);
    set_lengths(&job, p);
    set_terms(&job, p);
    return job;
}

static struct fb_cpu_view view_of(const struct fb_tensor *t)
{
    return (struct fb_cpu_view){
        .data = t->data,
        .stride = {t->stride[0], t->stride[1], t->stride[2]},
        .type = type_of(t->dtype),
    };
}

static void mark_phase(void *context, const char *name)
{
    struct fb_context *ctx = context;
    ctx->phase(ctx, name);
}

/* A dimension that is shared has one index, seen at every place. */
static struct fb_cpu_view shared_view(const struct fb_tensor *t)
{
    struct fb_cpu_view view = view_of(t);
    for (int i = 0; i < 3; i++)
        view.stride[i] = t->shape[i] == 1 ? 0 : t->stride[i];
    return view;
}

static void give_terms(struct fb_cpu_job *job, const struct fb_args *a)
{
    struct fb_cpu_terms *terms = &job->terms;
    terms->slopes = shared_view(&a->alibi);
    terms->bias_values = shared_view(&a->bias);
    terms->grad_bias = shared_view(&a->dbias);
    terms->sink_values = shared_view(&a->sink);
    terms->grad_sink = shared_view(&a->dsink);
    terms->grad_lse = view_of(&a->dlse);
    terms->keep = a->keep;
    job->cu_q = a->cu_qlens;
    job->cu_k = a->cu_klens;
}

struct fb_cpu_job fb_cpu_job_call(struct fb_context *ctx, const struct fb_args *a)
{
    struct fb_cpu_job job = fb_cpu_job_plan(a->problem, a->numerics);
    job.threads = (int)fb_cpu_max(1, fb_cpu_min(ctx->threads, fb_cpu_threads_max()));
    job.q = view_of(&a->q);
    job.k = view_of(&a->k);
    job.v = view_of(&a->v);
    job.o = view_of(&a->o);
    job.lse = view_of(&a->lse);
    job.dout = view_of(&a->dout);
    job.grad_q = view_of(&a->dq);
    job.grad_k = view_of(&a->dk);
    job.grad_v = view_of(&a->dv);
    give_terms(&job, a);
    if (ctx->phase) {
        job.phase = mark_phase;
        job.phase_context = ctx;
    }
    return job;
}

enum fb_status fb_cpu_ready(struct fb_context *ctx)
{
    const char *error = fb_cpu_isa_error();
    if (!error)
        return FB_OK;
    ctx->explain(ctx, "%s", error);
    return FB_REFUSED;
}

size_t fb_cpu_forward_bytes(const struct fb_cpu_job *job)
{
    struct fb_cpu_arena arena = {0};
    struct fb_cpu_forward forward;
    fb_cpu_forward_layout(&arena, job, &forward);
    return arena.used;
}

void fb_cpu_forward_job(const struct fb_cpu_job *job, void *workspace)
{
    struct fb_cpu_arena arena = {.base = workspace};
    struct fb_cpu_forward forward;
    fb_cpu_forward_layout(&arena, job, &forward);
    fb_cpu_forward_run(&forward);
}

enum fb_status fb_cpu_forward_only(const struct fb_variant *self, struct fb_context *ctx,
                                   void *state, const struct fb_args *args)
{
    (void)self;
    (void)state;
    enum fb_status status = fb_cpu_ready(ctx);
    if (status != FB_OK)
        return status;
    const struct fb_cpu_job job = fb_cpu_job_call(ctx, args);
    fb_cpu_forward_job(&job, args->workspace);
    return FB_OK;
}
