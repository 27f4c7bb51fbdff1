/* SPDX-License-Identifier: BSD-3-Clause
 *
 * flashback.h: the one public header of Flashback, the proving ground for the backward pass of
 * attention. It holds all that a variant sees: the problem, the tensors, the numerics, the context
 * it runs in and the descriptor it exports. A plug-in includes this header and nothing else.
 *
 * Compiles as C11 and as C++17; includes no CUDA header (streams are `void *`).
 *
 * The mathematics, with the papers' names, for one (batch, head):
 *
 *     s = scale * q k^T  (masked to -inf)      p = exp(s - lse)          o = p v
 *     delta_i = sum_c dout_ic * o_ic  (- dlse_i)
 *     dv = p^T dout      dp = dout v^T         ds = p o (dp - delta)
 *     dq = scale * ds k                        dk = scale * ds^T q
 *
 * Conventions:
 *   - q, o, dout, dq are [b, h, nq, .]; k, v, dk, dv are [b, hk, nk, .]; query head i reads
 *     key head i / (h / hk) (grouped-query attention), and dk, dv sum over the group.
 *   - The causal mask is aligned bottom-right: query i sees key j when j <= i + nk - nq.
 *   - LSE is the natural logarithm. A row that sees no key has o = 0, lse = -inf and a zero
 *     gradient; a key that no query sees gets exactly zero dk, dv.
 *   - A length of 0 is a success with zero gradients.
 */
#ifndef FLASHBACK_H
#define FLASHBACK_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Raised whenever anything below changes. A plug-in built for another value is refused, whether it
 * is older or newer: there is one form of every struct, the one in this header. */
#define FB_ABI_VERSION 2

/* ---- Status --------------------------------------------------------------------------------- */

enum fb_status {
    FB_OK = 0,
    FB_REFUSED,   /* the variant does not offer this problem or these numerics */
    FB_USAGE,     /* malformed text or a value outside the language */
    FB_NO_MEMORY, /* an allocation failed */
    FB_DEVICE,    /* a device call or a launch failed */
    FB_IO,        /* a file could not be read or written */
    FB_LOCKED,    /* the output is held by another run */
    FB_CORRUPT,   /* a file is not what it claims to be */
    FB_INTERNAL   /* a broken promise of our own */
};

/* ---- Problem: what is to be computed ----------------------------------------------------------
 */

enum fb_dtype { FB_FP32, FB_BF16, FB_FP16 };

enum fb_mask {
    FB_MASK_FULL,
    FB_MASK_CAUSAL,        /* bottom-right: j <= i + nk - nq */
    FB_MASK_CAUSAL_TOPLEFT /* j <= i */
};

enum fb_alibi {
    FB_ALIBI_NONE,
    FB_ALIBI_AUTO, /* slope of head i (from 0) is 2^(-8 (i+1) / h) */
    FB_ALIBI_LIST  /* slopes given, one a head */
};

/* The shape of the additive bias, [1 or b, 1 or h, nq, nk]. */
enum fb_bias {
    FB_BIAS_NONE,
    FB_BIAS_FULL,  /* [b, h, nq, nk] */
    FB_BIAS_HEAD,  /* [1, h, nq, nk], shared by the batch */
    FB_BIAS_BATCH, /* [b, 1, nq, nk], shared by the heads */
    FB_BIAS_ALL    /* [1, 1, nq, nk], shared by both */
};

enum fb_layout {
    FB_LAYOUT_BHND,         /* every tensor contiguous as [b, h, n, d] */
    FB_LAYOUT_BNHD,         /* memory order [b, n, h, d] */
    FB_LAYOUT_PACKED_QKV,   /* q, k, v are slices of one [b, n, h + 2 hk, d] buffer */
    FB_LAYOUT_EXPANDED_DOUT /* dout is one row, expanded with stride 0 over b, h and n */
};

#define FB_OPEN (-1) /* an open side of the window */

/* The dropout mask. Which entries of p are kept is a function of seed, offset and position alone,
 * so that forward and backward, and anybody outside, make the same mask. Entry (batch, query head,
 * i, j) has the number e = ((batch h + head) nq + i) nk + j, in 64 bits, with nq and nk of the
 * problem (of the longest sequence where lengths are packed; i and j count within their sequence).
 * The block of four words for it is Philox4x32-10 with
 *
 *     key     = (low, high word of seed)
 *     counter = (low, high word of offset, low, high word of e / 4)
 *
 * and the entry is kept when word e mod 4 of the block, as an unsigned number, is at least
 * round(dropout 2^32). doc/derivation.md has it as ten lines of numpy. */

