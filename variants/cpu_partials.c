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
#include "variants/cpu_common.h"
#include "variants/cpu_key_major.h"

static void add(void *state, const struct fb_cpu_dq_tile *tile)
{
    const struct fb_cpu_key_major *k = state;
    fb_cpu_dq_add(&k->dq, tile->key_tile % k->dq.copies, tile);
}

static struct fb_cpu_key_major_policy policy_for(const struct fb_problem *problem,
                                                 const struct fb_numerics *numerics)
{
    const struct fb_cpu_job job = fb_cpu_job_plan(problem, numerics);
    const int64_t heads = fb_cpu_max(1, job.b * job.hk);
    const int64_t groups = fb_cpu_min(8, fb_cpu_max(2, 16 / heads));
    return (struct fb_cpu_key_major_policy){
        .add = add, .copies = fb_cpu_max(1, fb_cpu_min(groups, fb_cpu_kv_tiles(&job)))};
}

static enum fb_status sizes(const struct fb_problem *problem, const struct fb_numerics *numerics,
                            size_t *saved, size_t *workspace)
{
    const struct fb_cpu_key_major_policy policy = policy_for(problem, numerics);
    *saved = 0;
    *workspace = fb_cpu_key_major_bytes(problem, numerics, &policy);
    return FB_OK;
}

static enum fb_status backward(struct fb_context *ctx, void *state, const struct fb_args *args)
{
    (void)state;
    const struct fb_cpu_key_major_policy policy = policy_for(args->problem, args->numerics);
    return fb_cpu_key_major_backward(ctx, args, &policy);
}

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
    .why_not = fb_cpu_refuse_key_major,
    .sizes = sizes,
    .tiles = fb_cpu_key_major_tiles,
    .forward = fb_cpu_forward_only,
    .backward = backward,
    .accepts = FB_ACCEPT_KEEP,
};

const struct fb_variant *const fb_variants_cpu_partials[] = {&cpu_partials, NULL};
