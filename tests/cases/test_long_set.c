/* SPDX-License-Identifier: BSD-3-Clause
 *
 * test_long_set.c: the set of `check --long` is what it claims to be: every pair of values of every
 * two factors stands together in a problem, every (nq, nk) of the grid among them. The values and
 * the rules which pairs cannot be are written down here once more, and not taken from the program
 * that made the set.
 */
#include <stdlib.h>
#include <string.h>

#include "cases/experiment.h"
#include "core/problem.h"
#include "core/status.h"
#include "tests/tap.h"

/* The lecture's two shapes stand before the set. */
enum { BEFORE = 2, COUNT = 768 };

static const struct fb_case *set; /* [COUNT] */

/* ---- Factors ------------------------------------------------------------------------------------
 */

enum factor { SHAPE, HEAD, TERM, MASK, HEADS, LAYOUT, RECIPE, DTYPE, BATCH, FACTORS };

/* What the test suites of FlashAttention-2, -3 and -4 run, squares first. */
static const int64_t shapes[][2] = {
    {1, 1},       {2, 2},       {3, 3},       {5, 5},       {17, 17},    {97, 97},   {128, 128},
    {200, 200},   {256, 256},   {257, 257},   {384, 384},   {512, 512},  {768, 768}, {1024, 1024},
    {1025, 1025}, {2048, 2048}, {4096, 4096}, {4224, 4224}, {1, 3},      {2, 1},     {1, 147},
    {511, 1},     {64, 1},      {3, 513},     {64, 32},     {64, 128},   {128, 192}, {113, 128},
    {255, 256},   {307, 256},   {384, 256},   {640, 128},   {1024, 128}, {1, 239},   {239, 1},
    {3, 799},     {799, 3},     {127, 512},   {512, 127},   {127, 513},  {513, 127}, {113, 203},
    {203, 113},   {128, 217},   {217, 128},   {113, 211},   {211, 113},  {108, 256}, {256, 108},
    {256, 512},   {512, 256},   {1023, 1024}, {1024, 1023}};
static const int64_t heads_d[][2] = {
    {8, 8},     {16, 16},   {32, 32},   {40, 40},   {59, 59},   {64, 64},   {80, 80},   {96, 96},
    {111, 111}, {128, 128}, {160, 160}, {192, 192}, {224, 224}, {256, 256}, {192, 128}, {64, 256}};
static const int64_t heads_h[][2] = {{2, 2}, {6, 2}, {6, 3}, {6, 1}};
static const char *const recipes[] = {"randn@1", "mean@1", "deep-negative@1", "outliers@1"};

enum { SHAPES = sizeof shapes / sizeof *shapes };

/* terms: none, softcap 15 and 50, alibi, dropout, sink; masks: full, causal, a window with two
 * sides, with a left one, with a causal edge; layouts and dtypes of flashback.h; batch: one, two,
 * packed. */
static const int levels[FACTORS] = {SHAPES, 16, 6, 5, 4, 4, 4, 3, 3};
static const char *const names[FACTORS] = {"shape",  "head",   "term",  "mask", "heads",
                                           "layout", "recipe", "dtype", "batch"};

static int find(const int64_t (*list)[2], int count, int64_t a, int64_t b)
{
    for (int i = 0; i < count; i++)
        if (list[i][0] == a && list[i][1] == b)
            return i;
    return -1;
}

static int term_of(const struct fb_problem *p)
{
    return p->softcap == 15            ? 1
           : p->softcap == 50          ? 2
           : p->alibi == FB_ALIBI_AUTO ? 3
           : p->dropout == 0.17        ? 4
           : p->sink                   ? 5
                                       : 0;
}

static int mask_of(const struct fb_problem *p)
{
    bool left = p->window_left != FB_OPEN, right = p->window_right != FB_OPEN;
    if (p->mask == FB_MASK_CAUSAL)
        return left ? 4 : 1;
    return left && right ? 2 : left ? 3 : 0;
}

static int recipe_of(const char *text)
{
    for (int i = 0; i < 4; i++)
        if (!strcmp(text, recipes[i]))
            return i;
    return -1;
}

static bool classify(int n, int level[FACTORS])
{
    const struct fb_problem p = set[n].terms.problem;
    int64_t nq = p.qlens ? p.qlens[0] : p.nq, nk = p.klens ? p.klens[0] : p.nk;
    level[SHAPE] = find(shapes, SHAPES, nq, nk);
    level[HEAD] = find(heads_d, 16, p.d, p.dv);
    level[TERM] = term_of(&p);
    level[MASK] = mask_of(&p);
    level[HEADS] = find(heads_h, 4, p.h, p.hk);
    level[LAYOUT] = (int)p.layout;
    level[RECIPE] = recipe_of(set[n].recipe);
    level[DTYPE] = (int)p.dtype;
    level[BATCH] = p.qlens ? 2 : p.b == 2 ? 1 : 0;
    for (int f = 0; f < FACTORS; f++)
        if (level[f] < 0 || level[f] >= levels[f])
            return tap_ok(false, "%s, %s: its %s is none of the grid's", set[n].problem,
                          set[n].recipe, names[f]);
    return true;
}

