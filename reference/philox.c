/* SPDX-License-Identifier: BSD-3-Clause
 *
 * philox.c: Philox4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel random numbers, SC'11).
 */
#include "reference/philox.h"

static void round_once(uint32_t counter[4], const uint32_t key[2])
{
    uint64_t a = (uint64_t)0xD2511F53u * counter[0];
    uint64_t b = (uint64_t)0xCD9E8D57u * counter[2];
    uint32_t next[4] = {(uint32_t)(b >> 32) ^ counter[1] ^ key[0], (uint32_t)b,
                        (uint32_t)(a >> 32) ^ counter[3] ^ key[1], (uint32_t)a};
    for (int word = 0; word < 4; word++)
        counter[word] = next[word];
}

void fb_ref_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
    uint32_t k[2] = {key[0], key[1]};
    for (int word = 0; word < 4; word++)
        out[word] = counter[word];
    for (int round = 0; round < 10; round++) {
        round_once(out, k);
        k[0] += 0x9E3779B9u;
        k[1] += 0xBB67AE85u;
    }
}

bool fb_ref_philox_keep(const struct fb_problem *problem, int64_t entry)
{
    uint64_t block = (uint64_t)entry / 4;
    uint64_t seed = problem->dropout_seed, offset = problem->dropout_offset;
    uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    uint32_t counter[4] = {(uint32_t)offset, (uint32_t)(offset >> 32), (uint32_t)block,
                           (uint32_t)(block >> 32)};
    uint32_t out[4];
    fb_ref_philox(counter, key, out);
    uint64_t threshold = (uint64_t)(problem->dropout * 4294967296.0 + 0.5);
    return out[entry % 4] >= threshold;
}

void fb_ref_philox_mask(const struct fb_problem *problem, uint8_t *keep)
{
    int64_t entries = problem->b * problem->h * problem->nq * problem->nk;
    for (int64_t entry = 0; entry < entries; entry++)
        keep[entry] = fb_ref_philox_keep(problem, entry);
}
