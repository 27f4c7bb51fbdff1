/* SPDX-License-Identifier: BSD-3-Clause
 *
 * traps.c: negative controls. Each is a kernel that makes one mistake which a kernel of somebody's
 * has made before (doc/derivation.md, section 3, says why each is one and why it survives careless
 * tests). `flashback check` must fail them on the problems that show the mistake and pass them on
 * those that cannot; `check --self-test` holds it to both (src/run/self_test_table.c). The last
 * three make no mistake: other tiles and another order must pass.
 *
 * The kernel is kernels/cpu/trap.c; all declare standard numerics and claim what an author who does
 * not know of the mistake would claim. `list` hides them unless asked with --traps.
 */
#include <stdatomic.h>

#include "kernels/cpu/trap.h"
#include "variants/cpu_common.h"

/* Small tiles, so that a problem of 96 rows has three of them. */
#define TILE 32

struct trap {
    enum fb_cpu_mistake mistake;
    int64_t tile;
    bool descending;
    bool restless; /* begins with another key tile in each call */
    bool idle;     /* returns at once and calls it a success */
};

static const char *why_not(const struct fb_problem *p, const struct fb_numerics *n)
{
    if (n->dkv != FB_ACC_FP32 || n->dq != FB_ACC_FP32 || n->delta != FB_DELTA_FP32 ||
        n->lse != FB_LSE_FP32)
        return "only fp32 accumulators, delta and lse";
    if (p->softcap != 0 || p->alibi != FB_ALIBI_NONE || p->bias != FB_BIAS_NONE || p->dropout > 0 ||
        p->sink || p->dlse || p->qlens || p->klens)
        return "no softcap, alibi, bias, dropout, sink, dlse or packed lengths";
    return fb_cpu_refuse(p, n);
}

/* The shared forward and the backward use the workspace one after the other; the backward's part
 * lies behind the forward's, so that what it leaves there is there in its next call. */
static void layout(struct fb_cpu_arena *arena, const struct fb_cpu_job *job,
                   struct fb_cpu_trap *trap)
{
    fb_cpu_take(arena, 1, fb_cpu_forward_bytes(job));
    fb_cpu_trap_layout(arena, job, trap);
}

static enum fb_status sizes(const struct fb_problem *problem, const struct fb_numerics *numerics,
                            size_t *saved, size_t *workspace)
{
    const struct fb_cpu_job job = fb_cpu_job_plan(problem, numerics);
    struct fb_cpu_arena arena = {0};
    struct fb_cpu_trap trap;
    layout(&arena, &job, &trap);
    *saved = 0;
    *workspace = arena.used;
    return FB_OK;
}

static void tiles(const struct fb_problem *problem, const struct fb_numerics *numerics, int64_t *bm,
                  int64_t *bn)
{
    (void)problem;
    (void)numerics;
    *bm = *bn = TILE;
}

static enum fb_status run(struct fb_context *ctx, const struct fb_args *args,
                          const struct trap *how)
{
    static atomic_int calls;
    const enum fb_status status = how->idle ? FB_OK : fb_cpu_ready(ctx);
    if (status != FB_OK || how->idle)
        return status;
    const struct fb_cpu_job plan = fb_cpu_job_plan(args->problem, args->numerics);
    const struct fb_cpu_job job = fb_cpu_job_call(ctx, args);
    struct fb_cpu_arena arena = {.base = args->workspace};
    struct fb_cpu_trap trap;
    layout(&arena, &plan, &trap); /* as planned: the workspace looks the same for any threads */
    trap.job = &job;
    trap.slots = (int)fb_cpu_min(trap.slots, job.threads);
    trap.mistake = how->mistake;
    trap.tile = how->tile ? how->tile : TILE;
    trap.descending = how->descending;
    trap.first = how->restless ? atomic_fetch_add(&calls, 1) : 0;
    fb_cpu_trap_run(&trap);
    return FB_OK;
}