/* ---- Rules --------------------------------------------------------------------------------------
 */

/* Of FlashAttention-3's tests. */
static bool is_usual(const int64_t head[2])
{
    return (head[0] == 192 && head[1] == 128) ||
           (head[0] == head[1] &&
            (head[0] == 64 || head[0] == 96 || head[0] == 128 || head[0] == 256));
}

/* Pairs that cannot be or are left out: q, k and v in one block have one length and width; long
 * problems come unbatched in the usual sizes, the longest with two heads of 64 or 128. f < g. */
static bool forbidden(enum factor f, int x, enum factor g, int y)
{
    const int64_t *shape = f == SHAPE ? shapes[x] : NULL;
    int64_t area = shape ? shape[0] * shape[1] : 0;
    if (g == LAYOUT && y == FB_LAYOUT_PACKED_QKV)
        return (shape && shape[0] != shape[1]) || (f == HEAD && heads_d[x][0] != heads_d[x][1]);
    if (f == LAYOUT && x == FB_LAYOUT_PACKED_QKV)
        return g == BATCH && y == 2;
    if (area >= 1 << 19 && g == BATCH)
        return y != 0;
    if (area >= 1 << 22 && g == HEADS)
        return y != 0;
    if (area >= 1 << 19 && g == HEADS)
        return y > 1;
    if (area >= 1 << 22 && g == HEAD)
        return heads_d[y][0] != heads_d[y][1] || (heads_d[y][0] != 64 && heads_d[y][0] != 128);
    if (area >= 1 << 19 && g == HEAD)
        return !is_usual(heads_d[y]);
    return false;
}

/* Long problems are never packed, so that whatever needs both cannot be had either. */
static bool stands_together(int (*level)[FACTORS], enum factor f, int x, enum factor g, int y)
{
    for (int n = 0; n < COUNT; n++)
        if (level[n][f] == x && level[n][g] == y)
            return true;
    return false;
}

static void test_pairs(int (*level)[FACTORS])
{
    for (enum factor f = 0; f < FACTORS; f++)
        for (enum factor g = f + 1; g < FACTORS; g++) {
            int missing = 0, wanted = 0, wrong = 0;
            for (int x = 0; x < levels[f]; x++)
                for (int y = 0; y < levels[g]; y++) {
                    bool there = stands_together(level, f, x, g, y), not = forbidden(f, x, g, y);
                    wanted += !not ;
                    missing += !not &&!there;
                    wrong += not &&there;
                }
            tap_ok(!missing && !wrong, "%s and %s: %d pairs, %d missing, %d that cannot be",
                   names[f], names[g], wanted, missing, wrong);
        }
}

static void test_shapes(int (*level)[FACTORS])
{
    int seen = 0;
    for (int s = 0; s < SHAPES; s++)
        seen += stands_together(level, SHAPE, s, SHAPE, s);
    tap_ok(seen == SHAPES, "%d of %d (nq, nk) are there", seen, SHAPES);
}

static void test_different(void)
{
    int same = 0;
    for (int n = 0; n < COUNT; n++)
        for (int m = 0; m < n; m++)
            same +=
                !strcmp(set[n].problem, set[m].problem) && !strcmp(set[n].recipe, set[m].recipe);
    tap_ok(same == 0, "no problem stands there twice");
}

/* A problem that stood there twice would be one case. */
static size_t count_lines(const char *text)
{
    size_t lines = 0;
    for (const char *line = text; line && *line; line = strchr(line, '\n') + 1)
        lines += !strncmp(line, "problem = ", 10) || !strncmp(line, "    ", 4);
    return lines;
}

int main(void)
{
    static const char *const settings[] = {"variant=null"};
    const char *source = getenv("srcdir");
    struct fb_experiment experiment;
    char path[4096];
    int(*level)[FACTORS] = calloc(COUNT, sizeof *level);
    snprintf(path, sizeof path, "%s/experiments/check-long.ini", source ? source : ".");
    bool all = level && fb_experiment_read(&experiment, path, settings, 1) == FB_OK;
    if (!tap_ok(all, "%s is read %s", path, fb_status_message()))
        return tap_done();
    all = tap_ok(experiment.case_count == BEFORE + COUNT &&
                     count_lines(experiment.text) == experiment.case_count,
                 "%zu problems, each once", experiment.case_count);
    set = experiment.cases + BEFORE;
    for (int n = 0; all && n < COUNT; n++)
        all = classify(n, level[n]);
    tap_ok(all, "all of %d problems are in the language and of the grid", COUNT);
    if (all) {
        test_shapes(level);
        test_pairs(level);
        test_different();
    }
    fb_experiment_free(&experiment);
    free(level);
    return tap_done();
}
