/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What variants take, as data: each refusal has its words and names its item; what is printed as
 * offered is what is taken; every variant of this program takes what it offers, and refuses what
 * lies just outside of it.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/backends.h"
#include "core/numerics.h"
#include "core/offer.h"
#include "core/problem.h"
#include "core/registry.h"
#include "tests/tap.h"

/* ---- Problems item by item ----------------------------------------------------------------------
 */

struct asked {
    struct fb_problem p;
    struct fb_numerics n;
    int64_t lengths[2];
};

/* Two sequences of 64 with standard numerics. */
static void plain(struct asked *a, enum fb_dtype dtype, int64_t d)
{
    fb_problem_init(&a->p);
    a->p.b = 2;
    a->p.h = a->p.hk = 4;
    a->p.nq = a->p.nk = 64;
    a->p.d = a->p.dv = d;
    a->p.scale = 0.125;
    a->p.dtype = dtype;
    a->n = fb_numerics_standard;
    a->lengths[0] = a->lengths[1] = 64;
}

static void add_term(struct asked *a, int term)
{
    struct fb_problem *p = &a->p;
    switch (term) {
    case FB_TERM_WINDOW:
        p->window_left = 8, p->window_right = 0;
        break;
    case FB_TERM_SOFTCAP:
        p->softcap = 5;
        break;
    case FB_TERM_ALIBI:
        p->alibi = FB_ALIBI_AUTO;
        break;
    case FB_TERM_DROPOUT:
        p->dropout = 0.25;
        break;
    case FB_TERM_SINK:
        p->sink = 1;
        break;
    case FB_TERM_DLSE:
        p->dlse = 1;
        break;
    case FB_TERM_LENGTHS:
        p->klens = a->lengths;
        break;
    case FB_TERM_GROUPS:
        p->hk = 2;
        break;
    case FB_TERM_SCALE:
        p->scale = -1;
        break;
    case FB_TERM_DV:
        p->dv = p->d == 8 ? 16 : 8;
        break;
    }
}

static void set_value(struct asked *a, int item, int value)
{
    switch (item) {
    case FB_OFFER_DTYPE:
        a->p.dtype = (enum fb_dtype)value;
        break;
    case FB_OFFER_MASK:
        a->p.mask = (enum fb_mask)value;
        break;
    case FB_OFFER_TERMS:
        add_term(a, value);
        break;
    case FB_OFFER_BIAS:
        a->p.bias = (enum fb_bias)value;
        break;
    case FB_OFFER_LAYOUT:
        a->p.layout = (enum fb_layout)value;
        break;
    case FB_OFFER_NUMERICS:
        a->n.dkv = (enum fb_acc)value;
        break;
    case FB_OFFER_NUMERICS + 1:
        a->n.dq = (enum fb_acc)value;
        break;
    case FB_OFFER_NUMERICS + 2:
        a->n.ps = (enum fb_ps)value;
        break;
    case FB_OFFER_NUMERICS + 3:
        a->n.delta = (enum fb_delta)value;
        break;
    case FB_OFFER_NUMERICS + 4:
        a->n.lse = (enum fb_lse)value;
        break;
    case FB_OFFER_NUMERICS + 5:
        a->n.round = (enum fb_round)value;
        break;
    }
}

/* ---- The words ----------------------------------------------------------------------------------
 */

static void expect(const struct fb_variant *v, const char *problem, const char *numerics,
                   const char *words)
{
    struct fb_problem p;
    struct fb_numerics n;
    if (fb_problem_parse(&p, problem) != FB_OK || fb_numerics_parse(&n, numerics) != FB_OK) {
        tap_ok(false, "%s %s cannot be read", problem, numerics);
        return;
    }
    const char *why = fb_offer_why_not(v, &p, &n);
    tap_ok(words ? why && !strcmp(why, words) : !why, "%s %s: %s", problem, numerics,
           why ? why : "taken");
    fb_problem_free(&p);
}

static const char *own_reason(const struct fb_variant *self, const struct fb_problem *p,
                              const struct fb_numerics *n)
{
    (void)n;
    return self->family && p->nk % 2 ? self->family : NULL;
}

