/* SPDX-License-Identifier: BSD-3-Clause
 *
 * cost.h: what a problem costs, exactly: visible pairs, FLOPs, bytes. A multiply-add is two FLOPs;
 * only GEMMs count; the exponentials and the row sums are left out, as the papers do.
 */
#ifndef FB_CORE_COST_H
#define FB_CORE_COST_H

#include <stdbool.h>

#include "flashback.h"

struct fb_cost {
    double pairs;          /* visible (query, key) pairs over all batches and query heads */
    double forward_flops;  /* 2 GEMMs: 2 pairs (d + dv); 4 pairs d where dv = d */
    double backward_flops; /* 5 GEMMs: 2 pairs (3 d + 2 dv); 2.5 times the forward where dv = d */
    double forward_bytes;  /* q, k, v read and o, lse written once */
    double backward_bytes; /* q, k, v, o, dout, lse read and dq, dk, dv written once */
};

/* pairs: the caller's exact count of them. */
void fb_cost_of(struct fb_cost *cost, const struct fb_problem *problem, int64_t pairs);

/* FLOPs that a backward of `gemms` GEMMs executes on the visible pairs, with s and dp (and no
 * other) made again for every GEMM beyond 5: 5 is recomputation once, 7 two kernels, 4 a saved P.
 */
double fb_cost_executed(const struct fb_problem *problem, int64_t pairs, int gemms);

/* Does it cost so much that only a sample of its rows is judged? */
bool fb_cost_is_long(const struct fb_problem *problem);

#endif