/* TRAP(id, name, summary, claimed determinism, members of struct trap) */
#define TRAP(id, text, line, claim, ...)                                                           \
    static enum fb_status id##_backward(struct fb_context *ctx, void *state,                       \
                                        const struct fb_args *args)                                \
    {                                                                                              \
        static const struct trap how = {__VA_ARGS__};                                              \
        (void)state;                                                                               \
        return run(ctx, args, &how);                                                               \
    }                                                                                              \
    static const struct fb_variant id = {                                                          \
        .abi_version = FB_ABI_VERSION,                                                             \
        .struct_size = sizeof(struct fb_variant),                                                  \
        .name = text,                                                                              \
        .summary = line,                                                                           \
        .backend = "cpu",                                                                          \
        .properties = {.deterministic = claim, .gemms = 5, .workspace_growth = FB_GROWTH_LINEAR},  \
        .why_not = why_not,                                                                        \
        .sizes = sizes,                                                                            \
        .tiles = tiles,                                                                            \
        .forward = fb_cpu_forward_only,                                                            \
        .backward = id##_backward,                                                                 \
    }

#define DK_DV (FB_DET_DK | FB_DET_DV)

TRAP(tile_delta, "trap-tile-delta", "delta is summed over the key tile at hand", FB_DET_ALL,
     .mistake = FB_CPU_TILE_DELTA);
TRAP(no_lse, "trap-no-lse", "p = exp(s - largest of the tile): lse is not read", FB_DET_ALL,
     .mistake = FB_CPU_TILE_SOFTMAX);
TRAP(racy_dq, "trap-racy-dq", "key tiles in parallel add to one dQ without atomics", DK_DV,
     .mistake = FB_CPU_RACY_DQ);
TRAP(bf16_sums, "trap-bf16-sums", "accumulates in bf16 and declares fp32", FB_DET_ALL,
     .mistake = FB_CPU_BF16_SUMS);
TRAP(leak, "trap-leak", "the causal mask lets one key too many through", FB_DET_ALL,
     .mistake = FB_CPU_LEAK);
TRAP(alignment, "trap-alignment", "the causal mask is aligned to the first key", FB_DET_ALL,
     .mistake = FB_CPU_TOP_LEFT);
TRAP(dk_unscaled, "trap-dk-unscaled", "dK lacks 1/sqrt(d)", FB_DET_ALL,
     .mistake = FB_CPU_DK_UNSCALED);
TRAP(last_head, "trap-last-head", "of a group of query heads the last one's dK, dV remain",
     FB_DET_ALL, .mistake = FB_CPU_LAST_HEAD);
TRAP(head_modulo, "trap-head-modulo", "query head h reads key head h mod hk", FB_DET_ALL,
     .mistake = FB_CPU_HEAD_MODULO);
TRAP(stale, "trap-stale-workspace", "adds to what the last call left in the workspace", DK_DV,
     .mistake = FB_CPU_STALE);
TRAP(open_tail, "trap-open-tail", "the padding of the last key tile takes part", FB_DET_ALL,
     .mistake = FB_CPU_OPEN_TAIL);
TRAP(dropped_tile, "trap-dropped-tile", "one pair of tiles is left out", FB_DET_ALL,
     .mistake = FB_CPU_DROPPED_TILE);
TRAP(nothing_ran, "trap-nothing-ran", "returns at once and calls it a success", FB_DET_ALL,
     .idle = true);
TRAP(false_claim, "trap-false-claim", "adds in another order each time and claims the same bits",
     FB_DET_ALL, .restless = true);
TRAP(none, "trap-none", "the same kernel without a mistake", FB_DET_ALL, .tile = TILE);
TRAP(none_tiles, "trap-none-tiles", "without a mistake, tiles of 48", FB_DET_ALL, .tile = 48);
TRAP(none_order, "trap-none-order", "without a mistake, key tiles from the last to the first",
     FB_DET_ALL, .descending = true);

const struct fb_variant *const fb_variants_traps[] = {
    &tile_delta,  &no_lse,      &racy_dq,     &bf16_sums,  &leak,       &alignment,
    &dk_unscaled, &last_head,   &head_modulo, &stale,      &open_tail,  &dropped_tile,
    &nothing_ran, &false_claim, &none,        &none_tiles, &none_order, NULL};