struct fb_problem {
    int64_t b, h, hk; /* batch, query heads, key heads; h is a multiple of hk */
    int64_t nq, nk;   /* queries and keys; the longest sequence where qlens or klens is given */
    int64_t d, dv;    /* head size of q and k, and of v and o: 1 to 256 */
    enum fb_dtype dtype;
    enum fb_mask mask;
    int64_t window_left;  /* query i sees keys from i + nk - nq - window_left ... */
    int64_t window_right; /* ... to i + nk - nq + window_right; FB_OPEN lifts a side */
    double scale;         /* factor of q k^T; 1/sqrt(d) unless set; 0 and negative are allowed */
    double softcap;       /* s becomes softcap * tanh(s / softcap); 0 is off */
    enum fb_alibi alibi;  /* adds -slope * |i + nk - nq - j| to s */
    double *alibi_slopes; /* [h], owned, with FB_ALIBI_LIST; NULL otherwise */
    enum fb_bias bias;    /* added to s after the softcap; its gradient dbias is asked for too */
    double dropout;       /* probability that an entry of p is dropped, what stays is multiplied
                             by 1 / (1 - dropout); 0 is off */
    uint64_t dropout_seed, dropout_offset; /* key and counter of the dropout mask, see above */
    int sink; /* one more logit a head takes part in the softmax; dsink is asked for */
    int dlse; /* the loss depends on lse too: its gradient enters delta */
    int64_t *qlens, *klens; /* [b], owned: packed sequences; NULL where all have one length */
    enum fb_layout layout;
};

/* ---- Numerics: the declared precision choices -------------------------------------------------
 */

/* What a running sum is kept in. Tile sums are fp32; after each tile step (or row, see fb_round)
 * the sum is rounded once to this type. */
enum fb_acc {
    FB_ACC_FP32,
    FB_ACC_BF16,            /* round to nearest even */
    FB_ACC_BF16_STOCHASTIC, /* round up with the probability of the remainder, seeded */
    FB_ACC_BF16_TRUNCATE,   /* round toward zero */
    FB_ACC_FP16,
    FB_ACC_FP32_KAHAN, /* fp32 sum with an fp32 compensation */
    FB_ACC_BF16_KAHAN, /* bf16 sum with a bf16 compensation */
    FB_ACC_FP64
};

enum fb_ps { FB_PS_IN, FB_PS_FP32 }; /* p and ds before the second GEMM: dtype, or fp32 */
enum fb_delta { FB_DELTA_FP32, FB_DELTA_BF16, FB_DELTA_RECOMPUTED }; /* last: sum_j p_ij dp_ij */
enum fb_lse { FB_LSE_FP32, FB_LSE_BF16 };      /* lse as the backward reads it */
enum fb_round { FB_ROUND_TILE, FB_ROUND_ROW }; /* when acc is rounded */

struct fb_numerics {
    enum fb_acc dkv; /* accumulator of dk and dv */
    enum fb_acc dq;  /* accumulator of dq */
    enum fb_ps ps;
    enum fb_delta delta;
    enum fb_lse lse;
    enum fb_round round;
};

/* ---- Tensors ----------------------------------------------------------------------------------
 */

/* A strided view. shape and stride are those of [b, h, n, d] ([b, h, n, 1] for lse and dlse);
 * strides count elements, may be 0 or larger than the extent, and the last is 1. On a GPU `data`
 * is a device pointer. An absent tensor has data == NULL. */
struct fb_tensor {
    void *data;
    enum fb_dtype dtype;
    int64_t shape[4];
    int64_t stride[4];
};

/* All that a call reads and writes. The harness owns every byte. What a call writes shares no
 * memory with what it reads, and may hold anything until the call is done. With packed sequences
 * the tensors are [1, h, total, d] and sequence s holds rows cu_qlens[s] to cu_qlens[s+1]. */
struct fb_args {
    const struct fb_problem *problem;   /* the same as in prepare */
    const struct fb_numerics *numerics; /* the same as in prepare */
    struct fb_tensor q, k, v;           /* in */
    struct fb_tensor o, lse;            /* written by forward, read by backward; lse is fp32 */
    struct fb_tensor dout;              /* in, backward */
    struct fb_tensor dq, dk, dv;        /* out, backward, in the problem's dtype */
    struct fb_tensor dlse;              /* in, fp32, with problem.dlse */
    struct fb_tensor bias, dbias;       /* fp32 [b|1, h|1, nq, nk]: in, and its gradient out */
    struct fb_tensor sink, dsink;       /* fp32 [1, h, 1, 1]: in, and its gradient out */
    struct fb_tensor alibi;             /* fp32 [1, h, 1, 1]: in, where problem.alibi is on */
    const int64_t *cu_qlens, *cu_klens; /* [b + 1], where problem.qlens or klens is given; device
                                           memory on a GPU (the host has problem.qlens, klens) */
    void *saved;     /* what the variant's forward leaves to its backward, 256-byte aligned */
    void *workspace; /* scratch of one call, 256-byte aligned, holding anything at entry */
    size_t saved_bytes, workspace_bytes; /* what fb_variant.sizes asked for */
    const uint8_t *keep; /* [b, h, nq, nk], 1 is kept: a dropout mask given from outside instead of
                            seed and offset. NULL but for variants that offer FB_TERM_KEEP. */
};

