/* SPDX-License-Identifier: BSD-3-Clause
 *
 * cpu_atomic.c: FlashAttention-2's backward (Dao 2023): key tiles in parallel, all adding to one
 * fp32 dQ with atomic additions, in whatever order the threads come by.
 *
 * The main loop is kernels/cpu/kv_major.c; this file is the policy. A CPU has no atomic addition of
 * floats: two neighbours are read, added to and exchanged as one 64-bit word, again if somebody was
 * faster. One exchange costs about 20 cycles, hence pairs, and hence key tiles of 512: 2 d bn bm
 * 5 / 64 cycles of FMAs to 20 d bm / 2 of exchanges, 12 % at bn = 512. An accumulator other than
 * fp32 exchanges a cell of 8 bytes that holds the sum (and its compensation).
 *
 * Synchronisation: none but the exchanges themselves, relaxed; the end of the parallel region
 * orders them before the last pass.
 *
 * Determinism: dK and dV are deterministic. dQ is not: with three or more key tiles the order of
 * additions, and so the last bits, change from run to run as soon as two threads run.
 */
#include <string.h>

#include "variants/common/cpu_key_major.h"

/* A word that may alias the floats it is made of. */
typedef uint64_t word __attribute__((may_alias));
typedef uint32_t half_word __attribute__((may_alias));

static void add_pair(float *to, const float *x)
{
    /* cppcheck-suppress invalidPointerCast ; may_alias allows it */
    word *cell = (word *)to;
    uint64_t seen = __atomic_load_n(cell, __ATOMIC_RELAXED), wanted;
    do {
        float pair[2];
        memcpy(pair, &seen, sizeof pair);
        pair[0] += x[0];
        pair[1] += x[1];
        memcpy(&wanted, pair, sizeof wanted);
    } while (
        !__atomic_compare_exchange_n(cell, &seen, wanted, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
}

static void add_one(float *to, float x)
{
    /* cppcheck-suppress invalidPointerCast ; may_alias allows it */
    half_word *cell = (half_word *)to;
    uint32_t seen = __atomic_load_n(cell, __ATOMIC_RELAXED), wanted;
    do {
        float sum;
        memcpy(&sum, &seen, sizeof sum);
        sum += x;
        memcpy(&wanted, &sum, sizeof wanted);
    } while (
        !__atomic_compare_exchange_n(cell, &seen, wanted, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
}

/* Pairs are aligned to 8 bytes, so an element is always exchanged at the same width. */
static void add_floats(float *to, const float *x, int64_t n)
{
    int64_t c = 0;
    if (n > 0 && (uintptr_t)to % sizeof(word) != 0) {
        add_one(to, x[0]);
        c = 1;
    }
    for (; c + 2 <= n; c += 2)
        add_pair(to + c, x + c);
    if (c < n)
        add_one(to + c, x[c]);
}

static void add_cell(enum fb_cpu_acc acc, union fb_cpu_cell *to, float x, uint32_t random)
{
    union fb_cpu_cell seen = {.bits = __atomic_load_n(&to->bits, __ATOMIC_RELAXED)}, wanted;
    do {
        wanted = fb_cpu_acc_sum(acc, seen, x, random);
    } while (!__atomic_compare_exchange_n(&to->bits, &seen.bits, wanted.bits, 1, __ATOMIC_RELAXED,
                                          __ATOMIC_RELAXED));
}

static void add(void *state, const struct fb_cpu_dq_tile *tile)
{
    const struct fb_cpu_key_major *k = state;
    const int64_t d = k->job.d, at = fb_cpu_dq_at(&k->dq, 0, tile);
    for (int64_t r = 0; r < tile->rows; r++) {
        const float *x = tile->sum + r * tile->ld;
        const int64_t row = at + r * d;
        if (k->dq.sums) {
            add_floats(k->dq.sums + row, x, d);
            continue;
        }
        for (int64_t c = 0; c < d; c++)
            add_cell(k->job.acc_dq, k->dq.cells + row + c, x[c],
                     fb_cpu_acc_random((uint64_t)(row + c), (uint64_t)tile->key_tile));
    }
}

static const struct fb_cpu_key_major_policy policy = {.add = add};

static const struct fb_variant cpu_atomic = {
    .abi_version = FB_ABI_VERSION,
    .struct_size = sizeof(struct fb_variant),
    .name = "cpu-atomic",
    .summary = "FlashAttention-2: key tiles in parallel, atomic additions into one dQ",
    .backend = "cpu",
    .properties = {.deterministic = FB_DET_DK | FB_DET_DV,
                   .gemms = 5,
                   .saved_growth = FB_GROWTH_NONE,
                   .workspace_growth = FB_GROWTH_LINEAR},
    .family = &policy,
    FB_CPU_KEY_MAJOR,
};

const struct fb_variant *const fb_variants_cpu_atomic[] = {&cpu_atomic, NULL};
