/* SPDX-License-Identifier: BSD-3-Clause
 *
 * sm80_order.h: the partials form of the mma.sync backward on the CPU, as far as its order goes:
 * who assigns to which block of dQ, who adds, and which blocks the last pass reads. By the kernel's
 * own functions (kernels/cuda/sm80_key_tile.cuh), without its numbers.
 */
#ifndef FB_TESTS_SM80_ORDER_H
#define FB_TESTS_SM80_ORDER_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { SM80_ORDER_TILES = 3 }; /* sizes of tiles that can be asked for */

struct sm80_order_problem {
    int batch, heads, kv_heads, nq, nk;
    int causal, top_left, window_left, window_right; /* as in fb_sm80_args */
    const int64_t *cu_q, *cu_k;                      /* [batch + 1], or NULL */
    int tiles, ctas;                                 /* which size of tiles; who shares them */
};

/* Key tiles of all heads: the most CTAs. */
int sm80_order_key_tiles(const struct sm80_order_problem *problem);

/* What goes wrong, or NULL. */
const char *sm80_order_fault(const struct sm80_order_problem *problem);

#ifdef __cplusplus
}
#endif

#endif