/* ---- Context: what the harness offers to a variant --------------------------------------------
 */

struct fb_context {
    uint32_t abi_version; /* FB_ABI_VERSION of the harness */
    uint32_t struct_size; /* sizeof(struct fb_context) of the harness */
    int threads;          /* CPU threads the variant may use */
    int device;           /* CUDA device ordinal, -1 on the CPU */
    void *stream;         /* cudaStream_t to enqueue on, NULL on the CPU */
    /* Marks the start of a named phase ("delta", "main", "convert") inside forward or backward.
     * Costs nothing while phases are not asked for. */
    void (*phase)(struct fb_context *ctx, const char *name);
    /* Memory that lives from prepare to release, on the device the variant runs on; NULL when there
     * is none left. Counted as the variant's own. */
    void *(*alloc)(struct fb_context *ctx, size_t bytes);
    void (*free)(struct fb_context *ctx, void *memory);
    /* Leaves one line that explains the status about to be returned. printf-like. */
    void (*explain)(struct fb_context *ctx, const char *format, ...);
    void *harness; /* the harness's own; not for variants */
};

/* ---- Offer: what a variant takes, as data -----------------------------------------------------
 */

/* A set of values of one of the enums above: bit V stands for value V. A set that is left out (0)
 * holds the first value of its enum alone, the plain one: fp32, a full mask, no bias, tensors in
 * the order [b, h, n, d], standard numerics. */
#define FB_BIT(value) (1u << (value))
#define FB_ANY (~0u) /* all values */

/* What a problem may have beside q, k, v and a mask. What an offer leaves out is refused. */
enum fb_term {
    FB_TERM_WINDOW,  /* window_left or window_right is not open */
    FB_TERM_SOFTCAP, /* softcap is not 0 */
    FB_TERM_ALIBI,   /* alibi is not FB_ALIBI_NONE */
    FB_TERM_DROPOUT, /* dropout is above 0 */
    FB_TERM_KEEP,    /* the dropout mask is given from outside: fb_args.keep */
    FB_TERM_SINK,    /* sink, with its gradient */
    FB_TERM_DLSE,    /* dlse enters delta */
    FB_TERM_LENGTHS, /* qlens or klens is given */
    FB_TERM_GROUPS,  /* hk is below h */
    FB_TERM_SCALE,   /* scale is 0 or below, or rounds to 0 in fp32 */
    FB_TERM_DV       /* dv is not d */
};

/* The masks and terms that there are. One that comes later does not join them: a variant whose
 * offer names these sets has not learned it, and so refuses it. */
#define FB_MASKS_KNOWN                                                                             \
    (FB_BIT(FB_MASK_FULL) | FB_BIT(FB_MASK_CAUSAL) | FB_BIT(FB_MASK_CAUSAL_TOPLEFT))
#define FB_TERMS_KNOWN                                                                             \
    (FB_BIT(FB_TERM_WINDOW) | FB_BIT(FB_TERM_SOFTCAP) | FB_BIT(FB_TERM_ALIBI) |                    \
     FB_BIT(FB_TERM_DROPOUT) | FB_BIT(FB_TERM_KEEP) | FB_BIT(FB_TERM_SINK) |                       \
     FB_BIT(FB_TERM_DLSE) | FB_BIT(FB_TERM_LENGTHS) | FB_BIT(FB_TERM_GROUPS) |                     \
     FB_BIT(FB_TERM_SCALE) | FB_BIT(FB_TERM_DV))

/* Head sizes, of d and of dv: those in the list (up to 8, zeros behind the last) where it has any,
 * else all from least to most that are multiples. A limit of 0 is none. */
struct fb_head_sizes {
    int64_t list[8];
    int64_t least, most, multiple;
};

/* What is refused by it, is refused by the harness, in words that name the item: a variant sees
 * only what it offers. With dtype=fp32 both values of ps are the same, and both are taken. */
struct fb_offer {
    unsigned dtypes;        /* set of enum fb_dtype */
    unsigned masks;         /* set of enum fb_mask */
    unsigned terms;         /* set of enum fb_term; 0 is none */
    unsigned biases;        /* set of enum fb_bias; FB_BIAS_NONE is always taken */
    unsigned layouts;       /* set of enum fb_layout: strides are honoured whatever it says */
    struct fb_head_sizes d; /* 1 to 256 where nothing is said */
    unsigned dkv, dq;       /* sets of enum fb_acc */
    unsigned ps, delta;     /* sets of enum fb_ps and enum fb_delta */
    unsigned lse, round;    /* sets of enum fb_lse and enum fb_round */
};

