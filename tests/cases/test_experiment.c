/* SPDX-License-Identifier: BSD-3-Clause
 *
 * test_experiment.c: experiment files, good and bad.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/registry.h"
#include "core/status.h"
#include "cases/experiment.h"
#include "tests/tap.h"

static const struct fb_variant one = {.name = "cpu-one"}, two = {.name = "cpu-two"};
static const struct fb_variant *const table[] = {&one, &two, NULL};
const struct fb_variant *const *const fb_registry_tables[] = {table, NULL};

static char path[] = "/tmp/flashback-experiment-XXXXXX";

static enum fb_status read_text(struct fb_experiment *e, const char *text,
                                const char *const *settings, size_t count)
{
    FILE *file = fopen(path, "w");
    fputs(text, file);
    fclose(file);
    fb_status_clear();
    return fb_experiment_read(e, path, settings, count);
}

static void test_grid(void)
{
    struct fb_experiment e;
    enum fb_status status = read_text(&e,
                                      "# a comment\n[experiment]\nquestion = how\n  fast?\n"
                                      "[grid]\nvariant = cpu-one cpu-two\nn = 16 32\n"
                                      "d = 8\ndtype = fp32 bf16 ; two\nmask = full causal\n"
                                      "[grid more]\nvariant = cpu-one\n"
                                      "problem = b=2,n=8,d=8 n=16,d=8,dtype=fp32\n"
                                      "[measure]\nwhat = speed error\nmax_samples = 7\n",
                                      NULL, 0);
    tap_is_int(status, FB_OK, "a good file is read: %s", fb_status_message());
    if (status != FB_OK)
        return;
    tap_is(e.question, "how fast?", "a text goes on over lines: '%s'", e.question);
    tap_ok(e.measure.what == (FB_WHAT_SPEED | FB_WHAT_ERROR) && e.measure.max_samples == 7,
           "the measure block is taken");
    tap_ok(e.case_count == 2 * 2 * 2 * 2 + 1, "%zu cases: the product, and one that is new",
           e.case_count);
    tap_ok(!strcmp(e.cases[0].variant, "cpu-one") && !strcmp(e.cases[1].variant, "cpu-two") &&
               fb_case_same_group(&e.cases[0], &e.cases[1]),
           "variants vary fastest");
    tap_ok(!fb_case_same_group(&e.cases[1], &e.cases[2]), "another problem is another group");
    fb_experiment_free(&e);
}

static void test_settings(void)
{
    static const char *const settings[] = {"n=64", "max_samples=9", "variant=cpu-two"};
    struct fb_experiment e;
    enum fb_status status =
        read_text(&e, "[grid]\nvariant = cpu-one\nd = 8\nn = 16 32\n", settings, 3);
    tap_ok(status == FB_OK && e.case_count == 1 && !strcmp(e.cases[0].variant, "cpu-two") &&
               strstr(e.cases[0].problem, "nq=64") && e.measure.max_samples == 9,
           "--set replaces: %s", fb_status_message());
    if (status == FB_OK)
        fb_experiment_free(&e);
}

/* A key of [measure] that comes again. */
static void test_measure(void)
{
    struct fb_experiment e;
    enum fb_status status = read_text(&e,
                                      "[grid]\nvariant = cpu-one\nd = 8\nn = 16\n"
                                      "[measure]\nwhat = speed\n  error\nwarmup = 3\n"
                                      "what = determinism\n",
                                      NULL, 0);
    tap_ok(status == FB_OK &&
               e.measure.what == (FB_WHAT_SPEED | FB_WHAT_ERROR | FB_WHAT_DETERMINISM),
           "'what' goes on over lines: %s", fb_status_message());
    if (status == FB_OK)
        fb_experiment_free(&e);
    status = read_text(&e, "[grid]\nvariant = cpu-one\nd = 8\nn = 16\n[measure]\nwhat = error\n",
                       (const char *const[]){"what=memory", "warmup=4"}, 2);
    tap_ok(status == FB_OK && e.measure.what == FB_WHAT_MEMORY && e.measure.warmup == 4,
           "--set replaces it: %s", fb_status_message());
    if (status == FB_OK)
        fb_experiment_free(&e);
}

static void expect_usage(const char *what, const char *text, const char *in_message)
{
    struct fb_experiment e;
    enum fb_status status = read_text(&e, text, NULL, 0);
    tap_ok(status == FB_USAGE && strstr(fb_status_message(), in_message), "%s: %s", what,
           fb_status_message());
    if (status == FB_OK)
        fb_experiment_free(&e);
}

static void test_bad(void)
{
    expect_usage("a key with a typing error", "[grid]\nvariant = cpu-one\nseqlen = 16\n", ":3: ");
    expect_usage("... names the allowed keys", "[grid]\nvarient = cpu-one\n", "allowed: variant");
    expect_usage("an unknown section", "[gird]\nvariant = cpu-one\n", ":2: ");
    expect_usage("a line that is none", "[grid]\nvariant = cpu-one\nwhat is this\n", ":3: ");
    expect_usage("a key of [measure] that comes twice",
                 "[measure]\nwarmup = 1\nmode = burst\nwarmup = 2\n",
                 ":4: warmup is given twice, in line 2 too");
    expect_usage("one before a key that is refused", "[grid]\nwhat is this\nseqlen = 3\n",
                 ":2: expected '[section]'");
    expect_usage("an unknown variant", "[grid]\nvariant = cpu-three\n",
                 "unknown variant 'cpu-three'");
    expect_usage("no variant", "[grid]\nn = 16\n", ":1: [grid] names no variant");
    expect_usage("no grid", "[measure]\nwarmup = 2\n", "no [grid]");
    expect_usage("a bad value", "[grid]\nvariant = cpu-one\nd = 300\n", "300");
    expect_usage("a bad dtype", "[grid]\nvariant = cpu-one\ndtype = fp8\n", "fp8");
    expect_usage("a bad count", "[measure]\nmax_samples = many\n", ":2: max_samples=many");
    expect_usage("limits that cross",
                 "[grid]\nvariant = cpu-one\n[measure]\nmin_samples = 50\n"
                 "max_samples = 5\n",
                 "below min_samples");
    char wide[300];
    memset(wide, 'x', sizeof wide - 1);
    wide[sizeof wide - 1] = '\0';
    expect_usage("a line that inih would split", wide, "line of 299 bytes");
}

