/* SPDX-License-Identifier: BSD-3-Clause */
#include "run/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/cost.h"
#include "core/log.h"
#include "core/registry.h"
#include "core/status.h"
#include "run/check_report.h"
#include "cases/set.h"
#include "run/provenance.h"
#include "run/plugins.h"
#include "run/supervisor.h"
#include "run/tally.h"
#include "verify/golden.h"

struct check {
    const struct fb_check_options *options;
    struct fb_check_set set;
    struct fb_check_report *report;
    struct fb_tally tally;
    size_t reference_failures, judged;
    struct fb_plugins plugins;
};

static enum fb_status take_record(void *user, size_t position, const struct fb_record *record)
{
    struct check *check = user;
    (void)position;
    fb_tally_add(&check->tally, record);
    check->judged++;
    return fb_check_report_row(check->report, record);
}

/* Without an experiment there is no grid whose keys could be set. */
static enum fb_status apply_settings(const struct fb_check_options *options,
                                     struct fb_measure *measure)
{
    fb_measure_default(measure);
    for (size_t i = 0; i < options->setting_count; i++) {
        const char *setting = options->settings[i], *equals = strchr(setting, '=');
        char key[64];
        if (!equals || equals == setting || (size_t)(equals - setting) >= sizeof key)
            return fb_fail(FB_USAGE, "--set %s: expected KEY=VALUE", setting);
        snprintf(key, sizeof key, "%.*s", (int)(equals - setting), setting);
        FB_TRY(fb_measure_set(measure, key, equals + 1));
    }
    return FB_OK;
}

static enum fb_status measure_for_check(const struct check *check, bool costly,
                                        struct fb_measure *measure)
{
    if (check->options->experiment)
        *measure = check->set.measure;
    else
        FB_TRY(apply_settings(check->options, measure));
    measure->what = FB_WHAT_ERROR | FB_WHAT_MEMORY | FB_WHAT_DETERMINISM;
    if (check->options->runs)
        measure->det_runs = check->options->runs;
    else if (check->options->is_long)
        measure->det_runs = 2;
    else if (check->set.is_default && costly)
        measure->det_runs = 2;
    return FB_OK;
}

/* The cases that are costly, or those that are not. */
static enum fb_status supervise(struct check *check, bool costly, int *signal)
{
    struct fb_measure measure;
    enum fb_status status = FB_OK;
    size_t *todo = malloc((check->set.count + 1) * sizeof *todo), count = 0;
    if (!todo)
        return fb_fail(FB_NO_MEMORY, "no memory for %zu cases", check->set.count);
    for (size_t i = 0; i < check->set.count; i++)
        if (fb_cost_is_long(&check->set.cases[i].terms.problem) == costly)
            todo[count++] = i;
    FB_TRY_OUT(measure_for_check(check, costly, &measure));
    const struct fb_supervision supervision = {.cases = check->set.cases,
                                               .todo = todo,
                                               .todo_count = count,
                                               .measure = &measure,
                                               .plugins = check->plugins.paths,
                                               .plugin_count = check->plugins.count,
                                               .take = take_record,
                                               .user = check,
                                               .unread = check->tally.unread,
                                               .ended = check->tally.ended};
    FB_TRY_OUT(count ? fb_supervise(&supervision, signal) : FB_OK);
out:
    free(todo);
    return status;
}

static void report_reference(void *user, const char *group, double ratio, bool passed)
{
    struct check *check = user;
    check->reference_failures += !passed;
    fb_check_report_reference(check->report, group, ratio, passed);
}

static enum fb_status supervise_all(struct check *check, int *signal)
{
    FB_TRY(supervise(check, false, signal));
    return *signal ? FB_OK : supervise(check, true, signal);
}

static void say_result(const struct check *check, bool complete)
{
    char counts[200];
    fb_tally_print(&check->tally, counts, sizeof counts);
    if (!complete)
        printf("interrupted after %zu of ", check->judged);
    printf("%zu case%s: %s\n", check->set.count, check->set.count == 1 ? "" : "s", counts);
    if (check->reference_failures)
        printf("the reference itself failed on %zu golden groups\n", check->reference_failures);
}

enum fb_status fb_check_cases(const struct fb_check_options *options, int *exit_status)
{
    struct check check = {.options = options};
    struct fb_measure measure;
    enum fb_status status;
    int signal = 0;
    fb_log_quiet(options->quiet);
    FB_TRY_OUT(fb_facts_check_environment());
    FB_TRY_OUT(fb_plugins_ask(&check.plugins, options->plugins, options->plugin_count));
    FB_TRY_OUT(fb_check_set_make(&check.set, options));
    FB_TRY_OUT(measure_for_check(&check, false, &measure)); /* told before anything is judged */
    FB_TRY_OUT(fb_tally_init(&check.tally, options->variants, options->variant_count));
    FB_TRY_OUT(fb_check_report_open(&check.report, options));
    if (options->golden)
        FB_TRY_OUT(fb_golden_check_reference(options->golden, report_reference, &check));
    setenv("OMP_WAIT_POLICY", "passive", 0); /* of the workers: nothing is timed, others may run */
    const enum fb_status ended = supervise_all(&check, &signal);
    const bool complete = ended == FB_OK && !signal;
    fb_check_report_end(check.report);
    say_result(&check, complete);
    /* What was judged until the harness failed is worth having; the first error is reported. */
    FB_TRY_OUT(fb_check_report_save(check.report, &check.tally, complete));
    FB_TRY_OUT(ended);
    *exit_status = signal                                            ? 128 + signal
                   : check.reference_failures || fb_registry_lacks() ? 1
                                                                     : fb_tally_exit(&check.tally);
out:
    fb_check_report_close(check.report);
    fb_tally_free(&check.tally);
    fb_check_set_free(&check.set);
    fb_plugins_free(&check.plugins);
    return status;
}
