/* SPDX-License-Identifier: BSD-3-Clause
 *
 * ref_world.c: random inputs for the reference.
 */
#include "tests/reference/ref_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/problem.h"
#include "core/status.h"

static double draw(void)
{
    static uint64_t state = 99;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(int64_t)(state >> 11) / 0x1p52 - 1;
}

static struct fb_ref_view fresh(struct ref_world *w, int slot, int64_t b, int64_t h, int64_t n,
                                int64_t d, double spread)
{
    w->store[slot] = malloc((size_t)(b * h * n * d + 1) * sizeof(double));
    for (int64_t at = 0; at < b * h * n * d; at++)
        w->store[slot][at] = spread * draw();
    return fb_ref_view_array(w->store[slot], b, h, n, d);
}

static int64_t offsets(const int64_t *lengths, int64_t b, int64_t *cu)
{
    cu[0] = 0;
    for (int64_t s = 0; s < b; s++)
        cu[s + 1] = cu[s] + lengths[s];
    return cu[b];
}

void ref_world_make(struct ref_world *w, const char *text, double spread, int64_t extra)
{
    memset(w, 0, sizeof *w);
    if (fb_problem_parse(&w->p, text) != FB_OK) {
        printf("Bail out! %s: %s\n", text, fb_status_message());
        exit(1);
    }
    struct fb_problem *p = &w->p;
    int64_t b = p->b, nq = p->nq, nk = p->nk;
    w->in.problem = p;
    if (p->qlens) {
        b = 1;
        nq = offsets(p->qlens, p->b, w->cu_q) + extra;
        nk = offsets(p->klens, p->b, w->cu_k) + extra;
        w->in.cu_qlens = w->cu_q;
        w->in.cu_klens = w->cu_k;
    }
    w->in.q = fresh(w, 0, b, p->h, nq, p->d, spread);
    w->in.k = fresh(w, 1, b, p->hk, nk, p->d, spread);
    w->in.v = fresh(w, 2, b, p->hk, nk, p->dv, 1);
    w->in.dout = fresh(w, 3, b, p->h, nq, p->dv, 1);
    if (p->dlse)
        w->in.dlse = fresh(w, 4, b, p->h, nq, 1, 1);
    if (p->sink)
        w->in.sink = fresh(w, 5, 1, p->h, 1, 1, 1);
    if (p->bias == FB_BIAS_HEAD)
        w->in.bias = fresh(w, 6, 1, p->h, p->nq, p->nk, 1);
    if (p->bias == FB_BIAS_FULL)
        w->in.bias = fresh(w, 6, p->b, p->h, p->nq, p->nk, 1);
}

bool ref_world_compute(struct ref_world *w)
{
    struct fb_ref_request want = {.values = &w->out};
    fb_ref_free(&w->out);
    return fb_ref_compute(&w->in, &want) == FB_OK;
}

void ref_world_drop(struct ref_world *w)
{
    for (int slot = 0; slot < 7; slot++)
        free(w->store[slot]);
    fb_ref_free(&w->out);
    fb_problem_free(&w->p);
}
