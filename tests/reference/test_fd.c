/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The reference's gradients against central differences of its own forward: the loss is
 * sum o dout + sum lse dlse on tiny shapes, for every term of a problem and for combinations. All
 * in double, so that a difference of h = 1e-5 is good to about 1e-9.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/problem.h"
#include "core/status.h"
#include "reference/philox.h"
#include "reference/reference.h"
#include "tests/tap.h"

#define STEP 1e-5
#define TOLERANCE 2e-8

/* One array of doubles a tensor, contiguous. */
struct world {
    struct fb_problem problem;
    struct fb_ref_inputs inputs;
    double *q, *k, *v, *dout, *dlse, *bias, *sink;
    int64_t q_count, k_count, v_count, o_count, row_count, bias_count;
    int64_t cu_q[8], cu_k[8];
};

/* Values in (-1, 1), the same in every run. */
static double draw(void)
{
    static uint64_t state = 42;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(int64_t)(state >> 11) / 0x1p52 - 1;
}

static double *draws(int64_t count, double spread)
{
    double *x = malloc((size_t)(count + 1) * sizeof *x);
    for (int64_t n = 0; n < count; n++)
        x[n] = spread * draw();
    return x;
}

static int64_t offsets(const int64_t *lengths, int64_t b, int64_t *cu)
{
    cu[0] = 0;
    for (int64_t s = 0; s < b; s++)
        cu[s + 1] = cu[s] + lengths[s];
    return cu[b];
}

static void open_world(struct world *w, const char *text, double spread)
{
    memset(w, 0, sizeof *w);
    if (fb_problem_parse(&w->problem, text) != FB_OK) {
        printf("Bail out! %s: %s\n", text, fb_status_message());
        exit(1);
    }
    const struct fb_problem *p = &w->problem;
    int64_t b = p->b, nq = p->nq, nk = p->nk;
    w->inputs.problem = p;
    if (p->qlens) {
        b = 1;
        nq = offsets(p->qlens, p->b, w->cu_q);
        nk = offsets(p->klens, p->b, w->cu_k);
        w->inputs.cu_qlens = w->cu_q;
        w->inputs.cu_klens = w->cu_k;
    }
    w->row_count = b * p->h * nq;
    w->q_count = w->row_count * p->d;
    w->o_count = w->row_count * p->dv;
    w->k_count = b * p->hk * nk * p->d;
    w->v_count = b * p->hk * nk * p->dv;
    w->q = draws(w->q_count, spread);
    w->k = draws(w->k_count, spread);
    w->v = draws(w->v_count, 1);
    w->dout = draws(w->o_count, 1);
    w->inputs.q = fb_ref_view_array(w->q, b, p->h, nq, p->d);
    w->inputs.k = fb_ref_view_array(w->k, b, p->hk, nk, p->d);
    w->inputs.v = fb_ref_view_array(w->v, b, p->hk, nk, p->dv);
    w->inputs.dout = fb_ref_view_array(w->dout, b, p->h, nq, p->dv);
    w->dlse = draws(w->row_count, p->dlse ? 1 : 0);
    if (p->dlse)
        w->inputs.dlse = fb_ref_view_array(w->dlse, b, p->h, nq, 1);
    w->sink = draws(p->h, 1);
    if (p->sink)
        w->inputs.sink = fb_ref_view_array(w->sink, 1, p->h, 1, 1);
    if (p->bias != FB_BIAS_NONE) {
        int64_t bias_b = p->bias == FB_BIAS_FULL || p->bias == FB_BIAS_BATCH ? p->b : 1;
        int64_t bias_h = p->bias == FB_BIAS_FULL || p->bias == FB_BIAS_HEAD ? p->h : 1;
        w->bias_count = bias_b * bias_h * p->nq * p->nk;
        w->bias = draws(w->bias_count, 1);
        w->inputs.bias = fb_ref_view_array(w->bias, bias_b, bias_h, p->nq, p->nk);
    }
}

static void close_world(struct world *w)
{
    double *all[] = {w->q, w->k, w->v, w->dout, w->dlse, w->bias, w->sink};
    for (size_t n = 0; n < sizeof all / sizeof *all; n++)
        free(all[n]);
    fb_problem_free(&w->problem);
}

static double loss(const struct world *w)
{
    struct fb_ref_inputs forward = w->inputs;
    struct fb_ref_tensors t;
    struct fb_ref_request want = {.values = &t};
    double sum = 0;
    forward.dout.data = NULL;
    if (fb_ref_compute(&forward, &want) != FB_OK)
        return NAN;
    for (int64_t n = 0; n < w->o_count; n++)
        sum += t.o[n] * w->dout[n];
    for (int64_t n = 0; n < w->row_count; n++)
        if (isfinite(t.lse[n]))
            sum += t.lse[n] * w->dlse[n];
    fb_ref_free(&t);
    return sum;
}

/* The largest difference between gradient and central difference, over all elements. */
static double worst(const struct world *w, double *x, const double *gradient, int64_t count)
{
    double largest = 0;
    for (int64_t n = 0; n < count; n++) {
        double at = x[n];
        x[n] = at + STEP;
        double above = loss(w);
        x[n] = at - STEP;
        double below = loss(w);
        x[n] = at;
        double difference = fabs((above - below) / (2 * STEP) - gradient[n]);
        if (!(difference <= largest)) /* NaN counts as the largest */
            largest = difference;
    }
    return largest;
}

