/* SPDX-License-Identifier: BSD-3-Clause
 *
 * internal.h: what the files of the reference share. A group is one sequence (batch entry) and one
 * key head with the query heads that read it: the largest part of a problem whose outputs depend on
 * nothing outside.
 */
#ifndef FB_REFERENCE_INTERNAL_H
#define FB_REFERENCE_INTERNAL_H

#include "reference/reference.h"

/* What a query row needs to know about itself before any gradient. */
struct fb_ref_row {
    double max, sum;    /* largest score and sum of exp(s - max), sink included */
    double lse, delta;  /* -inf, 0 for a row without keys */
    double dout_o_size; /* sum_c |dout_ic o_ic| */
    double dout_o_lost; /* what delta loses with what of o is below the smallest number */
    double delta_error; /* first-order error of delta under the roundings of the request */
    double delta_cast;  /* delta and lse as the emulated kernel has them */
    double lse_cast;
    double rho; /* mean relative error of the row's p, as the forward makes it */
};

/* One visible (query, key) pair. */
struct fb_ref_pair {
    int64_t i, j;
    double s, s_size; /* score, and |r| + |bias| + |slope distance| */
    double qk_size;   /* |scale| sum_c |q_ic k_jc| */
    double tanh, g;   /* of the softcap; 0, 1 without */
    double f;         /* dropout factor: 0 or 1 / (1 - dropout); 1 without */
    double p;
    double dp, dp_size; /* f dout_i . v_j, and f sum_c |dout_ic v_jc| */
    double ds;          /* p (dp - delta) */
};

struct fb_ref_group {
    const struct fb_ref_inputs *in;
    const struct fb_ref_request *want;
    int64_t batch, key_head, head0, heads; /* query heads head0 to head0 + heads - 1 */
    int64_t nq, nk, d, dv;                 /* of this sequence */
    int64_t q_row0, k_row0;                /* flat row of the first query of head0, first key */
    int64_t q_head_rows;                   /* flat rows from one query head to the next */
    double *q, *dout, *dlse;               /* [heads, nq, .], in double */
    double *k, *v;                         /* [nk, .] */
    double *slope, *sink;                  /* [heads]; sink is -inf where there is none */
    int64_t *lo, *hi;                      /* [nq]: query i sees lo <= j < hi */
    struct fb_ref_row *rows;               /* [heads, nq] */
    int threads;                           /* that work on rows of this group */
    struct fb_ref_pair *pairs;             /* [threads, max(nq, nk)]: scratch */
    double *sums;                          /* [threads, 2 dv + d]: scratch */
    int64_t pair_room, sum_room;           /* of one thread */
    double rho;                            /* largest row rho of all groups loaded so far */
};

/* group.c. init makes room for the largest group; load fills in one of them. */
enum fb_status fb_ref_group_init(struct fb_ref_group *g, const struct fb_ref_inputs *in,
                                 const struct fb_ref_request *want, int threads);
void fb_ref_group_load(struct fb_ref_group *g, int64_t batch, int64_t key_head);
void fb_ref_group_free(struct fb_ref_group *g);

static inline const double *fb_ref_q(const struct fb_ref_group *g, int64_t head, int64_t i)
{
    return g->q + (head * g->nq + i) * g->d;
}

static inline const double *fb_ref_dout(const struct fb_ref_group *g, int64_t head, int64_t i)
{
    return g->dout + (head * g->nq + i) * g->dv;
}

static inline const double *fb_ref_k(const struct fb_ref_group *g, int64_t j)
{
    return g->k + j * g->d;
}

static inline const double *fb_ref_v(const struct fb_ref_group *g, int64_t j)
{
    return g->v + j * g->dv;
}

static inline struct fb_ref_row *fb_ref_row(const struct fb_ref_group *g, int64_t head, int64_t i)
{
    return g->rows + head * g->nq + i;
}

/* The dot product, and the sum of the |products| where size is not NULL. One function for all, so
 * that equal sums are equal to the last bit: dp - delta is exactly 0 where there is one key. */
double fb_ref_dot(int64_t n, const double *a, const double *b, double *size);

/* y += a x, and y += a |x|, over n elements. */
void fb_ref_axpy(int64_t n, double a, const double *x, double *y);
void fb_ref_axpy_size(int64_t n, double a, const double *x, double *y);

