/* SPDX-License-Identifier: BSD-3-Clause
 *
 * trap.c: the backward by key tile, in plain loops, with one mistake on request.
 *
 *     for each batch and key head (a task)
 *         for each key tile                        K, V into scratch; dK = dV = 0
 *             for each query head of the group
 *                 for each query tile              Q, dO into scratch; delta = rowsum(dO O)
 *                     P, dS; dV += P^T dO; dK += dS^T Q; dQ += dS K
 *             store dK, dV
 *     store dQ
 *
 * What a mistake changes is one condition each, named after it. Nothing here is fast: about 1
 * GFLOP/s a thread, for problems of some hundred rows.
 *
 * Synchronisation: a task owns the dQ rows of its heads, so that dQ needs none. FB_CPU_RACY_DQ
 * makes every key tile a task and lets them lose each other's additions: rows are read before the
 * tile is computed and written after it, with a yield between. The single accesses are atomic, so
 * that the race is one of the algorithm and not of the language.
 *
 * Determinism: all, but for FB_CPU_RACY_DQ, and for what a caller does with `first`.
 */
#include "kernels/cpu/trap.h"

#include <math.h>
#include <sched.h>
#include <string.h>

#include "kernels/cpu/hot/bits.h"
#include "kernels/cpu/tile.h"

/* What the mark of a used workspace looks like. */
static const uint64_t used_before = 0x7573656420627566u;

/* Scratch of one thread; tiles of FB_CPU_TRAP_TILE rows. */
struct scratch {
    float *q, *dout, *o, *k, *v; /* [tile][width] */
    float *dk, *dv, *dq, *old;   /* sums, and dq as it was read */
    float *s, *dp;               /* [tile]: one row */
    float *delta;                /* [tile]: of the query tile */
};

/* Where the loops are. */
struct place {
    int64_t b, hk, h;
    int64_t key_tile, query_tile;
    struct fb_cpu_span keys;
    int64_t row, rows;
};

static void scratch_layout(struct fb_cpu_arena *arena, const struct fb_cpu_job *job,
                           struct scratch *s)
{
    const int64_t d = FB_CPU_TRAP_TILE * fb_cpu_width(job->d);
    const int64_t dv = FB_CPU_TRAP_TILE * fb_cpu_width(job->dv);
    s->q = fb_cpu_take_floats(arena, d);
    s->k = fb_cpu_take_floats(arena, d);
    s->dk = fb_cpu_take_floats(arena, d);
    s->dq = fb_cpu_take_floats(arena, d);
    s->old = fb_cpu_take_floats(arena, d);
    s->dout = fb_cpu_take_floats(arena, dv);
    s->o = fb_cpu_take_floats(arena, dv);
    s->v = fb_cpu_take_floats(arena, dv);
    s->dv = fb_cpu_take_floats(arena, dv);
    s->s = fb_cpu_take_floats(arena, FB_CPU_TRAP_TILE);
    s->dp = fb_cpu_take_floats(arena, FB_CPU_TRAP_TILE);
    s->delta = fb_cpu_take_floats(arena, FB_CPU_TRAP_TILE);
}

void fb_cpu_trap_layout(struct fb_cpu_arena *arena, const struct fb_cpu_job *job,
                        struct fb_cpu_trap *trap)
{
    struct fb_cpu_arena one = {0};
    struct scratch unused;
    *trap = (struct fb_cpu_trap){.job = job, .tile = FB_CPU_TRAP_TILE, .ops = fb_cpu_ops()};
    scratch_layout(&one, job, &unused);
    trap->slots = (int)fb_cpu_max(1, job->threads);
    trap->mark = fb_cpu_take(arena, 1, sizeof *trap->mark);
    trap->dq = fb_cpu_take_floats(arena, job->b * job->h * job->nq * fb_cpu_width(job->d));
    trap->scratch_bytes = one.used;
    trap->scratch = fb_cpu_take(arena, trap->slots, one.used);
}

/* ---- One row against one key tile -------------------------------------------------------------
 */

