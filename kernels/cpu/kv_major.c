/* SPDX-License-Identifier: BSD-3-Clause
 *
 * kv_major.c: FlashAttention-2's loop for the backward (Dao 2023, algorithm 2): a task owns a tile
 * of keys, keeps its dK and dV, and walks over the query tiles that see it.
 *
 *     for each key tile (a task)               K, K^T, V^T into scratch; dK = dV = 0
 *         for each query head of the group
 *             for each query tile, last first      Q, dO into scratch
 *                 for each block of 64 keys
 *                     S = Q K^T, dP = dO V^T            2 GEMMs
 *                     P = exp(scale S - lse), dS = P (dP - delta)
 *                     dV += P^T dO, dK += dS^T Q        2 GEMMs
 *                     dQ tile += dS K                   1 GEMM
 *                 the policy adds the dQ tile
 *         store dK, dV
 *
 * What differs from the GPU original: a key tile is large (up to 1024 rows) because here it lives
 * in L2, not in registers: the dQ tile is then added to memory once in so many keys, which is what
 * makes an addition by compare-and-swap affordable (at d = 64: 64 x 64 / 2 swaps of 20 cycles = 41k
 * cycles for 64 x 512 x 640 / 64 = 328k cycles of FMAs). Loops run over 64 of its keys at a time.
 *
 * L2 budget, d = 128, 512 keys: K, K^T, V^T, dK, dV at 256 KiB each = 1.25 MiB, and Q, dO, dQ at
 * 32 KiB each. L1: tile.h.
 *
 * Key tiles ascend and query tiles descend. Under a causal mask tile 0 has the most work and the
 * tiles all see the last queries, so the largest tasks start first, and a fixed order of additions
 * (ascending tiles) finds its predecessors done or one step ahead instead of half a sequence away.
 *
 * Score terms change a block before and after its softmax (terms.h). The gradient of a bias is
 * added to as blocks pass. Where sequences or heads share the bias, one task therefore owns a key
 * tile of all of them and takes them in turn: no workspace and one order, at the price of fewer
 * tasks.
 *
 * Determinism: dK, dV and dbias are sums of one task in one order, whatever the number of threads.
 * dQ is as deterministic as its policy.
 */
#include "kernels/cpu/kv_major.h"

#include <string.h>

#include "kernels/cpu/acc.h"
#include "kernels/cpu/terms.h"
#include "kernels/cpu/tile.h"

/* Scratch of one thread. */
struct scratch {
    float *k_panels, *v_panels, *k; /* the key tile: two transposes, and K as it is */
    float *dk, *dv;                 /* fp32 sums, or one block's sums on the way to the cells */
    union fb_cpu_cell *dk_cells, *dv_cells;
    float *q, *dout, *dq; /* the query tile */
    float *s, *dp;        /* the block */
    float *f, *g;         /* of its score terms */
};

/* Where the loop is. */
struct place {
    struct fb_cpu_seq seq;
    int64_t hk, h;            /* key head, query head */
    int64_t number;           /* of the key tile within its head */
    struct fb_cpu_span keys;  /* of the key tile */
    int64_t row, rows;        /* the query tile */
    struct fb_cpu_span block; /* keys of the block */
};

int64_t fb_cpu_kv_tile(const struct fb_cpu_job *job)
{
    if (job->acc_dq != FB_CPU_ACC_FP32)
        return 128; /* a study of accumulators wants many roundings, not speed */
    const int64_t wanted = job->b * job->hk >= 8 ? 4 : 8; /* tiles a head, for balance */
    const int64_t width = fb_cpu_width(fb_cpu_max(job->d, job->dv));
    int64_t tile = width > 128 ? 256 : width > 64 ? 512 : 1024;
    while (tile > 32 && job->nk < wanted * tile)
        tile /= 2;
    return tile;
}