/* view.c: one element, and n rows of d elements into doubles. */
double fb_ref_read(const struct fb_ref_view *view, int64_t b, int64_t h, int64_t n, int64_t d);
void fb_ref_gather(const struct fb_ref_view *view, int64_t b, int64_t h, int64_t first,
                   int64_t rows, int64_t width, double *out);
double fb_ref_round(enum fb_ref_cast cast, double x);

/* pair.c: all pairs of query i (of key j within one head), in ascending order; returns how many.
 * pairs_of_* need the row's max, sum and delta. */
int64_t fb_ref_scores_of_query(const struct fb_ref_group *g, int64_t head, int64_t i,
                               struct fb_ref_pair *pairs);
int64_t fb_ref_pairs_of_query(const struct fb_ref_group *g, int64_t head, int64_t i,
                              struct fb_ref_pair *pairs);
int64_t fb_ref_pairs_of_key(const struct fb_ref_group *g, int64_t head, int64_t j,
                            struct fb_ref_pair *pairs);

/* forward.c: lse, delta and o (into a row of dv) of query i. */
void fb_ref_forward_row(struct fb_ref_group *g, int64_t head, int64_t i, struct fb_ref_pair *pairs,
                        double *o);

/* The same from the known o and lse. */
void fb_ref_known_row(struct fb_ref_group *g, int64_t head, int64_t i, double *o);

/* backward.c, from pairs. dq is set; dk and dv are added to, head after head. */
void fb_ref_dq_row(const struct fb_ref_group *g, const struct fb_ref_pair *pairs, int64_t count,
                   double *dq);
void fb_ref_dkv_row(const struct fb_ref_group *g, int64_t head, const struct fb_ref_pair *pairs,
                    int64_t count, double *dk, double *dv);
void fb_ref_dbias_row(const struct fb_ref_group *g, int64_t head, const struct fb_ref_pair *pairs,
                      int64_t count, double *dbias);
double fb_ref_dsink_head(const struct fb_ref_group *g, int64_t head);
/* The row of dbias [b|1, h|1, nq, nk] that query i of a head adds to. */
double *fb_ref_dbias_at(const struct fb_ref_group *g, int64_t head, int64_t i, double *dbias);

/* spread.c: first-order errors of the same, under want->roundings. Rows first: delta_error and rho
 * (rho only with pairs; pairs may be NULL where delta is made from o). */
void fb_ref_row_error(const struct fb_ref_group *g, int64_t head, int64_t i,
                      const struct fb_ref_pair *pairs, int64_t count);
void fb_ref_o_spread(const struct fb_ref_group *g, int64_t head, const struct fb_ref_pair *pairs,
                     int64_t count, double *o, double *lse);
void fb_ref_dq_spread(const struct fb_ref_group *g, int64_t head, const struct fb_ref_pair *pairs,
                      int64_t count, double *dq);
void fb_ref_dkv_spread(const struct fb_ref_group *g, int64_t head, const struct fb_ref_pair *pairs,
                       int64_t count, double *dk, double *dv);
void fb_ref_dbias_spread(const struct fb_ref_group *g, int64_t head,
                         const struct fb_ref_pair *pairs, int64_t count, double *dbias);
double fb_ref_dsink_spread(const struct fb_ref_group *g, int64_t head);

/* emulate.c: the same values under want->casts. Rows first: lse_cast and delta_cast, from o and the
 * emulated one (NULL, and no pairs: p is exact in the forward). dk and dv stand for the
 * accumulators from head to head; finish rounds to outputs. */
void fb_ref_o_emulate(const struct fb_ref_group *g, int64_t head, const struct fb_ref_pair *pairs,
                      int64_t count, double *o);
void fb_ref_row_cast(const struct fb_ref_group *g, int64_t head, int64_t i, const double *o,
                     const double *emulated, const struct fb_ref_pair *pairs, int64_t count);
void fb_ref_dq_emulate(const struct fb_ref_group *g, int64_t head, const struct fb_ref_pair *pairs,
                       int64_t count, double *dq, double *tile);
void fb_ref_dkv_emulate(const struct fb_ref_group *g, int64_t head, const struct fb_ref_pair *pairs,
                        int64_t count, double *dk, double *dv, double *tiles);
void fb_ref_emulate_finish(const struct fb_ref_group *g, enum fb_acc acc, double *out, int64_t n);

#endif
