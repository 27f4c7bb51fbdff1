/* SPDX-License-Identifier: BSD-3-Clause
 *
 * trap.h: a plain tiled backward that can be told to make one classic mistake. It is what the
 * negative controls are made of (variants/traps.c): each mistake stands alone, in an otherwise
 * sound kernel, so that what catches it is what it claims to be.
 */
#ifndef FB_CPU_TRAP_H
#define FB_CPU_TRAP_H

#include "kernels/cpu/arena.h"
#include "kernels/cpu/job.h"
#include "kernels/cpu/hot/ops.h"
#include "kernels/cpu/threads.h"

enum fb_cpu_mistake {
    FB_CPU_NO_MISTAKE,
    FB_CPU_TILE_DELTA,   /* delta is summed over the key tile at hand, not over the row */
    FB_CPU_TILE_SOFTMAX, /* p = exp(s - largest of the tile): lse is not read */
    FB_CPU_RACY_DQ,      /* key tiles in parallel; dq is read, added to and written back */
    FB_CPU_BF16_SUMS,    /* every sum is rounded to bf16 after each tile */
    FB_CPU_LEAK,         /* the causal mask lets one key too many through */
    FB_CPU_TOP_LEFT,     /* the causal mask is aligned to the first key */
    FB_CPU_DK_UNSCALED,  /* dk lacks the factor scale */
    FB_CPU_LAST_HEAD,    /* of a group of query heads the last one's dk and dv remain */
    FB_CPU_HEAD_MODULO,  /* query head h reads key head h mod hk */
    FB_CPU_STALE,        /* the sums of dq are cleared only where the workspace looks new */
    FB_CPU_OPEN_TAIL,    /* the padding of the last key tile takes part: keys and values of zero */
    FB_CPU_DROPPED_TILE, /* key tile 1 adds nothing to query tile 1 */
};

#define FB_CPU_TRAP_TILE 64 /* the largest tile */

struct fb_cpu_trap {
    const struct fb_cpu_job *job;
    enum fb_cpu_mistake mistake;
    int64_t tile;    /* rows of query tiles and of key tiles, at most FB_CPU_TRAP_TILE */
    bool descending; /* key tiles, the last first */
    int64_t first;   /* the key tile to begin with, modulo their number */
    const struct fb_cpu_ops *ops;
    uint64_t *mark; /* FB_CPU_STALE: says that the workspace was used before */
    float *dq;      /* [b, h, nq, width of d]: sums without scale */
    int slots;
    char *scratch;
    size_t scratch_bytes; /* of one slot */
    struct fb_cpu_tickets tickets;
};

/* Takes memory from the arena: as much for every mistake and tile. job must outlive the trap. */
void fb_cpu_trap_layout(struct fb_cpu_arena *arena, const struct fb_cpu_job *job,
                        struct fb_cpu_trap *trap);

/* Writes grad_q, grad_k and grad_v. */
void fb_cpu_trap_run(struct fb_cpu_trap *trap);

#endif
