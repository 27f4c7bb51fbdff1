/* SPDX-License-Identifier: BSD-3-Clause
 *
 * reference.h: attention forward and backward in double precision, exact and obvious, with every
 * term of a problem. It is the judge's yardstick and shares no code with what it judges: neither
 * masks nor conversions. It needs flashback.h and libm alone; its form for a device (device.h)
 * needs CUDA and calls cuBLAS by the same door as the variants that are made of it, and is believed
 * only where it agrees with this one.
 *
 * Every row of every output is one loop in one fixed order in one thread, so that the bits do not
 * depend on the number of threads, and a chosen set of rows costs no more than those rows (rows of
 * dk and dv also need lse and delta of every query of their heads: one forward pass).
 *
 * The mathematics for query head h, key head h / (H/Hk), in local row numbers of one sequence
 * (x_ij are matrices over visible pairs; doc/derivation.md derives the gradients):
 *
 *     r_ij = scale * q_i . k_j                        g_ij = 1
 *     r_ij = cap * tanh(r_ij / cap),                  g_ij = 1 - tanh^2       (softcap)
 *     s_ij = r_ij + bias_ij - slope * |i + nk - nq - j|
 *     lse_i = log(sum_j exp(s_ij) + exp(sink))        p_ij = exp(s_ij - lse_i)
 *     o_i = sum_j p_ij f_ij v_j                       f_ij = keep_ij / (1 - dropout)
 *     delta_i = dout_i . o_i - dlse_i
 *     dp_ij = f_ij dout_i . v_j                       ds_ij = p_ij (dp_ij - delta_i)
 *     dq_i = scale sum_j ds_ij g_ij k_j               dk_j = scale sum_i ds_ij g_ij q_i
 *     dv_j = sum_i p_ij f_ij dout_i                   dbias_ij = ds_ij
 *     dsink = -sum_i exp(sink - lse_i) delta_i
 *
 * A row that sees no key has o = 0, lse = -inf and adds nothing to any gradient, sink or not.
 */
#ifndef FB_REFERENCE_H
#define FB_REFERENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "flashback.h"

/* ---- Inputs -----------------------------------------------------------------------------------
 */

/* The three tensor types, and double for tests that cannot afford rounding. */
enum fb_ref_type {
    FB_REF_FP32 = FB_FP32,
    FB_REF_BF16 = FB_BF16,
    FB_REF_FP16 = FB_FP16,
    FB_REF_FP64
};

/* As struct fb_tensor, read-only: data == NULL is absent. */
struct fb_ref_view {
    const void *data;
    enum fb_ref_type type;
    int64_t shape[4];
    int64_t stride[4];
};

struct fb_ref_inputs {
    const struct fb_problem *problem; /* finished: hk, dv and scale are set */
    struct fb_ref_view q, k, v;
    struct fb_ref_view dout;             /* absent: the forward alone */
    struct fb_ref_view dlse, bias, sink; /* where the problem has them */
    struct fb_ref_view alibi;            /* slopes [1, h, 1, 1]; absent: from the problem */
    const int64_t *cu_qlens, *cu_klens;  /* [b + 1] where sequences are packed, else NULL */
    const uint8_t *keep;                 /* [b, h, nq, nk], 1 is kept; NULL: philox.h */
    /* o [rows, dv] and lse [rows] of every query, where they are known from elsewhere (device.h),
     * or NULL: spares the forward of queries that are only asked for by their keys. */
    const double *known_o, *known_lse;
};

struct fb_ref_view fb_ref_view_tensor(const struct fb_tensor *tensor);
struct fb_ref_view fb_ref_view_array(const double *data, int64_t b, int64_t h, int64_t n,
                                     int64_t d);
void fb_ref_inputs_from_args(struct fb_ref_inputs *inputs, const struct fb_args *args);

/* ---- Which rows --------------------------------------------------------------------------------
 */

/* Row numbers run flat over [b, h, n] of q (of k); ascending, without repeats. A NULL list is every
 * row. Computing no row of a side is count == 0 with a non-NULL list. */
struct fb_ref_rows {
    const int64_t *q, *k;
    int64_t q_count, k_count;
};

/* ---- Outputs -----------------------------------------------------------------------------------
 */