static float dot(const float *x, const float *y, int64_t n)
{
    float sum = 0;
    for (int64_t c = 0; c < n; c++)
        sum += x[c] * y[c];
    return sum;
}

static void add_scaled(float *to, float factor, const float *x, int64_t n)
{
    for (int64_t c = 0; c < n; c++)
        to[c] += factor * x[c];
}

static float narrow(enum fb_cpu_type type, float x)
{
    return type == FB_CPU_BF16   ? fb_cpu_round_bf16(x)
           : type == FB_CPU_FP16 ? fb_cpu_round_fp16(x)
                                 : x;
}

/* Keys of the tile that a query sees. */
static struct fb_cpu_span visible(const struct fb_cpu_trap *t, const struct place *at, int64_t row)
{
    const struct fb_cpu_seq seq = fb_cpu_seq(t->job, 0); /* all are alike: no packed lengths */
    int64_t hi = seq.hi, end = at->keys.end;
    if (t->mistake == FB_CPU_LEAK && hi < FB_CPU_OPEN)
        hi++;
    if (t->mistake == FB_CPU_TOP_LEFT && hi < FB_CPU_OPEN)
        hi = 0;
    if (t->mistake == FB_CPU_OPEN_TAIL)
        end = at->keys.begin + t->tile;
    return (struct fb_cpu_span){fb_cpu_max(at->keys.begin, row + seq.lo),
                                fb_cpu_min(end, row + hi + 1)};
}

/* s becomes p, and dp is made, for keys [begin, end) of the tile. */
static void row_scores(const struct fb_cpu_trap *t, const struct scratch *s, const struct place *at,
                       int64_t r, struct fb_cpu_span seen)
{
    const struct fb_cpu_job *job = t->job;
    const int64_t d = fb_cpu_width(job->d), dv = fb_cpu_width(job->dv);
    float largest = -INFINITY;
    for (int64_t j = seen.begin - at->keys.begin; j < seen.end - at->keys.begin; j++) {
        s->s[j] = job->scale * dot(s->q + r * d, s->k + j * d, job->d);
        s->dp[j] = dot(s->dout + r * dv, s->v + j * dv, job->dv);
        largest = fmaxf(largest, s->s[j]);
    }
    const float lse = *(const float *)fb_cpu_row(&job->lse, at->b, at->h, at->row + r);
    const float shift = t->mistake == FB_CPU_TILE_SOFTMAX ? largest : lse;
    for (int64_t j = seen.begin - at->keys.begin; j < seen.end - at->keys.begin; j++)
        s->s[j] = expf(s->s[j] - shift);
}

static float row_delta(const struct fb_cpu_trap *t, const struct scratch *s, const struct place *at,
                       int64_t r, struct fb_cpu_span seen)
{
    float sum = 0;
    if (t->mistake != FB_CPU_TILE_DELTA)
        return s->delta[r];
    for (int64_t j = seen.begin - at->keys.begin; j < seen.end - at->keys.begin; j++)
        sum += s->s[j] * s->dp[j];
    return sum;
}

static void add_row(const struct fb_cpu_trap *t, const struct scratch *s, const struct place *at,
                    int64_t r)
{
    const struct fb_cpu_job *job = t->job;
    const int64_t d = fb_cpu_width(job->d), dv = fb_cpu_width(job->dv);
    const struct fb_cpu_span seen = visible(t, at, at->row + r);
    if (seen.begin >= seen.end)
        return;
    row_scores(t, s, at, r, seen);
    const float delta = row_delta(t, s, at, r, seen);
    for (int64_t j = seen.begin - at->keys.begin; j < seen.end - at->keys.begin; j++) {
        const float p = narrow(job->ps, s->s[j]);
        const float ds = narrow(job->ps, s->s[j] * (s->dp[j] - delta));
        add_scaled(s->dv + j * dv, p, s->dout + r * dv, job->dv);
        add_scaled(s->dk + j * d, ds, s->q + r * d, job->d);
        add_scaled(s->dq + r * d, ds, s->k + j * d, job->d);
    }
}

/* ---- Tiles ------------------------------------------------------------------------------------
 */