static void check(const char *text, double spread)
{
    struct world w;
    struct fb_ref_tensors t;
    struct fb_ref_request want = {.values = &t};
    open_world(&w, text, spread);
    if (tap_ok(fb_ref_compute(&w.inputs, &want) == FB_OK, "%s", text)) {
        const struct {
            const char *name;
            double *x, *gradient;
            int64_t count;
        } tensors[] = {{"dq", w.q, t.dq, w.q_count},
                       {"dk", w.k, t.dk, w.k_count},
                       {"dv", w.v, t.dv, w.v_count},
                       {"dbias", w.bias, t.dbias, w.bias_count},
                       {"dsink", w.sink, t.dsink, w.problem.h}};
        for (size_t n = 0; n < sizeof tensors / sizeof *tensors; n++) {
            if (!tensors[n].gradient)
                continue;
            double largest = worst(&w, tensors[n].x, tensors[n].gradient, tensors[n].count);
            tap_ok(largest <= TOLERANCE, "%s: %s to %.1e", text, tensors[n].name, largest);
        }
        fb_ref_free(&t);
    }
    close_world(&w);
}

/* A wrong gradient must be seen: the same comparison with dk not scaled. */
static void check_comparison(void)
{
    struct world w;
    struct fb_ref_tensors t;
    struct fb_ref_request want = {.values = &t};
    open_world(&w, "n=5,d=4,causal,dtype=fp32", 1);
    if (tap_ok(fb_ref_compute(&w.inputs, &want) == FB_OK, "the comparison itself")) {
        for (int64_t n = 0; n < w.k_count; n++)
            t.dk[n] /= w.problem.scale;
        tap_ok(worst(&w, w.k, t.dk, w.k_count) > 1e-3, "an unscaled dk is seen");
        fb_ref_free(&t);
    }
    close_world(&w);
}

int main(void)
{
    const char *const problems[] = {
        "n=5,d=4,dtype=fp32",
        "n=5,d=4,causal,dtype=fp32",
        "n=5,d=4,mask=causal-topleft,dtype=fp32",
        "nq=3,nk=6,d=4,causal,dtype=fp32",
        "nq=6,nk=3,d=4,causal,dtype=fp32",
        "nq=3,nk=6,d=4,mask=causal-topleft,dtype=fp32",
        "nq=6,nk=3,d=4,mask=causal-topleft,dtype=fp32",
        "n=5,d=4,window=1:1,dtype=fp32",
        "nq=4,nk=6,d=4,window=2:-1,dtype=fp32",
        "nq=6,nk=4,d=4,window=1:0,causal,dtype=fp32",
        "n=5,d=4,scale=0.3,dtype=fp32",
        "n=5,d=4,scale=-0.7,dtype=fp32",
        "n=5,d=4,scale=0,dtype=fp32",
        "n=5,d=4,dv=3,dtype=fp32",
        "n=5,d=3,dv=6,causal,dtype=fp32",
        "n=1,d=1,dtype=fp32",
        "b=2,h=4,hk=2,n=4,d=3,dtype=fp32",
        "h=3,hk=1,n=5,d=4,causal,dtype=fp32",
        "n=5,d=4,softcap=1.5,dtype=fp32",
        "h=2,n=5,d=4,softcap=0.5,causal,scale=1,dtype=fp32",
        "h=3,n=5,d=4,alibi=auto,dtype=fp32",
        "h=2,nq=3,nk=6,d=4,alibi=0.5:0.25,causal,dtype=fp32",
        "b=2,h=2,n=4,d=3,bias=full,dtype=fp32",
        "b=2,h=2,n=4,d=3,bias=head,dtype=fp32",
        "b=2,h=2,n=4,d=3,bias=batch,causal,dtype=fp32",
        "b=2,h=4,hk=2,n=4,d=3,bias=all,dtype=fp32",
        "h=2,n=5,d=4,dropout=0.3@7:1,dtype=fp32",
        "b=2,h=4,hk=2,n=5,d=4,dropout=0.5@11:3,causal,dtype=fp32",
        "h=2,n=5,d=4,sink,dtype=fp32",
        "b=2,h=2,nq=6,nk=4,d=4,sink,causal,dtype=fp32",
        "h=2,n=5,d=4,dlse,dtype=fp32",
        "h=2,nq=6,nk=4,d=4,dlse,sink,causal,dtype=fp32",
        "b=3,h=2,hk=1,nq=4,nk=5,d=3,qlens=3+0+4,klens=5+2+2,causal,dtype=fp32",
        "b=4,h=3,hk=1,nq=1,nk=5,d=4,qlens=0+1+0+1,klens=0+3+0+5,causal,dtype=fp32",
        "b=2,h=2,nq=4,nk=4,d=3,qlens=4+2,klens=3+4,bias=full,window=2:1,dtype=fp32",
        "b=2,h=4,hk=2,nq=4,nk=5,d=4,dv=3,causal,softcap=2,alibi=auto,bias=head,dropout=0.2@5:9,"
        "sink,dlse,window=3:-1,scale=0.8,dtype=fp32",
    };
    for (size_t n = 0; n < sizeof problems / sizeof *problems; n++)
        check(problems[n], 1);
    check("h=2,n=5,d=4,softcap=1.5,causal,dtype=fp32", 4);
    check("h=2,n=5,d=4,dtype=fp32", 5);
    check_comparison();
    return tap_done();
}
