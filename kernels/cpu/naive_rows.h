/* SPDX-License-Identifier: BSD-3-Clause
 *
 * naive_rows.h: the passes of naive.c over rows of score matrices, between its GEMMs.
 */
#ifndef FB_CPU_NAIVE_ROWS_H
#define FB_CPU_NAIVE_ROWS_H

#include "kernels/cpu/naive.h"

/* Scratch of one slot: one query head and its key head as fp32, and two score matrices; two more
 * for the factors of dropout and the derivative of a softcap. */
struct fb_cpu_naive_scratch {
    float *q, *k, *v, *o, *dout, *dq, *dk, *dv;
    float *s, *dp, *f, *g;
    float *max, *sum, *delta;
};

/* The query head under way. Matrices in scratch have rows of fb_cpu_width(job->nk). */
struct fb_cpu_naive_head {
    const struct fb_cpu_naive *naive;
    struct fb_cpu_naive_scratch s;
    struct fb_cpu_seq seq;
    int64_t h, hk;
    int64_t before; /* entries of one head's matrices in the sequences before this */
    int threads;    /* for the passes over rows */
    const float *p; /* where the GEMM of dV finds P */
    int64_t ldp;
    struct fb_cpu_tickets tickets;
};

/* Where the saved matrices of this head begin. */
static inline int64_t fb_cpu_naive_entry(const struct fb_cpu_naive_head *at)
{
    return at->naive->job->h * at->before + at->h * at->seq.nq * at->seq.nk;
}

/* Runs a pass over all rows, 64 at a time, in the threads of this head. */
void fb_cpu_naive_over_rows(struct fb_cpu_naive_head *at,
                            void (*pass)(const struct fb_cpu_naive_head *, int64_t row,
                                         int64_t rows));

/* The passes. S to P f, and lse; what is to be saved is saved. */
void fb_cpu_naive_softmax(const struct fb_cpu_naive_head *at, int64_t row, int64_t rows);
/* What was saved, to scratch. */
void fb_cpu_naive_load(const struct fb_cpu_naive_head *at, int64_t row, int64_t rows);
/* delta where it is made from o, and lse as it is read. */
void fb_cpu_naive_delta(const struct fb_cpu_naive_head *at, int64_t row, int64_t rows);
/* dP to dS, from P in memory; P to P f. */
void fb_cpu_naive_gradient(const struct fb_cpu_naive_head *at, int64_t row, int64_t rows);
/* S and dP to P f and dS. */
void fb_cpu_naive_scores(const struct fb_cpu_naive_head *at, int64_t row, int64_t rows);

#endif
