/* SPDX-License-Identifier: BSD-3-Clause
 *
 * cpu_split.c: the two-kernel split that most libraries ship: dK and dV by key tile, then dQ by
 * query tile. Nothing is shared between tasks, so nothing needs an atomic or an order.
 *
 * Differs from cpu-atomic in that S and dP are made twice: 7 GEMMs instead of 5, and no dQ in
 * memory before its last value. Expected at 5/7 of cpu-atomic's speed, less what its atomic
 * additions cost.
 *
 * The two loops are kernels/cpu/kv_major.c (without a policy) and kernels/cpu/q_major.c; budgets
 * there. Tiles of the record: dK, dV round every 64 queries, dQ every 64 keys, where an
 * accumulator other than fp32 is declared.
 *
 * Synchronisation: the end of a parallel region between the passes.
 * Determinism: everything, for any number of threads.
 * Source: the fused-attention tutorial of Triton; FlexAttention.
 */
#include "variants/common/cpu_two_pass.h"

static const struct fb_cpu_two_pass family = {.keeps_rows = false};

static const struct fb_variant cpu_split = {
    .abi_version = FB_ABI_VERSION,
    .struct_size = sizeof(struct fb_variant),
    .name = "cpu-split",
    .summary = "two kernels: dK and dV by key tile, dQ by query tile",
    .backend = "cpu",
    .properties = {.deterministic = FB_DET_ALL,
                   .gemms = 7,
                   .saved_growth = FB_GROWTH_NONE,
                   .workspace_growth = FB_GROWTH_LINEAR},
    .offer = {FB_CPU_ANY_PROBLEM, FB_CPU_ANY_NUMERICS},
    .family = &family,
    .sizes = fb_cpu_two_pass_sizes,
    .describe = fb_cpu_two_pass_describe,
    .forward = fb_cpu_two_pass_forward,
    .backward = fb_cpu_two_pass_backward,
};

const struct fb_variant *const fb_variants_cpu_split[] = {&cpu_split, NULL};
