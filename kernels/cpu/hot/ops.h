/* SPDX-License-Identifier: BSD-3-Clause
 *
 * ops.h: the hot operations, as one table per instruction set. Main loops call them on tiles of
 * 64 x 64 and more (10^4 cycles and up), so that the call through a pointer costs nothing and the
 * loops themselves need not be compiled more than once.
 *
 * Tiles in scratch are fp32, row-major, with a row length ("ld") that is a multiple of
 * FB_CPU_ALIGN; columns between the true width and the next multiple of FB_CPU_ALIGN are zero.
 */
#ifndef FB_CPU_HOT_OPS_H
#define FB_CPU_HOT_OPS_H

#include "kernels/cpu/job.h"

#define FB_CPU_ALIGN 16 /* floats: the widest vector register */
#define FB_CPU_PANEL 32 /* columns of a packed panel */

/* c[m][n] (+)= sum over k of a[m][k] b[k][n].
 * a: element (i, k) at a[i * lda + k], or at a[k * lda + i] with columns set.
 * b: column j of row k at b[j / 32 * panel + k * ldb + j % 32]. A row-major matrix has panel = 32;
 *    fb_cpu_ops.pack makes panels with ldb = 32, panel = 32 k.
 * c: row-major. n is rounded up to whole vectors: b and c must have that many columns. */
struct fb_cpu_gemm {
    int64_t m, n, k;
    const float *a, *b;
    float *c;
    int64_t lda, ldb, panel, ldc;
    bool columns; /* a is stored transposed */
    bool add;     /* add to c; the sum over k itself starts from zero and is added once */
};

/* Scores to probabilities, and on to ds, in place. Row r sees columns r + lo ... r + hi, clipped to
 * [0, n); all others become exactly zero, up to the next multiple of FB_CPU_ALIGN. */
struct fb_cpu_scores {
    int64_t rows, n, ld, lo, hi;
    float scale;
    enum fb_cpu_type round; /* p and ds are rounded to this (ds is made from the unrounded p) */
    float *s;               /* in: q k^T without scale; out: p = exp(scale s - sub) mul */
    float *dp;              /* in: dout v^T; out: p (dp - delta); NULL: p alone */
    const float *sub, *mul, *delta; /* a row each; mul NULL: 1 */
};

/* One step of the streaming softmax of the forward: s becomes exp(scale s - max), sum and max are
 * brought up to date, and the rows of o are scaled to the new max. */
struct fb_cpu_online {
    int64_t rows, n, ld, lo, hi;
    float scale;
    float *s, *max, *sum;
    float *o;
    int64_t ldo;
};

/* Scores with all their terms, in place: s = cap tanh(scale s / cap) + bias - slope |distance|. */
struct fb_cpu_score_terms {
    int64_t rows, n, ld;
    float scale;
    float softcap; /* 0: none */
    float slope;   /* 0: none; the distance of row r and column c is shift + r - c */
    int64_t shift;
    const float *bias; /* NULL: none */
    int64_t bias_stride;
    float *s;
    float *g; /* out: 1 - tanh^2, with a softcap; NULL: not wanted */
};

/* The dropout mask as factors: f[r][c] is rescale where entry `entry + r step + c` is kept, else 0.
 * Entry e is kept when word e mod 4 of the Philox4x32-10 block for counter (offset, e / 4) and key
 * seed is above limit. */
struct fb_cpu_keep {
    int64_t rows, n, ld;
    uint64_t entry, step, seed, offset;
    uint32_t limit;
    float rescale;
    float *f;
};

struct fb_cpu_ops {
    const char *isa;
    void (*gemm)(const struct fb_cpu_gemm *);
    void (*scores)(const struct fb_cpu_scores *);
    void (*online)(const struct fb_cpu_online *);
    /* dp[r][c] = p[r][c] (dp[r][c] - delta[r]) for n columns, rounded; p from memory */
    void (*gradient)(float *dp, int64_t ld, const float *p, int64_t ldp, const float *delta,
                     int64_t rows, int64_t n, enum fb_cpu_type round);
    /* to[r] = (add ? to[r] : 0) + sum over c of x[r][c] y[r][c] */
    void (*dots)(float *to, const float *x, int64_t ldx, const float *y, int64_t ldy, int64_t rows,
                 int64_t n, bool add);
    /* o[r][c] /= sum[r], or 0 where sum[r] is 0 */
    void (*divide)(float *o, int64_t ld, const float *sum, int64_t rows);
    /* fp32 tile from strided rows; columns [n, ld) become zero */
    void (*load)(float *to, int64_t ld, const void *from, enum fb_cpu_type type, int64_t stride,
                 int64_t rows, int64_t n);
    /* strided rows from scale * tile, rounded to nearest even */
    void (*store)(void *to, enum fb_cpu_type type, int64_t stride, const float *from, int64_t ld,
                  int64_t rows, int64_t n, float scale);
    /* the transpose of rows [n][ld] with k columns, as panels [n / 32][k][32]; a last panel is
     * filled with zeros */
    void (*pack)(float *panels, const float *from, int64_t ld, int64_t n, int64_t k);
    /* to[r][c] += from[r][c] for n columns */
    void (*add)(float *to, int64_t ld_to, const float *from, int64_t ld, int64_t rows, int64_t n);
    /* for problems with more terms than scale q k^T, see terms.h */
    void (*terms)(const struct fb_cpu_score_terms *);
    void (*keep)(const struct fb_cpu_keep *);
    /* x[r][c] = x[r][c] y[r][c] for n columns, rounded; y NULL: rounded only */
    void (*multiply)(float *x, const float *y, int64_t ld, int64_t rows, int64_t n,
                     enum fb_cpu_type round);
};

/* The table for this machine, or the one that FLASHBACK_ISA asks for. NULL when FLASHBACK_ISA is
 * unknown or names what this machine or this build lacks; fb_cpu_isa_error then says so. */
const struct fb_cpu_ops *fb_cpu_ops(void);

/* "v4", "v3", "v2", "generic"; "none" when fb_cpu_ops() is NULL. For the record. */
const char *fb_cpu_isa_name(void);

/* NULL when fb_cpu_ops() is usable, else one line that names the allowed values. */
const char *fb_cpu_isa_error(void);

#endif