int64_t fb_cpu_kv_tiles(const struct fb_cpu_job *job)
{
    return fb_cpu_tiles(job->nk, fb_cpu_kv_tile(job));
}

static void scratch_layout(struct fb_cpu_arena *arena, const struct fb_cpu_kv *kv,
                           struct scratch *s)
{
    const struct fb_cpu_job *job = kv->job;
    const int64_t d = fb_cpu_width(job->d), dv = fb_cpu_width(job->dv);
    const bool cells = job->acc_dkv != FB_CPU_ACC_FP32;
    const int64_t kept = cells ? FB_CPU_KEY_BLOCK : kv->tile;
    s->k_panels = fb_cpu_take_floats(arena, fb_cpu_packed(kv->tile, job->d));
    s->v_panels = fb_cpu_take_floats(arena, fb_cpu_packed(kv->tile, job->dv));
    s->k = fb_cpu_take_floats(arena, kv->tile * d);
    s->dk = fb_cpu_take_floats(arena, kept * d);
    s->dv = fb_cpu_take_floats(arena, kept * dv);
    s->dk_cells = fb_cpu_take(arena, cells ? kv->tile * job->d : 0, sizeof *s->dk_cells);
    s->dv_cells = fb_cpu_take(arena, cells ? kv->tile * job->dv : 0, sizeof *s->dv_cells);
    s->q = fb_cpu_take_floats(arena, FB_CPU_QUERY_TILE * d);
    s->dout = fb_cpu_take_floats(arena, FB_CPU_QUERY_TILE * dv);
    s->dq = fb_cpu_take_floats(arena, FB_CPU_QUERY_TILE * d);
    s->s = fb_cpu_take_floats(arena, FB_CPU_QUERY_TILE * FB_CPU_BLOCK_LD);
    s->dp = fb_cpu_take_floats(arena, FB_CPU_QUERY_TILE * FB_CPU_BLOCK_LD);
    fb_cpu_terms_layout(arena, job, FB_CPU_QUERY_TILE * FB_CPU_BLOCK_LD, &s->f, &s->g);
}

void fb_cpu_kv_layout(struct fb_cpu_arena *arena, const struct fb_cpu_job *job,
                      const struct fb_cpu_rows *rows, const struct fb_cpu_dq_policy *policy,
                      struct fb_cpu_kv *kv)
{
    struct fb_cpu_arena one = {0};
    struct scratch unused;
    *kv = (struct fb_cpu_kv){.job = job, .rows = rows, .policy = *policy, .ops = fb_cpu_ops()};
    kv->tile = fb_cpu_kv_tile(job);
    kv->tiles = fb_cpu_kv_tiles(job);
    kv->groups = policy->groups > 0 ? fb_cpu_min(policy->groups, kv->tiles) : kv->tiles;
    kv->b_owners = job->terms.bias && job->terms.bias_one_batch ? 1 : job->b;
    kv->hk_owners = job->terms.bias && job->terms.bias_one_head ? 1 : job->hk;
    kv->slots = fb_cpu_slots(job, kv->b_owners * kv->hk_owners * kv->groups);
    scratch_layout(&one, kv, &unused);
    kv->scratch_bytes = one.used;
    kv->scratch = fb_cpu_take(arena, kv->slots, one.used);
}

/* V^T is packed by way of the memory of the V sums (or of K), which are not in use yet. */
static void load_keys(const struct fb_cpu_kv *kv, const struct scratch *s, const struct place *at)
{
    const struct fb_cpu_job *job = kv->job;
    for (int64_t j = at->keys.begin; j < at->keys.end; j += FB_CPU_KEY_BLOCK) {
        const int64_t n = fb_cpu_min(FB_CPU_KEY_BLOCK, at->keys.end - j), row = j - at->keys.begin;
        float *k = s->k + row * fb_cpu_width(job->d);
        fb_cpu_tile_load(kv->ops, k, &job->k, at->seq.batch, at->hk, at->seq.k_row + j, n, job->d);
        kv->ops->pack(s->k_panels + row * job->d, k, fb_cpu_width(job->d), n, job->d);
        fb_cpu_tile_load(kv->ops, s->dv, &job->v, at->seq.batch, at->hk, at->seq.k_row + j, n,
                         job->dv);
        kv->ops->pack(s->v_panels + row * job->dv, s->dv, fb_cpu_width(job->dv), n, job->dv);
    }
}

