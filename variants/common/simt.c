/* SPDX-License-Identifier: BSD-3-Clause
 *
 * simt.c: translation from problems to calls of the fp32 kernels, what the build or
 * the device lacks, the shared forward.
 */
#include "variants/common/simt.h"

#include <stdio.h>

#include "kernels/cuda/device.h"

/* ---- Refusals -----------------------------------------------------------------------------------
 */

static int width_of(const struct fb_problem *p)
{
    return (int)(p->d > p->dv ? p->d : p->dv);
}

const char *fb_simt_why_not(const struct fb_variant *self, const struct fb_problem *p,
                            const struct fb_numerics *n)
{
    static char why[160];
    (void)self;
    (void)n;
    if (width_of(p) > fb_simt_widest())
        snprintf(why, sizeof why, "d: this program was built for up to %d (--with-head-dims)",
                 fb_simt_widest());
    else if (!fb_simt_rows(width_of(p), fb_cuda_device()->shared_bytes))
        snprintf(why, sizeof why, "d: its tiles do not fit the %zu KiB of shared memory",
                 fb_cuda_device()->shared_bytes / 1024);
    else
        return NULL;
    return why;
}

/* ---- Calls --------------------------------------------------------------------------------------
 */

size_t fb_simt_delta_bytes(const struct fb_problem *p)
{
    return fb_cuda_aligned((size_t)p->b * (size_t)p->h * (size_t)p->nq * sizeof(float));
}

enum fb_status fb_simt_sizes(const struct fb_variant *self, const struct fb_problem *p,
                             const struct fb_numerics *n, size_t *saved, size_t *workspace)
{
    const struct fb_simt_family *family = self->family;
    (void)n;
    *saved = family->keeps_rows ? 2 * fb_simt_delta_bytes(p) : 0;
    *workspace = fb_simt_delta_bytes(p);
    return FB_OK;
}

void fb_simt_describe(const struct fb_variant *self, const struct fb_problem *p,
                      const struct fb_numerics *n, struct fb_description *what)
{
    const int rows = fb_simt_rows(width_of(p), fb_cuda_device()->shared_bytes);
    (void)self;
    (void)n;
    what->bm = what->bn = rows;
    if (rows)
        snprintf(what->text, sizeof what->text, "%dx%d", rows, rows);
}

static struct fb_simt_view view_of(const struct fb_tensor *t)
{
    return (struct fb_simt_view){.data = t->data,
                                 .stride = {t->stride[0], t->stride[1], t->stride[2]}};
}

struct fb_simt_call fb_simt_call_of(const struct fb_variant *self, const struct fb_args *a)
{
    const struct fb_simt_family *family = self->family;
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
    if (family->keeps_rows) {
        call.row_max = a->saved;
        call.row_sum = call.row_max + fb_simt_delta_bytes(p) / sizeof(float);
    }
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

enum fb_status fb_simt_forward(const struct fb_variant *self, struct fb_context *ctx, void *state,
                               const struct fb_args *args)
{
    const struct fb_simt_call call = fb_simt_call_of(self, args);
    (void)state;
    return fb_simt_run(ctx, FB_SIMT_FORWARD, &call);
}