/* Each value stands in a line of its own; the faulty one is named, whatever it clashes with. */
static void test_lines(void)
{
#define GRID "# one\n[grid]\nvariant = cpu-one\n"
    expect_usage("a variant", GRID "variant = cpu-two\n  cpu-three\n", ":5: unknown variant");
    expect_usage("a size", GRID "n = 16\nd = 8\nd = 300\nh = 2\n", ":6: d=300");
    expect_usage("a dtype", GRID "dtype = fp32\n  fp8\nn = 16\nd = 8\n", ":5: dtype=fp8");
    expect_usage("a count of threads", GRID "n = 16\nd = 8\nthreads = 1 many\n", ":6: threads=");
    expect_usage("numerics", GRID "n = 16\nd = 8\nnumerics = dq=fp12\n", ":6: dq=fp12");
    expect_usage("a recipe", GRID "n = 16\nd = 8\nrecipe = randn@1\n  normal@1\n", ":7: recipe");
    expect_usage("heads", GRID "n = 16\nd = 8\nhk = 4\nh = 8 6\n", ":7: h=6");
    expect_usage("lengths", GRID "d = 8\nn = 16\nqlens = 3+5\nb = 2\n", ":5: nq=16");
    expect_usage("a whole problem", GRID "problem = n=8,d=8\nproblem = n=8,d=8,seqlen=3\n",
                 ":5: 'seqlen=3' is not an item");
    expect_usage("an item twice", GRID "problem = n=8,d=8\nd = 8\n", ":5: d is given twice");
    expect_usage("a size that is missing", GRID "n = 16\n", ":2: d is missing");
    expect_usage("a grid of millions",
                 GRID "d = 8\nn = 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20\n"
                      "b = 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20\n"
                      "h = 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20\n"
                      "dv = 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20\n",
                 ":2: [grid] has");
#undef GRID
}

static void test_twice(void)
{
    static const char grid[] = "variant = cpu-one\nn = 16\nd = 8\n";
    char text[300];
    snprintf(text, sizeof text, "[grid]\n%s[grid]\n%s", grid, grid);
    expect_usage("a grid without a name, twice", text, ":5: [grid] is there already, in line 1");
    snprintf(text, sizeof text, "[grid a]\n%s[measure]\nwarmup = 2\n  [grid a]\n", grid);
    expect_usage("a heading that is indented goes on with the value", text, ":7: ");
    snprintf(text, sizeof text, "[grid a]\n%s[grid]\n%s\n[measure]\n[grid a]\n%s", grid, grid,
             grid);
    expect_usage("one with a name, twice", text, ":11: [grid a] is there already, in line 1");
}

/* The file is not blamed for a line of the command. */
static void test_bad_setting(void)
{
    static const char *const settings[] = {"d=300"};
    struct fb_experiment e;
    enum fb_status status = read_text(&e, "[grid]\nvariant = cpu-one\nn = 8\nd = 8\n", settings, 1);
    tap_ok(status == FB_USAGE && strstr(fb_status_message(), ": d=300") &&
               !strstr(fb_status_message(), ":4:"),
           "--set of a bad value: %s", fb_status_message());
}

static void test_missing(void)
{
    struct fb_experiment e;
    fb_status_clear();
    tap_ok(fb_experiment_read(&e, "/nowhere/x.ini", NULL, 0) == FB_IO, "no such file: %s",
           fb_status_message());
}

static void test_shards(void)
{
    struct fb_experiment e;
    int counts[4] = {0};
    enum fb_status status = read_text(&e,
                                      "[grid]\nvariant = cpu-one cpu-two\n"
                                      "n = 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20\n"
                                      "d = 8 16 32 64 128\n",
                                      NULL, 0);
    if (!tap_ok(status == FB_OK && e.case_count == 200, "a grid of 200: %s", fb_status_message()))
        return;
    for (size_t i = 0; i < e.case_count; i++)
        counts[fb_case_shard(&e.cases[i], 4)]++;
    bool even = true;
    for (int i = 0; i < 4; i++)
        even &= counts[i] > 25 && counts[i] < 80;
    tap_ok(even, "shards of 200 cases: %d %d %d %d", counts[0], counts[1], counts[2], counts[3]);
    int pairs = 0, parted = 0;
    for (size_t i = 0; i < e.case_count; i++)
        for (size_t k = 0; k < i; k++)
            if (fb_case_same_group(&e.cases[i], &e.cases[k])) {
                pairs++;
                parted += fb_case_shard(&e.cases[i], 4) != fb_case_shard(&e.cases[k], 4);
            }
    tap_ok(pairs == 100 && !parted, "no group of %d is parted (%d)", pairs, parted);
    fb_experiment_free(&e);
}

int main(void)
{
    int file = mkstemp(path);
    if (file < 0)
        return 99;
    close(file);
    test_grid();
    test_settings();
    test_measure();
    test_bad();
    test_lines();
    test_twice();
    test_bad_setting();
    test_missing();
    test_shards();
    unlink(path);
    return tap_done();
}
