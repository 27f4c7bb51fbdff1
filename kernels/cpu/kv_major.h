/* SPDX-License-Identifier: BSD-3-Clause
 *
 * kv_major.h: the key-major main loop of the backward, with the reduction of dQ as a policy. See
 * kv_major.c for the loop; a policy is what distinguishes cpu-atomic, cpu-ordered and cpu-partials
 * (and cpu-split, which wants no dQ here).
 */
#ifndef FB_CPU_KV_MAJOR_H
#define FB_CPU_KV_MAJOR_H

#include "kernels/cpu/arena.h"
#include "kernels/cpu/job.h"
#include "kernels/cpu/hot/ops.h"
#include "kernels/cpu/rows.h"
#include "kernels/cpu/threads.h"

/* What one key tile adds to rows [row, row + rows) of dQ of one head, without scale. */
struct fb_cpu_dq_tile {
    const struct fb_cpu_seq *seq;
    int64_t h, row, rows;
    int64_t key_tile;       /* its number within the head */
    int64_t first_key_tile; /* the first that adds to these rows; all up to the last do */
    const float *sum;       /* [rows][ld] */
    int64_t ld;
};

struct fb_cpu_dq_policy {
    /* Called once for each key tile and each of its query tiles, from many threads at once; within
     * a key tile from the last query tile to the first. NULL: no dQ, one GEMM less. */
    void (*add)(void *state, const struct fb_cpu_dq_tile *tile);
    void *state;
    /* Key tiles g, g + groups, g + 2 groups ... of a head run in this order in one thread. 0: every
     * key tile for itself. */
    int64_t groups;
};

struct fb_cpu_kv {
    const struct fb_cpu_job *job;
    const struct fb_cpu_rows *rows;
    struct fb_cpu_dq_policy policy;
    const struct fb_cpu_ops *ops;
    int64_t tile, tiles, groups; /* rows of a key tile; tiles and tasks an owner */
    int64_t b_owners, hk_owners; /* sequences and key heads, or 1 where they share a bias */
    int slots;
    char *scratch;
    size_t scratch_bytes; /* of one slot */
    struct fb_cpu_tickets tickets;
};

/* Rows of a key tile: part of the record. Depends on the sizes alone, never on threads. */
int64_t fb_cpu_kv_tile(const struct fb_cpu_job *job);

/* Tiles of a key head, in the longest sequence. */
int64_t fb_cpu_kv_tiles(const struct fb_cpu_job *job);

/* Sets kv up for a job: sizes, and scratch from the arena. */
void fb_cpu_kv_layout(struct fb_cpu_arena *arena, const struct fb_cpu_job *job,
                      const struct fb_cpu_rows *rows, const struct fb_cpu_dq_policy *policy,
                      struct fb_cpu_kv *kv);

/* Writes grad_k, grad_v and the gradient of a bias and hands every piece of dQ to the policy. */
void fb_cpu_kv_run(struct fb_cpu_kv *kv);

#endif
