/* SPDX-License-Identifier: BSD-3-Clause
 *
 * plugin_heads.c: a plug-in for test_plugin.sh whose dv is wrong in its last bit, as if the shares
 * of heads that share a key had been rounded; -DROUNDINGS= is what it declares. For two query heads
 * over one key head, one query, one key, bf16, and data with q.k = 0 (dyadic): o = v, lse = 0,
 * dv = dout of the first head + dout of the second, dq = dk = 0.
 */
#include <string.h>

#include "flashback.h"

static float widen(uint16_t half)
{
    const uint32_t bits = (uint32_t)half << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Of a value that bf16 holds. */
static uint16_t narrow(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (uint16_t)(bits >> 16);
}

static const char *why_not(const struct fb_variant *self, const struct fb_problem *p,
                           const struct fb_numerics *n)
{
    (void)self;
    (void)n;
    return p->b == 1 && p->h == 2 && p->hk == 1 && p->nq == 1 && p->nk == 1
               ? NULL
               : "h: only b=1, h=2, hk=1, n=1";
}

static enum fb_status sizes(const struct fb_variant *self, const struct fb_problem *p,
                            const struct fb_numerics *n, size_t *saved, size_t *workspace)
{
    (void)self;
    (void)p;
    (void)n;
    *saved = *workspace = 0;
    return FB_OK;
}

static enum fb_status forward(const struct fb_variant *self, struct fb_context *ctx, void *state,
                              const struct fb_args *a)
{
    const size_t bytes = sizeof(uint16_t) * (size_t)a->problem->dv;
    (void)self;
    (void)ctx;
    (void)state;
    for (int64_t h = 0; h < 2; h++) {
        memcpy((uint16_t *)a->o.data + h * a->o.stride[1], a->v.data, bytes);
        ((float *)a->lse.data)[h * a->lse.stride[1]] = 0;
    }
    return FB_OK;
}

static enum fb_status backward(const struct fb_variant *self, struct fb_context *ctx, void *state,
                               const struct fb_args *a)
{
    const size_t bytes = sizeof(uint16_t) * (size_t)a->problem->d;
    const uint16_t *first = a->dout.data, *second = first + a->dout.stride[1];
    uint16_t *dv = a->dv.data, *dq = a->dq.data;
    (void)self;
    (void)ctx;
    (void)state;
    for (int64_t c = 0; c < a->problem->dv; c++)
        dv[c] = narrow(widen(first[c]) + widen(second[c]));
    dv[0] ^= 1;
    memset(dq, 0, bytes);
    memset(dq + a->dq.stride[1], 0, bytes);
    memset(a->dk.data, 0, bytes);
    return FB_OK;
}

static const struct fb_variant heads = {
    .abi_version = FB_ABI_VERSION,
    .struct_size = sizeof(struct fb_variant),
    .name = "heads",
    .summary = "a bit too many or too few",
    .backend = "cpu",
    .properties = {.deterministic = FB_DET_ALL, .gemms = 5, .roundings = ROUNDINGS},
    .offer = {.dtypes = FB_BIT(FB_BF16),
              .masks = FB_MASKS_KNOWN,
              .terms = FB_TERMS_KNOWN & ~FB_BIT(FB_TERM_KEEP),
              .biases = FB_ANY,
              .layouts = FB_ANY,
              .dkv = FB_ANY,
              .dq = FB_ANY,
              .ps = FB_ANY,
              .delta = FB_ANY,
              .lse = FB_ANY,
              .round = FB_ANY},
    .why_not = why_not,
    .sizes = sizes,
    .forward = forward,
    .backward = backward,
};

const struct fb_variant *const *fb_plugin_variants(void)
{
    static const struct fb_variant *const table[] = {&heads, NULL};
    return table;
}
