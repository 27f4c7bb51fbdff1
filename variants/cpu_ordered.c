/* SPDX-License-Identifier: BSD-3-Clause
 *
 * cpu_ordered.c: cpu-atomic made deterministic by taking turns: key tiles add to a query tile of dQ
 * in ascending order, as FlashAttention-3's deterministic mode does with semaphores.
 *
 * Differs from cpu-atomic in the policy only. Every query tile has a counter of additions made;
 * key tile t waits until it stands at its place in line, t - (first key tile that sees these
 * queries), adds with plain vector code, and moves the counter on.
 *
 * Synchronisation: the counter is read with acquire and written with release, so an addition sees
 * all earlier ones. No deadlock, however many or few threads run: key tiles are handed out in
 * ascending order by a ticket, a tile waits only for lower numbers of its own head, and those have
 * been started before it by threads that wait only for still lower ones; the lowest unfinished tile
 * waits for nobody. Where heads share a bias one task takes a key tile through all of them in turn:
 * the same holds, head by head.
 *
 * Waiting costs little because query tiles are visited from the last to the first: under a causal
 * mask all key tiles see the last queries, so a tile finds its predecessor done or one step ahead.
 * (Ascending, tile t + 1 would begin where tile t is bn rows away from.)
 *
 * Determinism: everything, for any number of threads.
 */
#include "variants/common/cpu_key_major.h"

static void add(void *state, const struct fb_cpu_dq_tile *tile)
{
    struct fb_cpu_key_major *k = state;
    const int64_t place = tile->key_tile - tile->first_key_tile;
    _Atomic int64_t *turn = fb_cpu_key_major_turn(k, tile);
    for (int spins = 0; atomic_load_explicit(turn, memory_order_acquire) != place;)
        fb_cpu_relax(&spins);
    fb_cpu_dq_add(&k->dq, 0, tile);
    atomic_store_explicit(turn, place + 1, memory_order_release);
}

static const struct fb_cpu_key_major_policy policy = {.add = add, .turns = true};

static const struct fb_variant cpu_ordered = {
    .abi_version = FB_ABI_VERSION,
    .struct_size = sizeof(struct fb_variant),
    .name = "cpu-ordered",
    .summary = "cpu-atomic with dQ added in a fixed order, by turn counters",
    .backend = "cpu",
    .properties = {.deterministic = FB_DET_ALL,
                   .gemms = 5,
                   .saved_growth = FB_GROWTH_NONE,
                   .workspace_growth = FB_GROWTH_LINEAR},
    .family = &policy,
    FB_CPU_KEY_MAJOR,
};

const struct fb_variant *const fb_variants_cpu_ordered[] = {&cpu_ordered, NULL};
