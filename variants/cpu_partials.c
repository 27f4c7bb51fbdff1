/* SPDX-License-Identifier: BSD-3-Clause
 *
 * cpu_partials.c: cpu-atomic made deterministic by memory: the key tiles of a head are dealt to a
 * few groups, each group runs in one thread and adds to a dQ of its own, and a last pass sums the
 * copies in order. FlashAttention-2's deterministic mode does the same with one copy a thread
 * block.
 *
 * Differs from cpu-atomic in the policy only. Tile t belongs to group t mod G, so that under a
 * causal mask every group gets long and short tiles. G is 2 to 8, more where there are few heads to
 * run in parallel; it depends on the problem alone, never on the threads, and with it the bits.
 *
 * Synchronisation: none; a copy belongs to one task.
 * Memory: G copies of dQ, linear in n. With an accumulator other than fp32 the copies are kept in
 * it and summing them rounds G - 1 times more.
 * Determinism: everything, for any number of threads.
 */
#include "variants/common/cpu_key_major.h"

static void add(void *state, const struct fb_cpu_dq_tile *tile)
{
    const struct fb_cpu_key_major *k = state;
    fb_cpu_dq_add(&k->dq, tile->key_tile % k->dq.copies, tile);
}

static int64_t copies(const struct fb_cpu_job *job)
{
    const int64_t heads = fb_cpu_max(1, job->b * job->hk);
    const int64_t groups = fb_cpu_min(8, fb_cpu_max(2, 16 / heads));
    return fb_cpu_max(1, fb_cpu_min(groups, fb_cpu_kv_tiles(job)));
}

static const struct fb_cpu_key_major_policy policy = {.add = add, .copies = copies};

static const struct fb_variant cpu_partials = {
    .abi_version = FB_ABI_VERSION,
    .struct_size = sizeof(struct fb_variant),
    .name = "cpu-partials",
    .summary = "one dQ copy per group of key tiles, summed in order",
    .backend = "cpu",
    .properties = {.deterministic = FB_DET_ALL,
                   .gemms = 5,
                   .saved_growth = FB_GROWTH_NONE,
                   .workspace_growth = FB_GROWTH_LINEAR},
    .family = &policy,
    FB_CPU_KEY_MAJOR,
};

const struct fb_variant *const fb_variants_cpu_partials[] = {&cpu_partials, NULL};
