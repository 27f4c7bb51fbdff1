/* SPDX-License-Identifier: BSD-3-Clause */
#include "run/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/log.h"
#include "core/numerics.h"
#include "core/problem.h"
#include "core/registry.h"
#include "core/status.h"
#include "run/provenance.h"
#include "run/ask.h"
#include "run/plugins.h"
#include "run/progress.h"
#include "cases/protocol.h"
#include "run/supervisor.h"
#include "run/tally.h"
#include "store/journal.h"

/* The HDF5 file is written anew at most this often while cases are running: it takes some
 * milliseconds of a core that the measured variant may be using. */
static const long long publish_every_ns = 10000000000LL;

struct run {
    const struct fb_run_options *options;
    struct fb_experiment experiment;
    char *output, *journal_path;
    struct fb_run facts;
    struct fb_journal *journal;
    struct fb_results done; /* what a resumed journal holds */
    size_t *todo;
    size_t todo_count, selected;
    struct fb_tally tally;
    struct fb_progress progress;
    struct fb_plugins plugins;
    bool dirty;
    long long published;
};

/* ---- Which cases -------------------------------------------------------------------------------
 */

static bool is_selected(const struct run *run, const struct fb_case *one)
{
    const struct fb_run_options *o = run->options;
    bool named = !o->variant_count;
    for (size_t i = 0; i < o->variant_count; i++)
        named |= !strcmp(o->variants[i], one->variant);
    return named && (o->shards <= 1 || fb_case_shard(one, o->shards) == o->shard - 1);
}

static enum fb_status check_names(const struct run *run)
{
    const struct fb_run_options *o = run->options;
    for (size_t i = 0; i < o->variant_count; i++) {
        bool found = false;
        FB_TRY(fb_registry_require(o->variants[i]));
        for (size_t c = 0; c < run->experiment.case_count && !found; c++)
            found = !strcmp(run->experiment.cases[c].variant, o->variants[i]);
        if (!found)
            return fb_fail(FB_USAGE,
                           "variant '%s' is not in the grid of '%s'; add it with --set "
                           "variant=...",
                           o->variants[i], o->experiment);
    }
    return FB_OK;
}

/* Refused, and perhaps for a file of inputs that could not be read then: it is asked again. */
static bool is_open(const struct fb_record *before)
{
    return !before || (before->outcome == FB_OUTCOME_REFUSED &&
                       fb_source_kind_of(fb_text(before->recipe)) == FB_SOURCE_FILE);
}

static enum fb_status select_cases(struct run *run)
{
    const struct fb_experiment *e = &run->experiment;
    run->todo = malloc((e->case_count + 1) * sizeof *run->todo);
    if (!run->todo)
        return fb_fail(FB_NO_MEMORY, "no memory for %zu cases", e->case_count);
    for (size_t i = 0; i < e->case_count; i++) {
        if (!is_selected(run, &e->cases[i]))
            continue;
        const struct fb_record *before = fb_results_find(&run->done, e->cases[i].key);
        run->selected++;
        if (is_open(before))
            run->todo[run->todo_count++] = i;
        else
            fb_tally_add(&run->tally, before);
    }
    return FB_OK;
}

/* ---- Dry run -----------------------------------------------------------------------------------
 */

static enum fb_status print_grid(const struct run *run, int *exit_status)
{
    enum fb_status status;
    int signal = 0;
    char **reasons = calloc(run->todo_count + 1, sizeof *reasons);
    if (!reasons)
        return fb_fail(FB_NO_MEMORY, "no memory for %zu reasons", run->todo_count);
    FB_TRY_OUT(fb_ask_why_not(&run->plugins, run->experiment.cases, run->todo, run->todo_count,
                              reasons, &signal));
    for (size_t i = 0; i < run->todo_count && reasons[i]; i++)
        printf("%-8s %s%s%s\n", *reasons[i] ? "refused" : "run",
               run->experiment.cases[run->todo[i]].key, *reasons[i] ? "  # " : "", reasons[i]);
    *exit_status = signal ? 128 + signal : *exit_status;
out:
    for (size_t i = 0; i < run->todo_count; i++)
        free(reasons[i]);
    free(reasons);
    return status;
}

/* ---- Output ------------------------------------------------------------------------------------
 */

static enum fb_status name_outputs(struct run *run)
{
    const char *given = run->options->output;
    if (given && !*given)
        return fb_fail(FB_USAGE, "run: --output needs the name of a file");
    if (given ? !(run->output = strdup(given))
              : asprintf(&run->output, "%s.h5", run->experiment.name) < 0)
        return fb_fail(FB_NO_MEMORY, "no memory for a file name");
    run->journal_path = fb_journal_path(run->output);
    return run->journal_path ? FB_OK : fb_fail(FB_NO_MEMORY, "no memory for a file name");
}