static void test_words(void)
{
    static const struct fb_variant none = {.name = "none"};
    static const struct fb_variant some = {
        .offer = {.dtypes = FB_BIT(FB_BF16) | FB_BIT(FB_FP16),
                  .masks = FB_BIT(FB_MASK_FULL) | FB_BIT(FB_MASK_CAUSAL),
                  .terms = FB_BIT(FB_TERM_SINK) | FB_BIT(FB_TERM_GROUPS),
                  .biases = FB_BIT(FB_BIAS_HEAD),
                  .d = {.list = {64, 128}},
                  .dq = FB_BIT(FB_ACC_FP32) | FB_BIT(FB_ACC_FP64)},
        .family = "nk: must be even",
        .why_not = own_reason};
    static const struct fb_variant ranged = {
        .offer = {.terms = FB_BIT(FB_TERM_DV), .d = {.least = 16, .most = 96, .multiple = 8}}};
    expect(&none, "n=64,d=33", "", NULL);
    expect(&none, "n=64,d=33", "ps=fp32", NULL); /* the same as ps=in */
    expect(&none, "n=64,d=33,dtype=bf16", "", "dtype: offers fp32");
    expect(&none, "n=64,d=33,causal", "", "mask: offers full");
    expect(&none, "n=64,d=33,bias=all", "", "bias: not offered");
    expect(&none, "n=64,d=33,layout=bnhd", "", "layout: offers bhnd");
    expect(&none, "n=64,d=33,window=4:4", "", "window: not offered");
    expect(&none, "n=64,d=33,softcap=3", "", "softcap: not offered");
    expect(&none, "n=64,d=33,alibi=auto", "", "alibi: not offered");
    expect(&none, "n=64,d=33,dropout=0.1@1:0", "", "dropout: not offered");
    expect(&none, "n=64,d=33,sink", "", "sink: not offered");
    expect(&none, "n=64,d=33,dlse", "", "dlse: not offered");
    expect(&none, "qlens=3+5,klens=3+5,d=33", "", "qlens, klens: not offered");
    expect(&none, "n=64,h=4,hk=2,d=33", "", "hk: offers hk = h");
    expect(&none, "n=64,d=33,scale=0", "", "scale: offers factors above 0");
    expect(&none, "n=64,d=33,scale=1e-50", "", "scale: offers factors above 0"); /* 0 in fp32 */
    expect(&none, "n=64,d=33,dv=32", "", "dv: offers dv = d");
    expect(&none, "n=64,d=33", "dkv=bf16", "dkv: offers fp32");
    expect(&none, "n=64,d=33", "delta=recomputed", "delta: offers fp32");
    expect(&none, "n=64,d=33", "lse=bf16", "lse: offers fp32");
    expect(&none, "n=64,d=33", "round=row", "round: offers tile");
    expect(&some, "n=64,h=4,hk=2,d=64,dtype=bf16,causal,sink,bias=head", "dq=fp64", NULL);
    expect(&some, "n=64,d=64,dtype=fp32", "", "dtype: offers bf16, fp16");
    expect(&some, "n=64,d=64,dtype=bf16,mask=causal-topleft", "", "mask: offers full, causal");
    expect(&some, "n=64,d=64,dtype=bf16,bias=full", "", "bias: offers none, head");
    expect(&some, "n=64,d=96,dtype=bf16", "", "d: offers 64, 128");
    expect(&some, "n=64,d=64,dtype=bf16", "dq=bf16", "dq: offers fp32, fp64");
    expect(&some, "n=64,d=64,dtype=bf16", "ps=fp32", "ps: offers in");
    expect(&some, "n=65,d=64,dtype=bf16", "", "nk: must be even"); /* of its own */
    expect(&some, "n=65,d=64,dtype=fp32", "", "dtype: offers bf16, fp16");
    expect(&ranged, "n=64,d=16,dv=96", "", NULL);
    expect(&ranged, "n=64,d=8", "", "d: offers 16 to 96, multiples of 8");
    expect(&ranged, "n=64,d=20", "", "d: offers 16 to 96, multiples of 8");
    expect(&ranged, "n=64,d=16,dv=104", "", "dv: offers 16 to 96, multiples of 8");
}

/* ---- What is printed is what is taken -----------------------------------------------------------
 */

static int item_faults(const struct fb_offer *offer, int item)
{
    const struct fb_variant v = {.offer = *offer};
    const char *name;
    int faults = 0;
    for (int value = 0; (name = fb_offer_value(offer, item, value)); value++) {
        struct asked a;
        plain(&a, FB_BF16, 64);
        set_value(&a, item, value);
        const char *why = fb_offer_why_not(&v, &a.p, &a.n);
        if (item == FB_OFFER_TERMS && value == FB_TERM_KEEP) /* a matter of the data */
            faults += fb_offer_has_term(&v, FB_TERM_KEEP) != (*name != '\0');
        else
            faults += (*name != '\0') != !why;
    }
    return faults;
}

/* Every single value of every set, and all but every single one. */
static void test_round_trip(void)
{
    int faults = 0, offers = 0;
    for (int item = 0; item < FB_OFFER_ITEMS; item++)
        for (int bit = 0; bit < 12; bit++)
            for (int inverted = 0; inverted < 2; inverted++) {
                const unsigned set = inverted ? FB_ANY & ~FB_BIT(bit) : FB_BIT(bit);
                struct fb_offer o = {.dtypes = FB_BIT(FB_BF16)};
                unsigned *const sets[FB_OFFER_ITEMS] = {
                    &o.dtypes, &o.masks, &o.terms, &o.biases, &o.layouts, &(unsigned){0},
                    &o.dkv,    &o.dq,    &o.ps,    &o.delta,  &o.lse,     &o.round};
                *sets[item] = set;
                faults += item_faults(&o, item);
                offers++;
            }
    tap_ok(!faults, "%d offers print what they take (%d off)", offers, faults);
}

/* ---- The variants of this program ---------------------------------------------------------------
 */

