/* SPDX-License-Identifier: BSD-3-Clause
 *
 * sample.c: rows worth looking at. A fault that depends on the position in a tile or a sequence
 * (a mask off by one, a tail tile, a lost tile) shows at edges; one that does not shows anywhere.
 */
#include "verify/sample.h"

#include <stdlib.h>
#include <string.h>

#include "core/problem.h"
#include "core/status.h"

/* Multiply-adds of the score and dp GEMMs: a few seconds on two cores. */
#define ROWS_COST 4.0e9 /* for rows of o and dq */
#define KEYS_COST 8.0e9 /* for forward passes on behalf of dk and dv */
#define ALL_BELOW 64    /* sequences up to here are taken whole */
#define RANDOM_ROWS 16
#define MOST_ROWS 64 /* of one sequence: the edges and the random rows fit */

static double gemm_cost(const struct fb_problem *problem)
{
    return (double)fb_problem_pairs(problem) * (double)(problem->d + problem->dv);
}

static uint64_t next_random(uint64_t *state)
{
    *state += 0x9E3779B97F4A7C15u;
    uint64_t x = *state;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int64_t sort_unique(int64_t *list, int64_t count)
{
    int64_t kept = 0;
    qsort(list, (size_t)count, sizeof *list, by_value);
    for (int64_t n = 0; n < count; n++)
        if (kept == 0 || list[kept - 1] != list[n])
            list[kept++] = list[n];
    return kept;
}

/* Rows of one sequence of n, into at most MOST_ROWS places. */
static int64_t rows_of(int64_t n, uint64_t *state, int64_t *rows)
{
    int64_t count = 0;
    if (n <= ALL_BELOW) {
        for (int64_t row = 0; row < n; row++)
            rows[count++] = row;
        return count;
    }
    const int64_t edges[] = {0, 64, 128, n / 128 * 64, (n - 1) / 64 * 64, (n - 1) / 128 * 128, n};
    for (size_t e = 0; e < sizeof edges / sizeof *edges; e++)
        for (int64_t row = edges[e] - 2; row <= edges[e] + 1; row++)
            if (row >= 0 && row < n)
                rows[count++] = row;
    for (int r = 0; r < RANDOM_ROWS; r++)
        rows[count++] = (int64_t)(next_random(state) % (uint64_t)n);
    return sort_unique(rows, count);
}

/* count of total things: the first, the last, and random ones between. */
static int64_t choose(int64_t total, int64_t count, uint64_t *state, int64_t *chosen)
{
    if (count >= total) {
        for (int64_t n = 0; n < total; n++)
            chosen[n] = n;
        return total;
    }
    for (int64_t n = 0; n < count; n++)
        chosen[n] = n == 0 ? total - 1 : (int64_t)(next_random(state) % (uint64_t)total);
    if (count > 1)
        chosen[1] = 0;
    return sort_unique(chosen, count);
}

/* One side: rows of some of the heads of some of the sequences. heads: how many (sequence, head)
 * pairs to take. */
static enum fb_status side_rows(const struct fb_problem *p, const struct fb_tensor *t,
                                const int64_t *cu, int64_t heads, uint64_t *state, int64_t **list,
                                int64_t *count)
{
    int64_t total = p->b * t->shape[1];
    int64_t *chosen = malloc((size_t)(total + 1) * sizeof *chosen);
    int64_t picked = heads < total ? heads : total;
    *list = malloc((size_t)(picked * MOST_ROWS + 1) * sizeof **list);
    *count = 0;
    if (!chosen || !*list) {
        free(chosen);
        return fb_fail(FB_NO_MEMORY, "no memory to sample %lld rows",
                       (long long)picked * MOST_ROWS);
    }
    picked = choose(total, picked, state, chosen);
    for (int64_t c = 0; c < picked; c++) {
        int64_t sequence = chosen[c] / t->shape[1], head = chosen[c] % t->shape[1];
        int64_t first = cu ? cu[sequence] : 0;
        int64_t n = cu ? cu[sequence + 1] - first : t->shape[2];
        int64_t flat = ((cu ? 0 : sequence) * t->shape[1] + head) * t->shape[2] + first;
        int64_t *rows = *list + *count, found = rows_of(n, state, rows);
        for (int64_t r = 0; r < found; r++)
            rows[r] += flat;
        *count += found;
    }
    *count = sort_unique(*list, *count);
    free(chosen);
    return FB_OK;
}

static int64_t affordable(double budget, double each)
{
    double count = each > 0 ? budget / each : 1e15;
    return count < 1 ? 1 : count > 1e15 ? (int64_t)1e15 : (int64_t)count;
}

enum fb_status fb_sample_rows(struct fb_sample *sample, const struct fb_args *inputs, uint64_t seed)
{
    const struct fb_problem *p = inputs->problem;
    double widths = (double)(p->d + p->dv);
    uint64_t state = seed ^ 0x666C617368u;
    memset(sample, 0, sizeof *sample);
    int64_t q_heads = affordable(ROWS_COST, 3.0 * MOST_ROWS * (double)p->nk * widths);
    int64_t k_heads = affordable(KEYS_COST, gemm_cost(p) / (double)(p->b * p->hk));
    enum fb_status status =
        side_rows(p, &inputs->q, inputs->cu_qlens, q_heads, &state, &sample->q, &sample->q_count);
    if (status == FB_OK)
        status = side_rows(p, &inputs->k, inputs->cu_klens, k_heads, &state, &sample->k,
                           &sample->k_count);
    if (status != FB_OK)
        fb_sample_free(sample);
    return status;
}

void fb_sample_free(struct fb_sample *sample)
{
    free(sample->q);
    free(sample->k);
    memset(sample, 0, sizeof *sample);
}