static void clear_sums(const struct fb_cpu_kv *kv, const struct scratch *s)
{
    const struct fb_cpu_job *job = kv->job;
    if (job->acc_dkv == FB_CPU_ACC_FP32) {
        memset(s->dk, 0, (size_t)(kv->tile * fb_cpu_width(job->d)) * sizeof *s->dk);
        memset(s->dv, 0, (size_t)(kv->tile * fb_cpu_width(job->dv)) * sizeof *s->dv);
    } else {
        memset(s->dk_cells, 0, (size_t)(kv->tile * job->d) * sizeof *s->dk_cells);
        memset(s->dv_cells, 0, (size_t)(kv->tile * job->dv) * sizeof *s->dv_cells);
    }
}

/* The same through score terms. */
static void block_terms(const struct fb_cpu_kv *kv, const struct scratch *s, const struct place *at,
                        struct fb_cpu_scores *scores)
{
    const struct fb_cpu_block block = {.seq = &at->seq,
                                       .h = at->h,
                                       .row = at->row,
                                       .rows = at->rows,
                                       .key = at->block.begin,
                                       .n = scores->n,
                                       .ld = FB_CPU_BLOCK_LD,
                                       .s = s->s,
                                       .dp = s->dp,
                                       .f = s->f,
                                       .g = s->g};
    scores->round = FB_CPU_FP32;
    scores->scale = fb_cpu_terms_before(kv->ops, kv->job, &block);
    kv->ops->scores(scores);
    fb_cpu_terms_bias(kv->ops, kv->job, &block);
    fb_cpu_terms_after(kv->ops, kv->job, &block, kv->job->ps);
}

/* s becomes p and dp becomes ds, as the operands of the next GEMMs. */
static void block_scores(const struct fb_cpu_kv *kv, const struct scratch *s,
                         const struct place *at)
{
    const struct fb_cpu_job *job = kv->job;
    const int64_t n = at->block.end - at->block.begin, first = at->block.begin - at->keys.begin;
    const int64_t line = fb_cpu_line(job, &at->seq, at->h, at->row);
    struct fb_cpu_scores scores = {.rows = at->rows,
                                   .n = n,
                                   .ld = FB_CPU_BLOCK_LD,
                                   .lo = at->row + at->seq.lo - at->block.begin,
                                   .hi = at->row + at->seq.hi - at->block.begin,
                                   .scale = job->scale,
                                   .round = job->ps,
                                   .s = s->s,
                                   .dp = s->dp,
                                   .sub = kv->rows->sub + line,
                                   .mul = kv->rows->mul ? kv->rows->mul + line : NULL,
                                   .delta = kv->rows->delta + line};
    fb_cpu_tile_scores(kv->ops, s->s, s->q, s->k_panels + first * job->d, at->rows, n, job->d);
    fb_cpu_tile_scores(kv->ops, s->dp, s->dout, s->v_panels + first * job->dv, at->rows, n,
                       job->dv);
    if (job->terms.any)
        block_terms(kv, s, at, &scores);
    else
        kv->ops->scores(&scores);
}

/* Sums of another type than fp32: one rounding for the tile, or one for each query row. Steps are
 * numbered through the queries of all heads of the group. */