static unsigned draw(unsigned below)
{
    static uint64_t seed = 7;
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(seed >> 33) % below;
}

static int64_t draw_size(const struct fb_head_sizes *d)
{
    int count = 0;
    while (count < 8 && d->list[count])
        count++;
    if (count)
        return d->list[draw((unsigned)count)];
    const int64_t step = d->multiple ? d->multiple : 1, most = d->most ? d->most : 256;
    return step * (1 + draw((unsigned)(most / step)));
}

/* One value of each set that is offered, in half of the items. */
static void draw_inside(struct asked *a, const struct fb_offer *offer)
{
    plain(a, FB_FP32, draw_size(&offer->d));
    for (int item = 0; item < FB_OFFER_ITEMS; item++) {
        int values[12], count = 0;
        const char *name;
        for (int value = 0; (name = fb_offer_value(offer, item, value)); value++)
            if (*name && !(item == FB_OFFER_TERMS && value == FB_TERM_DV))
                values[count++] = value;
        if (count && (item == FB_OFFER_DTYPE || draw(2)))
            set_value(a, item, values[draw((unsigned)count)]);
    }
}

/* A variant may have a reason of its own; where it has none, it knows its sizes. */
static void test_inside(const struct fb_variant *v)
{
    int faults = 0, taken = 0;
    for (int i = 0; i < 400; i++) {
        struct asked a;
        size_t saved = 0, workspace = 0;
        draw_inside(&a, &v->offer);
        const char *own = v->why_not ? v->why_not(v, &a.p, &a.n) : NULL;
        const char *why = fb_offer_why_not(v, &a.p, &a.n);
        if (own ? !why : why != NULL)
            tap_note("%s: %s", v->name, why ? why : "taken"), faults++;
        if (why || !fb_backend_is_host(v->backend))
            continue;
        faults += v->sizes(v, &a.p, &a.n, &saved, &workspace) != FB_OK;
        struct fb_description what = {0};
        if (v->describe)
            v->describe(v, &a.p, &a.n, &what);
        faults += !memchr(what.text, '\0', sizeof what.text);
        taken++;
    }
    tap_ok(!faults && (taken || !fb_backend_is_host(v->backend)),
           "%s takes what it offers (%d of 400 asked for sizes, %d off)", v->name, taken, faults);
}

static bool names(const char *why, int item, int value)
{
    static const char *const terms[] = {"window", "softcap", "alibi", "dropout",
                                        "keep",   "sink",    "dlse",  "qlens, klens",
                                        "hk",     "scale",   "dv"};
    const char *name = item == FB_OFFER_TERMS ? terms[value] : fb_offer_item_name(item);
    const size_t length = strlen(name);
    return why && !strncmp(why, name, length) && why[length] == ':';
}

/* One step outside, in each item that is not whole. */
static void test_outside(const struct fb_variant *v)
{
    int faults = 0, count = 0;
    const char *name;
    for (int item = 0; item < FB_OFFER_ITEMS; item++)
        for (int value = 0; (name = fb_offer_value(&v->offer, item, value)); value++) {
            struct asked a;
            if (*name || (item == FB_OFFER_TERMS && value == FB_TERM_KEEP))
                continue;
            do
                plain(&a, (enum fb_dtype)draw(3), draw_size(&v->offer.d));
            while (!*fb_offer_value(&v->offer, FB_OFFER_DTYPE, (int)a.p.dtype));
            if (item == FB_OFFER_NUMERICS + FB_NUMERICS_PS && a.p.dtype == FB_FP32)
                continue;
            set_value(&a, item, value);
            const char *why = fb_offer_why_not(v, &a.p, &a.n);
            if (!names(why, item, value))
                tap_note("%s, %s: %s", v->name, fb_offer_item_name(item), why), faults++;
            count++;
        }
    if (v->offer.d.most || v->offer.d.multiple > 1 || v->offer.d.list[0]) {
        struct asked a;
        plain(&a, FB_FP32, v->offer.d.most ? v->offer.d.most + 1 : 63);
        while (!*fb_offer_value(&v->offer, FB_OFFER_DTYPE, (int)a.p.dtype))
            a.p.dtype++;
        faults += !names(fb_offer_why_not(v, &a.p, &a.n), FB_OFFER_D, 0);
        count++;
    }
    tap_ok(!faults, "%s refuses by name what it does not offer (%d, %d off)", v->name, count,
           faults);
}

/* Whoever adds a mask or a term has not taught it to any variant yet. */
static void test_unlearned(const struct fb_variant *v)
{
    tap_is_int(v->offer.masks & ~FB_MASKS_KNOWN, 0, "%s: offers no mask to come", v->name);
    tap_is_int(v->offer.terms & ~FB_TERMS_KNOWN, 0, "%s: nor any term", v->name);
}

int main(void)
{
    const struct fb_variant *v;
    test_words();
    test_round_trip();
    for (int i = 0; (v = fb_registry_at(i)); i++) {
        test_unlearned(v);
        test_inside(v);
        test_outside(v);
    }
    return tap_done();
}
