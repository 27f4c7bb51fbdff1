/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A variant called through its descriptor, as the harness does, by the device tests: its tensors in
 * every layout, NaN patterns, the call. Beyond what the harness does, layout packed-qkv makes
 * slices of the gradients, too, and slices begin in the middle of a row.
 */
#ifndef FB_TESTS_DEVICE_VARIANT_CALL_CUH
#define FB_TESTS_DEVICE_VARIANT_CALL_CUH

#include <stdarg.h>
#include <string.h>

#include "flashback.h"
#include "tests/device/check.cuh"
#include "tests/device/inputs.cuh"

/* Blocks of memory: the tensors, lse, the workspace. */
enum { Q, K, V, O, DOUT, DQ, DK, DV, LSE, WORKSPACE, BLOCKS };

struct variant_call {
    const struct fb_variant *variant;
    struct fb_problem problem;
    struct fb_numerics numerics;
    struct fb_context ctx;
    struct fb_args args;
    char *block[BLOCKS];
    size_t bytes[BLOCKS];
};

static void no_phase(struct fb_context *, const char *)
{
}

static void explain(struct fb_context *, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    printf("# ");
    vprintf(format, list);
    printf("\n");
    va_end(list);
}

static struct fb_tensor *tensor_of(struct variant_call *x, int which)
{
    struct fb_args *a = &x->args;
    struct fb_tensor *all[] = {&a->q,  &a->k,  &a->v,  &a->o,  &a->dout,
                               &a->dq, &a->dk, &a->dv, &a->lse};
    return all[which];
}

static bool is_slice(const struct variant_call *x, int which)
{
    return x->problem.layout == FB_LAYOUT_PACKED_QKV && which != O && which != DOUT && which != LSE;
}

/* A slice begins one head into a row of h + 2 hk. */
static void tensor_make(struct variant_call *x, int which)
{
    const struct fb_problem *p = &x->problem;
    const bool key = which == K || which == V || which == DK || which == DV,
               slice = is_slice(x, which);
    const int64_t h = key ? p->hk : p->h, n = key ? p->nk : p->nq, d = which == LSE ? 1 : p->d;
    const int64_t heads = slice ? p->h + 2 * p->hk : h, size = which == LSE ? 4 : 2;
    const bool inside = slice || (p->layout == FB_LAYOUT_BNHD && which != LSE);
    struct fb_tensor *t = tensor_of(x, which);

    *t = {NULL,
          which == LSE ? FB_FP32 : p->dtype,
          {p->b, h, n, d},
          {heads * n * d, inside ? d : n * d, inside ? heads * d : d, 1}};
    x->bytes[which] = (size_t)(p->b * heads * n * d * size);
    CHECK_CUDA(cudaMalloc(&x->block[which], x->bytes[which] + 16));
    t->data = x->block[which] + (slice ? d * size : 0);
}

/* q and k have means of -shift and shift. */
template <class T>
static void call_make(struct variant_call *x, const struct fb_variant *variant,
                      const struct fb_problem &p, float shift)
{
    size_t saved;

    *x = {};
    x->variant = variant, x->problem = p;
    x->ctx.abi_version = FB_ABI_VERSION, x->ctx.struct_size = sizeof x->ctx;
    x->ctx.phase = no_phase, x->ctx.explain = explain;
    x->args.problem = &x->problem, x->args.numerics = &x->numerics;
    for (int i = 0; i <= LSE; i++)
        tensor_make(x, i);
    if (variant->sizes(variant, &x->problem, &x->numerics, &saved, &x->bytes[WORKSPACE]) != FB_OK)
        exit(3);
    CHECK_CUDA(cudaMalloc(&x->block[WORKSPACE], x->bytes[WORKSPACE] + 16));
    x->args.workspace = x->block[WORKSPACE], x->args.workspace_bytes = x->bytes[WORKSPACE];
    for (int i : {Q, K, V, DOUT})
        fill_normal<<<256, 256>>>((T *)x->block[i], x->bytes[i] / 2, (uint64_t)i + 1, 1,
                                  i == Q   ? -shift
                                  : i == K ? shift
                                           : 0);
}

static void call_free(struct variant_call *x)
{
    for (char *block : x->block)
        CHECK_CUDA(cudaFree(block));
}

static void call_run(struct variant_call *x, bool backward)
{
    for (int i : {O, LSE, DQ, DK, DV, WORKSPACE})
        if (i == WORKSPACE || (i >= DQ && i <= DV) == backward)
            CHECK_CUDA(cudaMemset(x->block[i], 0xff, x->bytes[i]));
    enum fb_status status = (backward ? x->variant->backward
                                      : x->variant->forward)(x->variant, &x->ctx, NULL, &x->args);
    if (status != FB_OK) {
        printf("Bail out! %s returned %d\n", backward ? "backward" : "forward", (int)status);
        exit(1);
    }
    CHECK_CUDA(cudaDeviceSynchronize());
}

/* A block's bytes on the host, for the caller to free. */
static char *block_read(const struct variant_call *x, int which)
{
    char *host = (char *)malloc(x->bytes[which] + 1);
    CHECK_CUDA(cudaMemcpy(host, x->block[which], x->bytes[which], cudaMemcpyDeviceToHost));
    return host;
}

/* Between the slices of a gradient nothing was written. */
static bool gaps_kept(struct variant_call *x, int which)
{
    const struct fb_tensor *t = tensor_of(x, which);
    const int64_t row = t->stride[2], d = t->shape[3], end = d + t->shape[1] * d;
    bool kept = true;

    if (!is_slice(x, which))
        return true;
    uint16_t *host = (uint16_t *)block_read(x, which);
    for (int64_t i = 0; i < (int64_t)(x->bytes[which] / 2); i++)
        if (i % row < d || i % row >= end)
            kept &= host[i] == 0xffff;
    free(host);
    return kept;
}

#endif