static void add_to_cells(const struct fb_cpu_kv *kv, const struct place *at,
                         union fb_cpu_cell *cells, float *sum, const float *block,
                         const float *rows, int64_t k)
{
    const struct fb_cpu_job *job = kv->job;
    const int64_t n = at->block.end - at->block.begin, first = at->block.begin - at->keys.begin;
    const int64_t key = fb_cpu_key_line(job, &at->seq, at->hk, at->block.begin);
    const uint64_t step = (uint64_t)(at->h * job->nq + at->row);
    if (job->round_row) {
        fb_cpu_acc_products(job->acc_dkv, cells + first * k, block, 1, FB_CPU_BLOCK_LD, rows,
                            fb_cpu_width(k), n, k, at->rows, (uint64_t)(key * k), step);
    } else {
        fb_cpu_tile_down(kv->ops, sum, block, rows, at->rows, n, k, false);
        fb_cpu_acc_add(job->acc_dkv, cells + first * k, sum, fb_cpu_width(k), n, k,
                       (uint64_t)(key * k), step);
    }
}

static void block_sums(const struct fb_cpu_kv *kv, const struct scratch *s, const struct place *at)
{
    const struct fb_cpu_job *job = kv->job;
    const int64_t n = at->block.end - at->block.begin, first = at->block.begin - at->keys.begin;
    if (job->acc_dkv != FB_CPU_ACC_FP32) {
        add_to_cells(kv, at, s->dv_cells, s->dv, s->s, s->dout, job->dv);
        add_to_cells(kv, at, s->dk_cells, s->dk, s->dp, s->q, job->d);
        return;
    }
    fb_cpu_tile_down(kv->ops, s->dv + first * fb_cpu_width(job->dv), s->s, s->dout, at->rows, n,
                     job->dv, true);
    fb_cpu_tile_down(kv->ops, s->dk + first * fb_cpu_width(job->d), s->dp, s->q, at->rows, n,
                     job->d, true);
}

static void query_tile(const struct fb_cpu_kv *kv, const struct scratch *s, struct place *at,
                       struct fb_cpu_span seen)
{
    const struct fb_cpu_job *job = kv->job;
    const int64_t ld = fb_cpu_width(job->d), row = at->seq.q_row + at->row;
    bool add = false;
    fb_cpu_tile_load(kv->ops, s->q, &job->q, at->seq.batch, at->h, row, at->rows, job->d);
    fb_cpu_tile_load(kv->ops, s->dout, &job->dout, at->seq.batch, at->h, row, at->rows, job->dv);
    for (int64_t j = at->keys.begin; j < at->keys.end; j += FB_CPU_KEY_BLOCK) {
        at->block = (struct fb_cpu_span){j, fb_cpu_min(j + FB_CPU_KEY_BLOCK, at->keys.end)};
        if (!fb_cpu_meet(at->block, seen))
            continue;
        block_scores(kv, s, at);
        block_sums(kv, s, at);
        if (kv->policy.add)
            fb_cpu_tile_across(kv->ops, s->dq, s->dp, s->k + (j - at->keys.begin) * ld, at->rows,
                               at->block.end - j, job->d, add);
        add = true;
    }
    if (kv->policy.add)
        kv->policy.add(kv->policy.state,
                       &(struct fb_cpu_dq_tile){.seq = &at->seq,
                                                .h = at->h,
                                                .row = at->row,
                                                .rows = at->rows,
                                                .key_tile = at->number,
                                                .first_key_tile = seen.begin / kv->tile,
                                                .sum = s->dq,
                                                .ld = ld});
}

static void store_sums(const struct fb_cpu_kv *kv, const struct place *at,
                       const struct fb_cpu_view *view, float *sum, const union fb_cpu_cell *cells,
                       int64_t k, float scale)
{
    const struct fb_cpu_job *job = kv->job;
    const int64_t batch = at->seq.batch, row = at->seq.k_row;
    if (job->acc_dkv == FB_CPU_ACC_FP32) {
        fb_cpu_tile_store(kv->ops, view, batch, at->hk, row + at->keys.begin, sum,
                          at->keys.end - at->keys.begin, k, scale);
        return;
    }
    for (int64_t j = at->keys.begin; j < at->keys.end; j += FB_CPU_KEY_BLOCK) {
        const int64_t n = fb_cpu_min(FB_CPU_KEY_BLOCK, at->keys.end - j);
        fb_cpu_acc_read(job->acc_dkv, sum, fb_cpu_width(k), cells + (j - at->keys.begin) * k, n, k);
        fb_cpu_tile_store(kv->ops, view, batch, at->hk, row + j, sum, n, k, scale);
    }
}

