/* SPDX-License-Identifier: BSD-3-Clause
 *
 * cpu_ml.c: cpu-split that saves the row maximum m and the row sum l instead of reading lse, as the
 * raw-CUDA lesson does: p = exp(scale s - m) / l.
 *
 * Differs from cpu-split in one multiplication a score and 8 bytes a row. It cannot cancel against
 * an lse that was rounded, so it refuses lse=bf16; whether p is more accurate is the question the
 * variant is for (lse = m + ln l costs one rounding of a number near ln n).
 *
 * The saved block: m, then l, fp32, one a query row each. o and lse are written as by everybody.
 *
 * Synchronisation, budgets and determinism: as cpu-split.
 */
#include "variants/common/cpu_two_pass.h"

static const struct fb_cpu_two_pass family = {.keeps_rows = true};

static const struct fb_variant cpu_ml = {
    .abi_version = FB_ABI_VERSION,
    .struct_size = sizeof(struct fb_variant),
    .name = "cpu-ml",
    .summary = "cpu-split that saves row maximum and sum instead of reading lse",
    .backend = "cpu",
    .properties = {.deterministic = FB_DET_ALL,
                   .gemms = 7,
                   .saved_growth = FB_GROWTH_LINEAR,
                   .workspace_growth = FB_GROWTH_LINEAR},
    .offer = {FB_CPU_ANY_PROBLEM, .dkv = FB_ANY, .dq = FB_ANY, .ps = FB_ANY, .delta = FB_ANY,
              .lse = FB_BIT(FB_LSE_FP32), /* it is not read */
              .round = FB_ANY},
    .family = &family,
    .sizes = fb_cpu_two_pass_sizes,
    .describe = fb_cpu_two_pass_describe,
    .forward = fb_cpu_two_pass_forward,
    .backward = fb_cpu_two_pass_backward,
};

const struct fb_variant *const fb_variants_cpu_ml[] = {&cpu_ml, NULL};