/* Contiguous arrays, [count, width], in the order of the row lists. */
struct fb_ref_tensors {
    int64_t q_count, k_count;
    double *o, *lse, *dq; /* [q_count, dv], [q_count], [q_count, d] */
    double *dk, *dv;      /* [k_count, d], [k_count, dv] */
    double *dbias;        /* the shape of bias; NULL without, and where rows are chosen */
    double *dsink;        /* [h]; NULL without, and where rows are chosen */
    double rho;           /* of a spread: the largest mean relative error of a row of p */
};

/* How rounding errors enter a correct kernel, as factors of a first-order error analysis
 * (doc/derivation.md names each). Relative unless said otherwise; 0 is exact. */
struct fb_ref_roundings {
    double score;             /* of r_ij, relative to |scale| sum_c |q_ic k_jc| */
    double term;              /* of s_ij, relative to |r_ij| + |bias_ij| + |slope distance| */
    double lse;               /* of lse_i, relative to |lse_i| */
    double lse_read;          /* of lse_i as the backward reads it, on top of that */
    double exponent;          /* of exp */
    double dp;                /* of dp_ij, relative to sum_c |dout_ic v_jc| */
    double o;                 /* of o where delta is made, relative to sum_c |dout_ic o_ic| */
    double delta;             /* of delta_i, relative to |delta_i| */
    bool recomputed;          /* delta_i is sum_j p_ij dp_ij of computed values, not made from o */
    double p, ds;             /* of p and ds as operands of the second GEMM */
    double p_floor, ds_floor; /* absolute errors of the same (subnormals) */
    double output;            /* of an output in the problem's dtype */
    double output_floor;      /* absolute error of the same */
    struct fb_ref_sum {       /* of n terms over tiles of `tile` rows: an error relative to */
        double term;          /* sum |terms| of term sqrt(n) + step f(T), T = tiles with terms, */
        double step;          /* f(T) = sqrt(T) up to `stagnation` tiles and T beyond */
        double stagnation;    /* 0: always T; INFINITY: always sqrt(T) */
        double floor;         /* absolute error of one tile's rounding (subnormals) */
        int64_t tile;         /* rows; 0: everything is one tile */
    } sum_o, sum_dq, sum_dkv;
};

/* What p, ds, delta or lse is rounded to. */
enum fb_ref_cast { FB_REF_EXACT, FB_REF_TO_FP32, FB_REF_TO_BF16, FB_REF_TO_FP16 };

/* What a kernel of given numerics would write if only its declared roundings were inexact. */
struct fb_ref_casts {
    enum fb_ref_cast output; /* of o where delta is made, and of every output */
    enum fb_ref_cast p_ds, delta, lse;
    bool recomputed; /* as in fb_ref_roundings */
    enum fb_acc dq, dkv;
    int64_t bm, bn; /* dk, dv are rounded every bm queries, dq every bn keys; 0: once */
};

/* Any of the outputs may be NULL. `spread` gets first-order error sums (how far roundings can move
 * an element), `emulated` the gradients under casts; each asks for its parameters. */
struct fb_ref_request {
    struct fb_ref_rows rows;
    struct fb_ref_tensors *values;
    const struct fb_ref_roundings *roundings;
    struct fb_ref_tensors *spread;
    const struct fb_ref_casts *casts;
    struct fb_ref_tensors *emulated;
};

/* Computes and allocates what was asked for; free with fb_ref_free. FB_USAGE: shapes that do not
 * fit the problem; FB_NO_MEMORY. */
enum fb_status fb_ref_compute(const struct fb_ref_inputs *inputs,
                              const struct fb_ref_request *want);

void fb_ref_free(struct fb_ref_tensors *tensors); /* fine on zeroed ones */

/* ---- Visibility --------------------------------------------------------------------------------
 */

/* Does query i see key j in a sequence of nq queries and nk keys? The definition itself. */
bool fb_ref_visible(const struct fb_problem *problem, int64_t nq, int64_t nk, int64_t i, int64_t j);

/* The keys that query i sees are lo <= j < hi. */
void fb_ref_keys(const struct fb_problem *problem, int64_t nq, int64_t nk, int64_t i, int64_t *lo,
                 int64_t *hi);

#endif
