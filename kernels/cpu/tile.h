/* SPDX-License-Identifier: BSD-3-Clause
 *
 * tile.h: tile sizes, and the GEMMs of the backward spelled in them. Both main loops (kv_major.c
 * and q_major.c) work on blocks of 64 queries x 64 keys:
 *
 *   L1 (48 KiB): s and dp of a block, 16 KiB each, and the panel of B under way, 32 x d x 4 =
 *   8 KiB at d = 64, 16 KiB at d = 128.
 *   L2 (2 MiB): what the outer loop keeps, see there.
 *
 * A contraction is 64 long or d long, so loading and storing the 16 accumulators of a micro-tile
 * costs 32 accesses for 64 x 16 FMAs: 3 % of the FMA time.
 */
#ifndef FB_CPU_TILE_H
#define FB_CPU_TILE_H

#include "kernels/cpu/hot/ops.h"
#include "kernels/cpu/threads.h"

#define FB_CPU_QUERY_TILE 64
#define FB_CPU_KEY_BLOCK 64
#define FB_CPU_BLOCK_LD FB_CPU_KEY_BLOCK /* row length of s and dp */

/* Row length of a scratch tile of n columns. */
static inline int64_t fb_cpu_width(int64_t n)
{
    return fb_cpu_round_up(n, FB_CPU_ALIGN);
}

/* Floats of `rows` rows of k columns in packed panels. */
static inline int64_t fb_cpu_packed(int64_t rows, int64_t k)
{
    return fb_cpu_round_up(rows, FB_CPU_PANEL) * k;
}

/* Threads that get scratch for that many tasks. */
static inline int fb_cpu_slots(const struct fb_cpu_job *job, int64_t tasks)
{
    return (int)fb_cpu_max(1, fb_cpu_min(fb_cpu_min(job->threads, fb_cpu_threads_max()), tasks));
}

static inline void fb_cpu_tile_load(const struct fb_cpu_ops *ops, float *to,
                                    const struct fb_cpu_view *view, int64_t b, int64_t h,
                                    int64_t row, int64_t rows, int64_t n)
{
    ops->load(to, fb_cpu_width(n), fb_cpu_row(view, b, h, row), view->type, view->stride[2], rows,
              n);
}

static inline void fb_cpu_tile_store(const struct fb_cpu_ops *ops, const struct fb_cpu_view *view,
                                     int64_t b, int64_t h, int64_t row, const float *from,
                                     int64_t rows, int64_t n, float scale)
{
    ops->store(fb_cpu_row(view, b, h, row), view->type, view->stride[2], from, fb_cpu_width(n),
               rows, n, scale);
}

/* block[rows][n] = a[rows][k] panels^T: scores from queries and packed keys. */
static inline void fb_cpu_tile_scores(const struct fb_cpu_ops *ops, float *block, const float *a,
                                      const float *panels, int64_t rows, int64_t n, int64_t k)
{
    ops->gemm(&(struct fb_cpu_gemm){.m = rows,
                                    .n = n,
                                    .k = k,
                                    .a = a,
                                    .b = panels,
                                    .c = block,
                                    .lda = fb_cpu_width(k),
                                    .ldb = FB_CPU_PANEL,
                                    .panel = FB_CPU_PANEL * k,
                                    .ldc = FB_CPU_BLOCK_LD});
}

/* c[n][k] (+)= block[rows][n]^T b[rows][k]: gradients of keys and values. */
static inline void fb_cpu_tile_down(const struct fb_cpu_ops *ops, float *c, const float *block,
                                    const float *b, int64_t rows, int64_t n, int64_t k, bool add)
{
    ops->gemm(&(struct fb_cpu_gemm){.m = n,
                                    .n = k,
                                    .k = rows,
                                    .a = block,
                                    .b = b,
                                    .c = c,
                                    .lda = FB_CPU_BLOCK_LD,
                                    .ldb = fb_cpu_width(k),
                                    .panel = FB_CPU_PANEL,
                                    .ldc = fb_cpu_width(k),
                                    .columns = true,
                                    .add = add});
}

/* c[rows][k] (+)= block[rows][n] b[n][k]: outputs and gradients of queries. */
static inline void fb_cpu_tile_across(const struct fb_cpu_ops *ops, float *c, const float *block,
                                      const float *b, int64_t rows, int64_t n, int64_t k, bool add)
{
    ops->gemm(&(struct fb_cpu_gemm){.m = rows,
                                    .n = k,
                                    .k = n,
                                    .a = block,
                                    .b = b,
                                    .c = c,
                                    .lda = FB_CPU_BLOCK_LD,
                                    .ldb = fb_cpu_width(k),
                                    .panel = FB_CPU_PANEL,
                                    .ldc = fb_cpu_width(k),
                                    .add = add});
}

#endif
