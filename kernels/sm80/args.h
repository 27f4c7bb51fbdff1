/* SPDX-License-Identifier: BSD-3-Clause
 *
 * args.h: what the mma.sync kernels are told, and how a host calls them: plain C, one table of
 * functions a compiled head size.
 */
#ifndef FB_KERNELS_SM80_ARGS_H
#define FB_KERNELS_SM80_ARGS_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/sm80/shares.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A 16-bit tensor [batch][head][row][column]; strides count elements, columns are contiguous. */
struct fb_sm80_tensor {
    char *data;
    int64_t batch, head, row;
};

/* An fp32 number a row. */
struct fb_sm80_rows {
    float *data;
    int64_t batch, head, row;
};

/* What a running sum is rounded to after every tile. */
enum fb_sm80_round { FB_SM80_FP32, FB_SM80_BF16, FB_SM80_FP16 };

/* How the key-major backward adds up dQ. */
enum fb_sm80_dq { FB_SM80_DQ_ATOMIC, FB_SM80_DQ_ORDERED, FB_SM80_DQ_PARTIALS };

struct fb_sm80_args {
    struct fb_sm80_tensor q, k, v, o, dout, dq, dk, dv;
    struct fb_sm80_rows lse, dlse; /* dlse.data is NULL where the loss does not depend on lse */
    const int64_t *cu_q, *cu_k;    /* on the device, [batch + 1], or NULL */
    int batch, heads, kv_heads;    /* query heads of a group are neighbours */
    int nq, nk;                    /* the longest sequence where they are packed */
    int columns, columns_v;        /* columns of q, k and of v, o: at most the head size */
    int aligned;                   /* every row starts on 16 bytes, d and dv are multiples of 8 */
    int causal, top_left;          /* query i sees keys up to i + nk - nq, or up to i */
    int window_left, window_right; /* -1: open */
    float scale;

    float softcap;           /* 0: none */
    const float *alibi;      /* a slope a head, or NULL */
    const float *sink;       /* a logit a head, or NULL */
    float *dsink;            /* its gradient, or NULL */
    float keep_scale;        /* 1 / (1 - dropout); 0: no dropout */
    uint32_t drop_threshold; /* an entry is dropped when its random word is below */
    uint64_t seed, offset;

    enum fb_sm80_round round_dkv, round_dq;
    int lse_bf16, delta_bf16;

    enum fb_sm80_dq dq_policy;
    int descend; /* key tiles are launched, and ordered additions made, from the last one on */
    int section; /* key heads whose tiles are launched side by side */
    int stages;  /* tiles of q and dout in flight, 1 or 2 */
    int turn;    /* ordered additions take turns of 2^turn query tiles */

    struct fb_sm80_shares shares; /* under partials: who takes which key tiles */

    /* The workspace, laid out by the table's layout function. */
    float *lse2, *delta; /* [batch * heads][tiles of queries * bm] */
    void *dq_sum;        /* [copies or units][heads of a group][tiles][bm * D], as registers lie */
    unsigned *turns;     /* [key tiles of all units][warps], then the ticket; NULL: not ordered */
};

/* The kernels of one head size. Functions enqueue and return a cudaError_t. `general` chooses the
 * kernels that know packed lengths, score terms, unaligned rows, scales that are not positive and
 * low-precision accumulators. A table with head_dim 0 is of a size without kernels of its own,
 * which the next larger one serves. */
struct fb_sm80_forward_kernels {
    int head_dim;
    size_t smem;
    int (*run)(const struct fb_sm80_args *, int bf16, int general, void *stream);
};

struct fb_sm80_kernels {
    int head_dim;
    int bm, bn, warps;
    size_t smem[2]; /* of the key-major kernel with one stage and with two */
    int (*run_pre)(const struct fb_sm80_args *, int bf16, void *stream);
    int (*run_main)(const struct fb_sm80_args *, int bf16, int general, void *stream);
    int (*run_post)(const struct fb_sm80_args *, int bf16, void *stream);
};

/* The split form: dK, dV and dQ in one launch, after run_pre of the table above. */
struct fb_sm80_split_kernels {
    int head_dim;
    int bn; /* keys of a step of dQ's role; those of the other's tiles may be more */
    size_t smem[2];
    int (*run_main)(const struct fb_sm80_args *, int bf16, int general, void *stream);
};

/* The smallest compiled size that holds `width` columns, with the larger of its two sets of tiles
 * that fits `shared` bytes of shared memory a block, the small set only with `small` (devices
 * before 9.0: it is compiled for no others); NULL where none does. Both backwards take the same
 * set. */
const struct fb_sm80_forward_kernels *fb_sm80_find_forward(int64_t width);
const struct fb_sm80_kernels *fb_sm80_find(int64_t width, size_t shared, int small);
const struct fb_sm80_split_kernels *fb_sm80_find_split(int64_t width, size_t shared, int small);

/* The largest compiled size. */
int fb_sm80_widest(void);

#ifdef __cplusplus
}
#endif
#endif
