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
#include "variants/common/cpu.h"

/* Small tiles, so that a problem of 96 rows has three of them. */
#define TILE 32

struct trap {
    enum fb_cpu_mistake mistake;
    int64_t tile;
    bool descending;
    bool restless; /* begins with another key tile in each call */
    bool idle;     /* returns at once and calls it a success */
};

/* The shared forward and the backward use the workspace one after the other; the backward's part
 * lies behind the forward's, so that what it leaves there is there in its next call. */
static void layout(struct fb_cpu_arena *arena, const struct fb_cpu_job *job,
                   struct fb_cpu_trap *trap)
{
    fb_cpu_take(arena, 1, fb_cpu_forward_bytes(job));
    fb_cpu_trap_layout(arena, job, trap);
}

static enum fb_status sizes(const struct fb_variant *self, const struct fb_problem *problem,
                            const struct fb_numerics *numerics, size_t *saved, size_t *workspace)
{
    (void)self;
    const struct fb_cpu_job job = fb_cpu_job_plan(problem, numerics);
    struct fb_cpu_arena arena = {0};
    struct fb_cpu_trap trap;
    layout(&arena, &job, &trap);
    *saved = 0;
    *workspace = arena.used;
    return FB_OK;
}

static void describe(const struct fb_variant *self, const struct fb_problem *problem,
                     const struct fb_numerics *numerics, struct fb_description *what)
{
    (void)self;
    (void)problem;
    (void)numerics;
    what->bm = what->bn = TILE;
}

static enum fb_status backward(const struct fb_variant *self, struct fb_context *ctx, void *state,
                               const struct fb_args *args)
{
    static atomic_int calls;
    const struct trap *how = self->family;
    const enum fb_status status = how->idle ? FB_OK : fb_cpu_ready(ctx);
    (void)state;
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

/* TRAP(name, summary, claimed determinism, members of struct trap) */
#define TRAP(text, line, claim, ...)                                                               \
    {                                                                                              \
        .abi_version = FB_ABI_VERSION, .struct_size = sizeof(struct fb_variant), .name = text,     \
        .summary = line, .backend = "cpu",                                                         \
        .properties = {.deterministic = claim,                                                     \
                       .gemms = 5,                                                                 \
                       .workspace_growth = FB_GROWTH_LINEAR,                                       \
                       .role = FB_ROLE_TRAP},                                                      \
        .offer = {.dtypes = FB_ANY,                                                                \
                  .masks = FB_MASKS_KNOWN,                                                         \
                  .terms = TERMS,                                                                  \
                  .layouts = FB_ANY,                                                               \
                  .ps = FB_ANY,                                                                    \
                  .round = FB_ANY},                                                                \
        .family = &(const struct trap){__VA_ARGS__}, .sizes = sizes, .describe = describe,         \
        .forward = fb_cpu_forward_only, .backward = backward,                                      \
    }

#define TERMS                                                                                      \
    (FB_BIT(FB_TERM_WINDOW) | FB_BIT(FB_TERM_GROUPS) | FB_BIT(FB_TERM_SCALE) | FB_BIT(FB_TERM_DV))
#define DK_DV (FB_DET_DK | FB_DET_DV)

static const struct fb_variant traps[] = {
    TRAP("trap-tile-delta", "delta is summed over the key tile at hand", FB_DET_ALL,
         .mistake = FB_CPU_TILE_DELTA),
    TRAP("trap-no-lse", "p = exp(s - largest of the tile): lse is not read", FB_DET_ALL,
         .mistake = FB_CPU_TILE_SOFTMAX),
    TRAP("trap-racy-dq", "key tiles in parallel add to one dQ without atomics", DK_DV,
         .mistake = FB_CPU_RACY_DQ),
    TRAP("trap-bf16-sums", "accumulates in bf16 and declares fp32", FB_DET_ALL,
         .mistake = FB_CPU_BF16_SUMS),
    TRAP("trap-leak", "the causal mask lets one key too many through", FB_DET_ALL,
         .mistake = FB_CPU_LEAK),
    TRAP("trap-alignment", "the causal mask is aligned to the first key", FB_DET_ALL,
         .mistake = FB_CPU_TOP_LEFT),
    TRAP("trap-dk-unscaled", "dK lacks 1/sqrt(d)", FB_DET_ALL, .mistake = FB_CPU_DK_UNSCALED),
    TRAP("trap-last-head", "of a group of query heads the last one's dK, dV remain", FB_DET_ALL,
         .mistake = FB_CPU_LAST_HEAD),
    TRAP("trap-head-modulo", "query head h reads key head h mod hk", FB_DET_ALL,
         .mistake = FB_CPU_HEAD_MODULO),
    TRAP("trap-stale-workspace", "adds to what the last call left in the workspace", DK_DV,
         .mistake = FB_CPU_STALE),
    TRAP("trap-open-tail", "the padding of the last key tile takes part", FB_DET_ALL,
         .mistake = FB_CPU_OPEN_TAIL),
    TRAP("trap-dropped-tile", "one pair of tiles is left out", FB_DET_ALL,
         .mistake = FB_CPU_DROPPED_TILE),
    TRAP("trap-nothing-ran", "returns at once and calls it a success", FB_DET_ALL, .idle = true),
    TRAP("trap-false-claim", "adds in another order each time and claims the same bits", FB_DET_ALL,
         .restless = true),
    TRAP("trap-none", "the same kernel without a mistake", FB_DET_ALL, .tile = TILE),
    TRAP("trap-none-tiles", "without a mistake, tiles of 48", FB_DET_ALL, .tile = 48),
    TRAP("trap-none-order", "without a mistake, key tiles from the last to the first", FB_DET_ALL,
         .descending = true),
};

const struct fb_variant *const fb_variants_traps[] = {
    &traps[0],  &traps[1],  &traps[2],  &traps[3],  &traps[4],  &traps[5],
    &traps[6],  &traps[7],  &traps[8],  &traps[9],  &traps[10], &traps[11],
    &traps[12], &traps[13], &traps[14], &traps[15], &traps[16], NULL};
