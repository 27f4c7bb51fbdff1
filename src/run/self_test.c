/* SPDX-License-Identifier: BSD-3-Clause */
#include "run/self_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/backends.h"
#include "core/log.h"
#include "core/status.h"
#include "run/self_test_table.h"
#include "run/supervisor.h"
#include "verify/self_test/self_test.h"

struct self_test {
    struct fb_case *cases; /* [fb_expectation_count] */
    size_t *todo;
    size_t done, wrong, skipped;
    size_t judge_lines, judge_wrong;
};

/* ---- Traps --------------------------------------------------------------------------------------
 */

static bool is_met(const struct fb_expectation *want, const struct fb_record *record)
{
    if (!want->fails)
        return record->outcome == FB_OUTCOME_PASS;
    return (record->outcome == FB_OUTCOME_FAIL || record->outcome == FB_OUTCOME_CRASHED) &&
           strstr(fb_text(record->reason), want->said);
}

/* A trap that runs on a device, where there is none. */
static bool is_skipped(const struct fb_record *record)
{
    return record->outcome == FB_OUTCOME_REFUSED && !fb_backend_is_host(fb_text(record->backend));
}

static enum fb_status take_record(void *user, size_t position, const struct fb_record *record)
{
    struct self_test *test = user;
    const struct fb_expectation *want = &fb_expectations[position];
    bool met = is_met(want, record);
    test->done++;
    if (is_skipped(record)) {
        test->skipped++;
        printf("skip  %-21s %s\n", want->variant, fb_text(record->reason));
        return FB_OK;
    }
    test->wrong += !met;
    printf("%-5s %-21s must %s  %s  %s%s%s%s\n", met ? "ok" : "WRONG", want->variant,
           want->fails ? "fail" : "pass", fb_text(record->problem), fb_text(record->recipe),
           met && !want->fails ? "" : ": ", met ? "" : fb_record_word(record),
           met && !want->fails ? "" : fb_text(record->reason));
    fflush(stdout);
    return FB_OK;
}

static enum fb_status make_cases(struct self_test *test)
{
    test->cases = calloc(fb_expectation_count, sizeof *test->cases);
    test->todo = calloc(fb_expectation_count, sizeof *test->todo);
    if (!test->cases || !test->todo)
        return fb_fail(FB_NO_MEMORY, "no memory for %zu cases", fb_expectation_count);
    for (size_t i = 0; i < fb_expectation_count; i++) {
        const struct fb_expectation *want = &fb_expectations[i];
        FB_TRY(fb_case_parse(&test->cases[i], want->variant, want->problem, "", want->recipe,
                             want->threads));
        test->todo[i] = i;
    }
    return FB_OK;
}

static enum fb_status try_traps(struct self_test *test, int *signal)
{
    struct fb_measure measure;
    fb_measure_default(&measure);
    measure.what = FB_WHAT_ERROR | FB_WHAT_DETERMINISM;
    measure.det_runs = 5;
    const struct fb_supervision supervision = {.cases = test->cases,
                                               .todo = test->todo,
                                               .todo_count = fb_expectation_count,
                                               .measure = &measure,
                                               .take = take_record,
                                               .user = test};
    return fb_supervise(&supervision, signal);
}

/* ---- The judge ----------------------------------------------------------------------------------
 */

static void take_line(void *user, const char *judge, const char *fault, bool as_expected,
                      const char *reason)
{
    struct self_test *test = user;
    test->judge_lines++;
    test->judge_wrong += !as_expected;
    printf("%-5s %-29s %s%s%s\n", as_expected ? "ok" : "WRONG", judge, fault, *reason ? ": " : "",
           reason);
}

enum fb_status fb_self_test(bool quiet, int *exit_status)
{
    struct self_test test = {0};
    const struct fb_self_test_report report = {.line = take_line, .user = &test};
    int signal = 0;
    enum fb_status status;
    fb_log_quiet(quiet);
    FB_TRY_OUT(make_cases(&test));
    puts("Traps: each makes one classic mistake.");
    FB_TRY_OUT(try_traps(&test, &signal));
    if (!signal) {
        puts("\nThe judge on faults it must find, and judges with a fault of their own, which must "
             "miss them.");
        FB_TRY_OUT(fb_judge_self_test(&report));
    }
    printf("\nself-test: %zu of %zu cases of traps and %zu of %zu trials of the judge as they "
           "must be\n",
           test.done - test.skipped - test.wrong, fb_expectation_count - test.skipped,
           test.judge_lines - test.judge_wrong, test.judge_lines);
    *exit_status =
        signal ? 128 + signal
        : test.wrong || test.judge_wrong || test.done != fb_expectation_count || !test.judge_lines
            ? 1
            : 0;
out:
    for (size_t i = 0; test.cases && i < fb_expectation_count; i++)
        fb_case_free(&test.cases[i]);
    free(test.cases);
    free(test.todo);
    return status;
}
