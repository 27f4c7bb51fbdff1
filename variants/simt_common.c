/* SPDX-License-Identifier: BSD-3-Clause
 *
 * simt_common.c: translation from problems to calls of the fp32 kernels, common refusals, the
 * shared forward.
 */
#include "variants/simt_common.h"

#include <stdio.h>

#include "kernels/cuda/device.h"

/* ---- Refusals -----------------------------------------------------------------------------------
 */

static const char *refuse_numerics(const struct fb_numerics *n)
{
    if (n->dkv != FB_ACC_FP32 || n->dq != FB_ACC_FP32)
        return "only fp32 accumulators";
    if (n->delta != FB_DELTA_FP32 || n->lse != FB_LSE_FP32)
        return "only fp32 delta and lse";
    return NULL;
}

const char *fb_simt_refuse(const struct fb_problem *p, const struct fb_numerics *n)
{
    if (p->dtype != FB_FP32)
        return "only dtype=fp32";
    if (p->softcap != 0 || p->alibi != FB_ALIBI_NONE || p->bias != FB_BIAS_NONE)
        return "no softcap, alibi or bias";
    if (p->dropout > 0 || p->sink || p->dlse)
        return "no dropout, sink or dlse";
    if (p->qlens || p->klens)
        return "no packed lengths (qlens, klens)";
    return refuse_numerics(n);
}

static int width_of(const struct fb_problem *p)
{
    return (int)(p->d > p->dv ? p->d : p->dv);
}

const char *fb_simt_refuse_tiled(const struct fb_problem *p, const struct fb_numerics *n)
{
    static char why[160];
    const char *reason = fb_simt_refuse(p, n);
    if (reason)
        return reason;
    if (width_of(p) > fb_simt_widest()) {
        snprintf(why, sizeof why, "built for head sizes up to %d (--with-head-dims)",
                 fb_simt_widest());
        return why;
    }
    if (fb_simt_rows(width_of(p), fb_cuda_device()->shared_bytes))
        return NULL;
    snprintf(why, sizeof why, "a tile of this head size does not fit the %zu KiB of shared memory",
             fb_cuda_device()->shared_bytes / 1024);
    return why;
}

/* ---- Calls --------------------------------------------------------------------------------------
 */

size_t fb_simt_delta_bytes(const struct fb_problem *p)
{
    return fb_cuda_aligned((size_t)p->b * (size_t)p->h * (size_t)p->nq * sizeof(float));
}

void fb_simt_tiles(const struct fb_problem *p, const struct fb_numerics *n, int64_t *bm,
                   int64_t *bn)
{
    (void)n;
    *bm = *bn = fb_simt_rows(width_of(p), fb_cuda_device()->shared_bytes);
}

static struct fb_simt_view view_of(const struct fb_tensor *t)
{
    return (struct fb_simt_view){.data = t->data,
                                 .stride = {t->stride[0], t->stride[1], t->stride[2]}};
}

struct fb_simt_call fb_simt_call_of(const struct fb_args *a)
{
    const struct fb_problem *p = a->problem;
    struct fb_simt_call call = {
        .b = p->b,
        .h = p->h,
        .hk = p->hk,
        .nq = p->nq,
        .nk = p->nk,
        .d = (int)p->d,
        .dv = (int)p->dv,
        .scale = (float)p->scale,
        .q = view_of(&a->q),
        .k = view_of(&a->k),
        .v = view_of(&a->v),
        .o = view_of(&a->o),
        .lse = view_of(&a->lse),
        .dout = view_of(&a->dout),
        .grad_q = view_of(&a->dq),
        .grad_k = view_of(&a->dk),
        .grad_v = view_of(&a->dv),
        .delta = a->workspace,
    };
    fb_cuda_mask(p, &call.lo, &call.hi);
    return call;
}

/* ---- Steps --------------------------------------------------------------------------------------
 */

enum fb_status fb_simt_run(struct fb_context *ctx, enum fb_simt_kernel which,
                           const struct fb_simt_call *call)
{
    static const char *const names[FB_SIMT_KERNELS] = {"simt forward", "simt dk, dv",
                                                       "simt dk, dv, dq", "simt dq"};
    const int error = fb_simt_launch(which, call, fb_cuda_device()->shared_bytes, ctx->stream);
    return fb_cuda_check(ctx, error, names[which]);
}

enum fb_status fb_simt_forward(struct fb_context *ctx, void *state, const struct fb_args *args)
{
    const struct fb_simt_call call = fb_simt_call_of(args);
    (void)state;
    return fb_simt_run(ctx, FB_SIMT_FORWARD, &call);
}