/* A results file without its journal would be lost at the first save. */
static enum fb_status check_output(const struct run *run)
{
    const struct fb_run_options *o = run->options;
    FB_TRY(fb_results_check_target(run->output));
    if (o->replace || access(run->journal_path, F_OK) == 0 || access(run->output, F_OK) != 0)
        return FB_OK;
    return fb_fail(FB_USAGE,
                   "'%s' exists and has no journal '%s' to go on with; choose another -o, "
                   "or --replace",
                   run->output, run->journal_path);
}

static enum fb_status open_output(struct run *run)
{
    const struct fb_run_options *o = run->options;
    enum fb_journal_mode mode = o->replace  ? FB_JOURNAL_REPLACE
                                : o->resume ? FB_JOURNAL_RESUME
                                            : FB_JOURNAL_CREATE;
    FB_TRY(check_output(run));
    FB_TRY(fb_facts_collect(&run->facts, o, &run->experiment));
    if (*fb_run_get(&run->facts, "warning"))
        fb_log_note("%s", fb_run_get(&run->facts, "warning"));
    FB_TRY(fb_journal_open(&run->journal, run->journal_path, &run->facts, mode, &run->done));
    if (run->done.damage)
        fb_log_warn("%s", run->done.damage);
    return FB_OK;
}

static enum fb_status publish(struct run *run)
{
    run->dirty = false;
    run->published = fb_clock_ns();
    return fb_journal_publish(run->journal_path, run->output);
}

static enum fb_status take_record(void *user, size_t position, const struct fb_record *record)
{
    struct run *run = user;
    (void)position;
    FB_TRY(fb_journal_append(run->journal, record));
    fb_tally_add(&run->tally, record);
    fb_progress_step(&run->progress, record);
    run->dirty = true;
    return FB_OK;
}

static enum fb_status refresh(void *user)
{
    struct run *run = user;
    if (!run->dirty || fb_clock_ns() - run->published < publish_every_ns)
        return FB_OK;
    return publish(run);
}

/* ---- The run -----------------------------------------------------------------------------------
 */

static enum fb_status supervise(struct run *run, int *exit_status)
{
    const struct fb_supervision supervision = {.cases = run->experiment.cases,
                                               .todo = run->todo,
                                               .todo_count = run->todo_count,
                                               .measure = &run->experiment.measure,
                                               .timed = true,
                                               .plugins = run->plugins.paths,
                                               .plugin_count = run->plugins.count,
                                               .take = take_record,
                                               .tick = refresh,
                                               .user = run,
                                               .unread = run->tally.unread,
                                               .ended = run->tally.ended};
    int signal = 0;
    fb_progress_start(&run->progress, run->todo_count, run->options->quiet);
    run->published = fb_clock_ns();
    enum fb_status status = fb_supervise(&supervision, &signal);
    fb_progress_end(&run->progress);
    if (status != FB_OK) {
        publish(run); /* what is in the journal is worth having; the first error is reported */
        return status;
    }
    FB_TRY(publish(run));
    *exit_status = signal ? 128 + signal : fb_registry_lacks() ? 1 : fb_tally_exit(&run->tally);
    return FB_OK;
}

static void say_result(const struct run *run, int exit_status)
{
    char counts[200];
    fb_tally_print(&run->tally, counts, sizeof counts);
    if (exit_status > 128)
        fb_log_note("interrupted; %zu of %zu cases are in %s; --resume goes on",
                    run->selected - run->todo_count + run->progress.done, run->selected,
                    run->output);
    else
        fb_log_note("%zu case%s: %s -> %s", run->selected, run->selected == 1 ? "" : "s", counts,
                    run->output);
}

enum fb_status fb_run_experiment(const struct fb_run_options *options, int *exit_status)
{
    struct run run = {.options = options};
    enum fb_status status;
    fb_results_init(&run.done);
    fb_run_init(&run.facts);
    fb_log_quiet(options->quiet);
    FB_TRY_OUT(fb_facts_check_environment());
    FB_TRY_OUT(fb_plugins_ask(&run.plugins, options->plugins, options->plugin_count));
    FB_TRY_OUT(fb_experiment_read(&run.experiment, options->experiment, options->settings,
                                  options->setting_count));
    FB_TRY_OUT(check_names(&run));
    FB_TRY_OUT(fb_tally_init(&run.tally, options->variants, options->variant_count));
    if (options->dry_run) {
        FB_TRY_OUT(select_cases(&run));
        FB_TRY_OUT(print_grid(&run, exit_status));
        goto out;
    }
    FB_TRY_OUT(name_outputs(&run));
    FB_TRY_OUT(open_output(&run));
    FB_TRY_OUT(select_cases(&run));
    FB_TRY_OUT(supervise(&run, exit_status));
    say_result(&run, *exit_status);
out:
    fb_journal_close(run.journal);
    fb_results_free(&run.done);
    fb_run_free(&run.facts);
    fb_tally_free(&run.tally);
    fb_experiment_free(&run.experiment);
    fb_plugins_free(&run.plugins);
    free(run.todo);
    free(run.output);
    free(run.journal_path);
    return status;
}