static void round_sums(float *sums, int64_t count)
{
    for (int64_t n = 0; n < count; n++)
        sums[n] = fb_cpu_round_bf16(sums[n]);
}

static float *dq_rows(const struct fb_cpu_trap *t, const struct place *at)
{
    const struct fb_cpu_job *job = t->job;
    return t->dq + ((at->b * job->h + at->h) * job->nq + at->row) * fb_cpu_width(job->d);
}

static void read_dq(const struct fb_cpu_trap *t, const struct scratch *s, const struct place *at)
{
    float *from = dq_rows(t, at);
    for (int64_t n = 0; n < at->rows * fb_cpu_width(t->job->d); n++)
        __atomic_load(from + n, s->old + n, __ATOMIC_RELAXED);
}

static void write_dq(const struct fb_cpu_trap *t, const struct scratch *s, const struct place *at)
{
    float *to = dq_rows(t, at);
    const int64_t count = at->rows * fb_cpu_width(t->job->d);
    if (t->mistake == FB_CPU_RACY_DQ)
        sched_yield(); /* whoever comes now adds to what this thread has read already */
    for (int64_t n = 0; n < count; n++)
        s->old[n] += s->dq[n];
    if (t->mistake == FB_CPU_BF16_SUMS)
        round_sums(s->old, count);
    for (int64_t n = 0; n < count; n++)
        __atomic_store(to + n, s->old + n, __ATOMIC_RELAXED);
}

static void load_queries(const struct fb_cpu_trap *t, const struct scratch *s,
                         const struct place *at)
{
    const struct fb_cpu_job *job = t->job;
    const int64_t dv = fb_cpu_width(job->dv);
    fb_cpu_tile_load(t->ops, s->q, &job->q, at->b, at->h, at->row, at->rows, job->d);
    fb_cpu_tile_load(t->ops, s->dout, &job->dout, at->b, at->h, at->row, at->rows, job->dv);
    fb_cpu_tile_load(t->ops, s->o, &job->o, at->b, at->h, at->row, at->rows, job->dv);
    for (int64_t r = 0; r < at->rows; r++)
        s->delta[r] = dot(s->dout + r * dv, s->o + r * dv, job->dv);
}

static void query_tile(const struct fb_cpu_trap *t, const struct scratch *s, struct place *at)
{
    const struct fb_cpu_job *job = t->job;
    const int64_t d = fb_cpu_width(job->d);
    at->row = at->query_tile * t->tile;
    at->rows = fb_cpu_min(t->tile, job->nq - at->row);
    if (t->mistake == FB_CPU_DROPPED_TILE && at->query_tile == 1 && at->key_tile == 1)
        return;
    load_queries(t, s, at);
    read_dq(t, s, at);
    memset(s->dq, 0, (size_t)(at->rows * d) * sizeof *s->dq);
    for (int64_t r = 0; r < at->rows; r++)
        add_row(t, s, at, r);
    write_dq(t, s, at);
    if (t->mistake == FB_CPU_BF16_SUMS) {
        round_sums(s->dk, t->tile * d);
        round_sums(s->dv, t->tile * fb_cpu_width(job->dv));
    }
}

static bool reads(const struct fb_cpu_trap *t, int64_t h, int64_t hk)
{
    const struct fb_cpu_job *job = t->job;
    return hk == (t->mistake == FB_CPU_HEAD_MODULO ? h % job->hk : h / (job->h / job->hk));
}

static void clear_sums(const struct fb_cpu_job *job, const struct scratch *s)
{
    memset(s->dk, 0, (size_t)(FB_CPU_TRAP_TILE * fb_cpu_width(job->d)) * sizeof *s->dk);
    memset(s->dv, 0, (size_t)(FB_CPU_TRAP_TILE * fb_cpu_width(job->dv)) * sizeof *s->dv);
}