static void key_tile(const struct fb_cpu_kv *kv, const struct scratch *s, struct place *at)
{
    const struct fb_cpu_job *job = kv->job;
    const int64_t group = job->h / job->hk;
    at->keys = (struct fb_cpu_span){at->number * kv->tile,
                                    fb_cpu_min((at->number + 1) * kv->tile, at->seq.nk)};
    if (at->keys.begin >= at->keys.end) /* a shorter sequence than the longest */
        return;
    const struct fb_cpu_span queries = fb_cpu_queries(&at->seq, at->keys.begin, at->keys.end);
    const int64_t last = fb_cpu_tiles(queries.end, FB_CPU_QUERY_TILE) - 1;
    load_keys(kv, s, at);
    clear_sums(kv, s);
    for (at->h = at->hk * group; at->h < (at->hk + 1) * group; at->h++)
        for (int64_t i = last; (i + 1) * FB_CPU_QUERY_TILE > queries.begin && i >= 0; i--) {
            at->row = i * FB_CPU_QUERY_TILE;
            at->rows = fb_cpu_min(FB_CPU_QUERY_TILE, at->seq.nq - at->row);
            const struct fb_cpu_span seen = fb_cpu_keys(&at->seq, at->row, at->row + at->rows);
            if (fb_cpu_meet(at->keys, seen))
                query_tile(kv, s, at, seen);
        }
    store_sums(kv, at, &job->grad_k, s->dk, s->dk_cells, job->d, job->scale);
    store_sums(kv, at, &job->grad_v, s->dv, s->dv_cells, job->dv, 1.0f);
}

/* One key tile of all that share a bias: of one sequence and key head where nothing is shared. */
static void owned_tile(const struct fb_cpu_kv *kv, const struct scratch *s, int64_t owner,
                       int64_t number)
{
    const struct fb_cpu_job *job = kv->job;
    const int64_t group = job->h / job->hk, b = owner / kv->hk_owners, hk = owner % kv->hk_owners;
    const int64_t b_end = kv->b_owners < job->b ? job->b : fb_cpu_min(b + 1, job->b);
    const int64_t hk_end = kv->hk_owners < job->hk ? job->hk : hk + 1;
    fb_cpu_terms_bias_clear(job, b, b_end, hk * group, hk_end * group, number * kv->tile,
                            fb_cpu_min((number + 1) * kv->tile, job->nk));
    for (int64_t i = b; i < b_end; i++)
        for (int64_t j = hk; j < hk_end; j++)
            key_tile(kv, s, &(struct place){.seq = fb_cpu_seq(job, i), .hk = j, .number = number});
}

static void work(void *argument, int slot)
{
    struct fb_cpu_kv *kv = argument;
    struct fb_cpu_arena arena = {.base = kv->scratch + (size_t)slot * kv->scratch_bytes};
    struct scratch s;
    scratch_layout(&arena, kv, &s);
    for (int64_t t; (t = fb_cpu_ticket(&kv->tickets)) >= 0;)
        for (int64_t number = t % kv->groups; number < kv->tiles; number += kv->groups)
            owned_tile(kv, &s, t / kv->groups, number);
}

void fb_cpu_kv_run(struct fb_cpu_kv *kv)
{
    fb_cpu_tickets_init(&kv->tickets, kv->b_owners * kv->hk_owners * kv->groups);
    fb_cpu_parallel(kv->slots, work, kv);
}