/* ---- Variant: one complete way to compute the backward pass -----------------------------------
 */

/* Bits of fb_properties.deterministic. All three together are a claim for dbias and dsink, too. */
#define FB_DET_DQ 1u
#define FB_DET_DK 2u
#define FB_DET_DV 4u
#define FB_DET_ALL (FB_DET_DQ | FB_DET_DK | FB_DET_DV)

/* Bits of fb_properties.roundings. */
#define FB_ROUNDS_HEADS 1u /* grouped heads: shares of dk and dv pass through the dtype */

/* Bits of fb_properties.role; of built-in variants alone, a plug-in has none. */
#define FB_ROLE_TRAP 1u /* makes a classic mistake on purpose: hidden, and never run unasked */
#define FB_ROLE_IDLE 2u /* computes nothing, to time the harness: never judged */

enum fb_growth { FB_GROWTH_NONE, FB_GROWTH_LINEAR, FB_GROWTH_QUADRATIC }; /* in n */

struct fb_properties {
    unsigned deterministic; /* FB_DET_*: the same bits in every run on the same machine */
    int gemms;              /* GEMMs the backward executes; 5 is the least with recomputation */
    enum fb_growth saved_growth, workspace_growth;
    unsigned roundings; /* FB_ROUNDS_*: what is rounded beyond the numerics asked for. No bound is
                         * wider for it; exact data (a recipe dyadic) need not come out exact. */
    unsigned role;      /* FB_ROLE_* */
};

/* What is about to run. Zeroed by the harness. */
struct fb_description {
    int64_t bm, bn; /* rows of a query tile and of a key tile, which decide how often a
                       low-precision accumulator rounds; 0 where there are no tiles */
    char text[96];  /* a few words for the record, "80x128, 2 warpgroups", "engine-6"; may be "" */
};

struct fb_variant {
    uint32_t abi_version; /* FB_ABI_VERSION */
    uint32_t struct_size; /* sizeof(struct fb_variant) */
    const char *name;     /* "<backend>-<idea>", lower case, digits and '-' */
    const char *summary;  /* one line */
    const char *backend;  /* "cpu", "simt", "sm80", "sm90", "cublas", "cudnn" */
    struct fb_properties properties;
    struct fb_offer offer;
    const void *family; /* what tells this variant from others that share its functions; nobody but
                           these functions reads it */

    /* All functions are given the descriptor they are called through. */

    /* What data cannot say: sizes that do not go together, limits of lengths, what this build or
     * machine lacks. NULL if the variant computes the problem, else the reason, one line that
     * begins with the item ("nk: must be a multiple of 128"), valid until the next call. Asked only
     * about what is offered. Cheap; allocates nothing. May be NULL: the offer is all. */
    const char *(*why_not)(const struct fb_variant *self, const struct fb_problem *,
                           const struct fb_numerics *);

    /* Bytes of the saved block (beyond o and lse) and of the workspace. */
    enum fb_status (*sizes)(const struct fb_variant *self, const struct fb_problem *,
                            const struct fb_numerics *, size_t *saved, size_t *workspace);

    /* Tiles and words for the record. Cheap; looks at no device that is not open. May be NULL. */
    void (*describe)(const struct fb_variant *self, const struct fb_problem *,
                     const struct fb_numerics *, struct fb_description *);

    /* Handles, plans, tensor maps: all that is not timed. Both may be NULL together. */
    enum fb_status (*prepare)(const struct fb_variant *self, struct fb_context *,
                              const struct fb_problem *, const struct fb_numerics *, void **state);
    void (*release)(const struct fb_variant *self, struct fb_context *, void *state);

    /* Enqueue on ctx->stream and return; the harness synchronises. On the CPU they return when the
     * work is done. They allocate nothing and write only o, lse, saved and the workspace (forward)
     * or the gradients and the workspace (backward). state is NULL without prepare. */
    enum fb_status (*forward)(const struct fb_variant *self, struct fb_context *, void *state,
                              const struct fb_args *);
    enum fb_status (*backward)(const struct fb_variant *self, struct fb_context *, void *state,
                               const struct fb_args *);
};

/* A plug-in is a shared object that exports this function: a NULL-terminated table. */
const struct fb_variant *const *fb_plugin_variants(void);
#define FB_PLUGIN_SYMBOL "fb_plugin_variants"

#ifdef __cplusplus
}
#endif
#endif
