/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The GEMM micro-kernel and the packing of every instruction set this machine has, against plain
 * loops: all sizes around the micro-tile and the panel, both storages of a, both of b, adding and
 * not. Inputs are small integers, so that every sum is exact and the comparison is of bits.
 */
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/hot/ops.h"
#include "tests/tap.h"

enum { MOST = 80, LD = 96 };

static float a[MOST * LD], b[MOST * LD], panels[LD * MOST], c[MOST * LD], want[MOST * LD];

static float small(void)
{
    static unsigned seed = 1;
    seed = seed * 1664525u + 1013904223u;
    return (float)(int)(seed >> 24) / 16.0f - 8.0f;
}

/* Sentinels everywhere; then what the loops give for the m x n that count. */
static void expect(const struct fb_cpu_gemm *g)
{
    for (int i = 0; i < MOST * LD; i++)
        c[i] = want[i] = small();
    for (int64_t i = 0; i < g->m; i++)
        for (int64_t j = 0; j < g->n; j++) {
            float sum = g->add ? want[i * LD + j] : 0;
            for (int64_t k = 0; k < g->k; k++)
                sum += (g->columns ? a[k * LD + i] : a[i * LD + k]) * b[k * LD + j];
            want[i * LD + j] = sum;
        }
}

/* Columns from n to the next whole vector may be anything; all else must be as expected. */
static int wrong(const struct fb_cpu_gemm *g)
{
    int count = 0;
    for (int64_t i = 0; i < MOST; i++)
        for (int64_t j = 0; j < LD; j++) {
            const int64_t padded = fb_cpu_round_up(g->n, FB_CPU_ALIGN);
            if (i < g->m && j >= g->n && j < padded)
                continue;
            count += c[i * LD + j] != want[i * LD + j];
        }
    return count;
}

static void transpose_b(int64_t k, int64_t n, const struct fb_cpu_ops *ops)
{
    static float rows[LD * LD];
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < k; i++)
            rows[j * LD + i] = b[i * LD + j];
    ops->pack(panels, rows, LD, n, k);
}

static int wrong_gemms(const struct fb_cpu_ops *ops, int64_t m, int64_t n, int64_t k)
{
    int count = 0;
    for (int mode = 0; mode < 8; mode++) {
        const int packed = mode & 4;
        struct fb_cpu_gemm g = {.m = m,
                                .n = n,
                                .k = k,
                                .a = a,
                                .b = packed ? panels : b,
                                .c = c,
                                .lda = LD,
                                .ldb = packed ? FB_CPU_PANEL : LD,
                                .panel = packed ? FB_CPU_PANEL * k : FB_CPU_PANEL,
                                .ldc = LD,
                                .columns = mode & 1,
                                .add = mode & 2};
        if (packed)
            transpose_b(k, n, ops);
        expect(&g);
        ops->gemm(&g);
        count += wrong(&g);
    }
    return count;
}

static void test_isa(const struct fb_cpu_ops *ops)
{
    static const int64_t sizes[] = {1,  2,  3,  5,  7,  8,  9,  13, 15,
                                    16, 17, 31, 32, 33, 48, 63, 64, 65};
    const int count = sizeof sizes / sizeof *sizes;
    int bad = 0;
    for (int m = 0; m < count; m++)
        for (int n = 0; n < count; n++)
            for (int k = 0; k < count; k += 3 + m % 4)
                bad += wrong_gemms(ops, sizes[m], sizes[n], sizes[k]);
    tap_ok(bad == 0, "%s: %d wrong elements in GEMMs of 1 to 65", ops->isa, bad);
    bad = wrong_gemms(ops, 0, 16, 16) + wrong_gemms(ops, 16, 0, 16) + wrong_gemms(ops, 16, 16, 0);
    tap_ok(bad == 0, "%s: GEMMs with a size of 0", ops->isa);
}

static void test_pack(const struct fb_cpu_ops *ops)
{
    int bad = 0;
    for (int64_t n = 1; n <= 65; n += 7)
        for (int64_t k = 1; k <= 40; k += 3) {
            memset(panels, 0xff, sizeof panels);
            ops->pack(panels, a, LD, n, k);
            for (int64_t j = 0; j < fb_cpu_round_up(n, FB_CPU_PANEL); j++)
                for (int64_t i = 0; i < k; i++) {
                    const float got = panels[j / FB_CPU_PANEL * FB_CPU_PANEL * k +
                                             i * FB_CPU_PANEL + j % FB_CPU_PANEL];
                    bad += got != (j < n ? a[j * LD + i] : 0.0f);
                }
        }
    tap_ok(bad == 0, "%s: panels are the transpose, filled with zeros", ops->isa);
}

int main(void)
{
    static const char *const names[] = {"generic", "v2", "v3", "v4"};
    for (int i = 0; i < MOST * LD; i++) {
        a[i] = small();
        b[i] = small();
    }
    for (int i = 0; i < 4; i++) {
        setenv("FLASHBACK_ISA", names[i], 1);
        const struct fb_cpu_ops *ops = fb_cpu_ops();
        if (!ops) {
            tap_skip("%s is not on this machine or not in this build", names[i]);
            continue;
        }
        tap_ok(strcmp(ops->isa, names[i]) == 0, "FLASHBACK_ISA=%s chooses it", names[i]);
        test_isa(ops);
        test_pack(ops);
    }
    return tap_done();
}