static void load_keys(const struct fb_cpu_trap *t, const struct scratch *s, const struct place *at)
{
    const struct fb_cpu_job *job = t->job;
    const int64_t n = at->keys.end - at->keys.begin;
    memset(s->k, 0, (size_t)(FB_CPU_TRAP_TILE * fb_cpu_width(job->d)) * sizeof *s->k);
    memset(s->v, 0, (size_t)(FB_CPU_TRAP_TILE * fb_cpu_width(job->dv)) * sizeof *s->v);
    fb_cpu_tile_load(t->ops, s->k, &job->k, at->b, at->hk, at->keys.begin, n, job->d);
    fb_cpu_tile_load(t->ops, s->v, &job->v, at->b, at->hk, at->keys.begin, n, job->dv);
}

static void key_tile(const struct fb_cpu_trap *t, const struct scratch *s, struct place *at)
{
    const struct fb_cpu_job *job = t->job;
    const int64_t tiles = fb_cpu_tiles(job->nq, t->tile);
    at->keys.begin = at->key_tile * t->tile;
    at->keys.end = fb_cpu_min(at->keys.begin + t->tile, job->nk);
    load_keys(t, s, at);
    clear_sums(job, s);
    for (at->h = 0; at->h < job->h; at->h++) {
        if (!reads(t, at->h, at->hk))
            continue;
        if (t->mistake == FB_CPU_LAST_HEAD)
            clear_sums(job, s);
        for (at->query_tile = 0; at->query_tile < tiles; at->query_tile++)
            query_tile(t, s, at);
    }
    const int64_t n = at->keys.end - at->keys.begin;
    const float scale = t->mistake == FB_CPU_DK_UNSCALED ? 1.0f : job->scale;
    fb_cpu_tile_store(t->ops, &job->grad_k, at->b, at->hk, at->keys.begin, s->dk, n, job->d, scale);
    fb_cpu_tile_store(t->ops, &job->grad_v, at->b, at->hk, at->keys.begin, s->dv, n, job->dv, 1.0f);
}

/* ---- The whole --------------------------------------------------------------------------------
 */

static void work(void *argument, int slot)
{
    struct fb_cpu_trap *t = argument;
    const struct fb_cpu_job *job = t->job;
    const int64_t tiles = fb_cpu_tiles(job->nk, t->tile);
    const int64_t each = t->mistake == FB_CPU_RACY_DQ ? tiles : 1; /* tasks a key head */
    struct fb_cpu_arena arena = {.base = t->scratch + (size_t)slot * t->scratch_bytes};
    struct scratch s;
    scratch_layout(&arena, job, &s);
    for (int64_t n; (n = fb_cpu_ticket(&t->tickets)) >= 0;) {
        struct place at = {.b = n / each / job->hk, .hk = n / each % job->hk};
        for (int64_t i = n % each; i < tiles; i += each) {
            at.key_tile = t->descending ? tiles - 1 - i : (t->first + i) % tiles;
            key_tile(t, &s, &at);
        }
    }
}

static void clear_dq(const struct fb_cpu_trap *t)
{
    const struct fb_cpu_job *job = t->job;
    const int64_t count = job->b * job->h * job->nq * fb_cpu_width(job->d);
    if (t->mistake == FB_CPU_STALE && *t->mark == used_before)
        return;
    *t->mark = used_before;
    memset(t->dq, 0, (size_t)count * sizeof *t->dq);
}

static void store_dq(const struct fb_cpu_trap *t)
{
    const struct fb_cpu_job *job = t->job;
    const int64_t ld = fb_cpu_width(job->d);
    for (int64_t b = 0; b < job->b; b++)
        for (int64_t h = 0; h < job->h; h++)
            fb_cpu_tile_store(t->ops, &job->grad_q, b, h, 0,
                              t->dq + (b * job->h + h) * job->nq * ld, job->nq, job->d, job->scale);
}

void fb_cpu_trap_run(struct fb_cpu_trap *t)
{
    const struct fb_cpu_job *job = t->job;
    const int64_t each = t->mistake == FB_CPU_RACY_DQ ? fb_cpu_tiles(job->nk, t->tile) : 1;
    clear_dq(t);
    fb_cpu_tickets_init(&t->tickets, job->b * job->hk * each);
    fb_cpu_parallel((int)fb_cpu_min(t->slots, fb_cpu_threads_max()), work, t);
    store_dq(t);
}
