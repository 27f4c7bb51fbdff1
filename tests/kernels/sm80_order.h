/* SPDX-License-Identifier: BSD-3-Clause
 *
 * sm80_order.h: the deterministic forms of the mma.sync backward on the CPU, as far as their order
 * goes: who assigns to which block of dQ, who adds, and which blocks the last pass reads
 * (partials); who waits for whose turn before it adds (ordered). By the kernel's own functions
 * (kernels/sm80/key_tile.cuh), without its numbers.
 */
#ifndef FB_TESTS_KERNELS_SM80_ORDER_H
#define FB_TESTS_KERNELS_SM80_ORDER_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { SM80_ORDER_TILES = 3 }; /* sizes of tiles that can be asked for */

struct sm80_order_problem {
    int batch, heads, kv_heads, nq, nk;
    int causal, top_left, window_left, window_right; /* as in fb_sm80_args */
    const int64_t *cu_q, *cu_k;                      /* [batch + 1], or NULL */
    int tiles;                                       /* which size of tiles */
    int ctas;                                        /* partials: they share the key tiles */
    int section, turn, descend;                      /* ordered: as in fb_sm80_args */
};

/* Key tiles of all heads: the most CTAs. */
int sm80_order_key_tiles(const struct sm80_order_problem *problem);

/* What goes wrong under partials, or NULL. */
const char *sm80_order_shared_fault(const struct sm80_order_problem *problem);

/* The same of ordered additions. */
const char *sm80_order_turns_fault(const struct sm80_order_problem *problem);

#ifdef __cplusplus
}
#endif

#endif
