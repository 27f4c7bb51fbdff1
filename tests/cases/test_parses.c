/* SPDX-License-Identifier: BSD-3-Clause
 *
 * test_parses.c: the texts of a case are read once a case and process: where the grid is multiplied
 * out, described, taken into a check and sent, and where a worker works it. The linker leads every
 * call of the three readers here (-Wl,--wrap), to be counted.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases/describe.h"
#include "cases/experiment.h"
#include "cases/protocol.h"
#include "cases/set.h"
#include "core/numerics.h"
#include "core/problem.h"
#include "core/recipe/recipe.h"
#include "core/status.h"
#include "tests/tap.h"
#include "work/group.h"

static int problems, numerics_texts, recipes;

enum fb_status __real_fb_problem_parse(struct fb_problem *problem, const char *text);
enum fb_status __wrap_fb_problem_parse(struct fb_problem *problem, const char *text);
enum fb_status __real_fb_numerics_parse(struct fb_numerics *numerics, const char *text);
enum fb_status __wrap_fb_numerics_parse(struct fb_numerics *numerics, const char *text);
enum fb_status __real_fb_recipe_parse(struct fb_recipe *recipe, const char *text);
enum fb_status __wrap_fb_recipe_parse(struct fb_recipe *recipe, const char *text);

enum fb_status __wrap_fb_problem_parse(struct fb_problem *problem, const char *text)
{
    problems++;
    return __real_fb_problem_parse(problem, text);
}

enum fb_status __wrap_fb_numerics_parse(struct fb_numerics *numerics, const char *text)
{
    numerics_texts++;
    return __real_fb_numerics_parse(numerics, text);
}

enum fb_status __wrap_fb_recipe_parse(struct fb_recipe *recipe, const char *text)
{
    recipes++;
    return __real_fb_recipe_parse(recipe, text);
}

/* At most one reading a case, of each of its texts. */
static void check_counts(size_t cases, const char *where)
{
    tap_ok(problems > 0 && problems <= (int)cases, "%s: %zu cases, %d problems read", where, cases,
           problems);
    tap_ok(numerics_texts <= (int)cases && recipes <= (int)cases,
           "%s: %d numerics and %d recipes read", where, numerics_texts, recipes);
    problems = numerics_texts = recipes = 0;
}

static void describe_all(const struct fb_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct fb_record record;
        fb_record_init(&record);
        tap_ok(fb_describe_case(&record, &cases[i]) == FB_OK && record.nq == 24, "%s is described",
               cases[i].key);
        fb_record_free(&record);
    }
}

/* The supervisor's side: reads an experiment as a run does, and as a check does. */
static void test_supervisor(const char *path)
{
    struct fb_experiment experiment;
    const struct fb_check_options options = {.experiment = path, .numerics = ""};
    struct fb_check_set set;
    tap_ok(fb_experiment_read(&experiment, path, NULL, 0) == FB_OK && experiment.case_count == 8,
           "%zu cases are read %s", experiment.case_count, fb_status_message());
    describe_all(experiment.cases, experiment.case_count);
    check_counts(experiment.case_count, "run");
    fb_experiment_free(&experiment);
    tap_ok(fb_check_set_make(&set, &options) == FB_OK && set.count == 8, "a check takes them %s",
           fb_status_message());
    check_counts(set.count, "check");
    fb_check_set_free(&set);
}

/* The worker's: one group of three, from its orders to its records. */
static void test_worker(void)
{
    static const char *const variants[] = {"cpu-split", "cpu-naive", "cpu-atomic"};
    static const size_t todo[] = {0, 1, 2};
    struct fb_case cases[3];
    struct fb_measure measure;
    struct fb_group group;
    struct fb_beacon beacon = {0};
    FILE *orders = tmpfile(), *records = tmpfile();
    struct fb_channel channel = {.records = records, .beacon = &beacon};
    bool end;
    fb_measure_default(&measure);
    measure.what = FB_WHAT_ERROR;
    for (int i = 0; i < 3; i++)
        fb_case_parse(&cases[i], variants[i], "n=24,d=8", "", "randn@1", 0);
    check_counts(3, "as texts");
    fb_group_write(orders, cases, todo, 3, &measure, false);
    rewind(orders);
    tap_ok(fb_group_read(orders, &group, &end) == FB_OK && !end, "a group goes over");
    tap_ok(fb_group_work(&channel, &group) == FB_OK && ftell(records) > 0, "and is worked %s",
           fb_status_message());
    check_counts(3, "worker");
    fb_group_free(&group);
    for (int i = 0; i < 3; i++)
        fb_case_free(&cases[i]);
    fclose(orders);
    fclose(records);
}

int main(void)
{
    char path[] = "/tmp/flashback-parses-XXXXXX";
    const int fd = mkstemp(path);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    if (!tap_ok(file != NULL, "a file to write to"))
        return tap_done();
    fputs("[experiment]\nquestion = ?\n[grid]\nvariant = cpu-split cpu-naive\nn = 24\nd = 8 16\n"
          "recipe = randn@1 mean@2\n",
          file);
    fclose(file);
    test_supervisor(path);
    test_worker();
    remove(path);
    return tap_done();
}
