/* SPDX-License-Identifier: BSD-3-Clause
 *
 * group.c: the worker's side of a group: inputs and reference once, then stage 1 (check) for each
 * case, then stage 2 (timing) for those that passed, in turn.
 */
#include "work/group.h"

#include <stdlib.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include "core/host/clock.h"
#include "core/numerics.h"
#include "core/problem.h"
#include "core/offer.h"
#include "core/host/processors.h"
#include "core/registry.h"
#include "core/status.h"
#include "data/footprint.h"
#include "measure/machine.h"
#include "measure/memory_host.h"
#include "work/bench.h"
#include "work/check_case.h"
#include "work/fill.h"
#include "work/time_cases.h"
#include "cases/case.h"
#include "cases/describe.h"

struct work {
    const struct fb_group *group;
    struct fb_shared shared;
    struct fb_case *cases; /* [group->count] */
    struct fb_filled filled;
    struct fb_bench *benches; /* [group->count] */
    struct fb_bench **timeable;
    size_t timeable_count;
};

/* ---- Setting up ---------------------------------------------------------------------------------
 */

static enum fb_status stamp(struct fb_record *record)
{
    char text[FB_CLOCK_STAMP];
    fb_clock_stamp(text);
    return fb_text_set(&record->started, "%s", text);
}

static enum fb_status make_bench(struct work *work, size_t index)
{
    const struct fb_group *group = work->group;
    struct fb_bench *bench = &work->benches[index];
    struct fb_case *one = &work->cases[index];
    bench->shared = &work->shared;
    bench->index = index;
    bench->begun = fb_clock_now();
    fb_record_init(&bench->record);
    FB_TRY(fb_registry_get(group->variant[index], &bench->variant));
    FB_TRY(fb_case_parse(one, group->variant[index], group->problem, group->numerics[index],
                         group->recipe, group->threads));
    bench->numerics = one->terms.numerics;
    fb_beacon_set(work->shared.channel->beacon, (int)index, FB_STAGE_PREPARE); /* asks for tiles */
    enum fb_status status = fb_describe_case(&bench->record, one);
    fb_beacon_set(work->shared.channel->beacon, (int)index, FB_STAGE_REFERENCE);
    FB_TRY(status);
    return stamp(&bench->record);
}

static enum fb_status open_shared(struct work *work)
{
    struct fb_shared *shared = &work->shared;
    const struct fb_buffers_options plain = {0};
    struct fb_plan plan;
    FB_TRY(fb_plan_make(&plan, &shared->problem, &fb_numerics_standard, NULL));
    FB_TRY(fb_plan_check(&plan, &fb_memory_host, 0));
    FB_TRY(fb_buffers_make(&shared->inputs, &fb_memory_host, &shared->problem,
                           &fb_numerics_standard, &plain));
    FB_TRY(fb_fill(&work->cases[0].terms.source, &shared->inputs.args, &work->filled));
    shared->keep = work->filled.keep;
    return FB_OK;
}

static enum fb_status open_judge(struct work *work)
{
    const struct fb_judge_options options = {
        .keep = work->shared.keep, .seed = 1, .exact = work->filled.exact};
    if (work->shared.judge)
        return FB_OK;
    return fb_judge_open(&work->shared.judge, &work->shared.inputs.args, &options);
}

/* ---- Working ------------------------------------------------------------------------------------
 */

/* A run that is not asked for errors still checks: nothing is timed that has not passed. */
static enum fb_status check_bench(struct work *work, struct fb_bench *bench)
{
    bool timeable = false;
    enum fb_status status = fb_bench_ask(bench);
    if (status == FB_OK && work->shared.keep && !fb_offer_has_term(bench->variant, FB_TERM_KEEP))
        status =
            fb_fail(FB_REFUSED, "keep: not offered, and this data has a dropout mask of its own");
    if (status == FB_OK) {
        FB_TRY(open_judge(work));
        status = fb_bench_check(bench, &timeable);
    }
    if (status != FB_OK)
        return fb_bench_fail(bench, status);
    if (timeable && work->group->timed && (work->group->measure.what & FB_WHAT_SPEED)) {
        work->timeable[work->timeable_count++] = bench;
        return FB_OK;
    }
    return fb_bench_send(bench);
}

static enum fb_status work_benches(struct work *work)
{
    for (size_t i = 0; i < work->group->count; i++) {
        FB_TRY(check_bench(work, &work->benches[i]));
        if (work->benches[i].torn)
            return fb_channel_leave(work->shared.channel);
    }
    return work->timeable_count ? fb_benches_time(work->timeable, work->timeable_count) : FB_OK;
}

/* Nothing is to be found out but whether the cases are taken. */
static enum fb_status ask_benches(struct work *work)
{
    for (size_t i = 0; i < work->group->count; i++) {
        struct fb_bench *bench = &work->benches[i];
        enum fb_status status = fb_bench_ask(bench);
        FB_TRY(status == FB_OK ? fb_bench_finish(bench, FB_OUTCOME_UNJUDGED, "")
                               : fb_bench_fail(bench, status));
    }
    return FB_OK;
}

/* Inputs of many GiB are not made for cases that are refused. */
static bool any_is_taken(struct work *work)
{
    for (size_t i = 0; i < work->group->count; i++) {
        if (fb_bench_ask(&work->benches[i]) == FB_OK)
            return true;
        fb_status_clear();
    }
    return false;
}

/* No memory for them, a value that the type cannot hold, a file that is damaged or has gone. */
static bool is_input_failure(enum fb_status status)
{
    return status == FB_REFUSED || status == FB_NO_MEMORY || status == FB_IO ||
           status == FB_CORRUPT || status == FB_USAGE;
}

/* The inputs or the reference could not be had: that is the fate of every case left, and no fault
 * of a variant. */
static enum fb_status refuse_rest(struct work *work, bool unread)
{
    char reason[FB_UNREAD_ROOM];
    snprintf(reason, sizeof reason, "%s", fb_status_message());
    fb_status_clear();
    for (size_t i = 0; i < work->group->count; i++)
        if (!work->benches[i].sent)
            FB_TRY(fb_bench_finish(&work->benches[i], FB_OUTCOME_REFUSED, reason));
    return unread ? fb_channel_unread(work->shared.channel, reason) : FB_OK;
}

enum fb_status fb_group_work(struct fb_channel *channel, const struct fb_group *group)
{
    struct work work = {.group = group, .shared = {.channel = channel, .measure = &group->measure}};
    enum fb_status status;
    work.shared.threads = group->threads ? group->threads : fb_processors();
#ifdef _OPENMP
    omp_set_num_threads(work.shared.threads); /* variants plan their workspace for as many */
#endif
    work.cases = calloc(group->count, sizeof *work.cases);
    work.benches = calloc(group->count, sizeof *work.benches);
    work.timeable = calloc(group->count, sizeof *work.timeable);
    if (!work.cases || !work.benches || !work.timeable) {
        status = fb_fail(FB_NO_MEMORY, "no memory for %zu cases", group->count);
        goto out;
    }
    for (size_t i = 0; i < group->count; i++)
        FB_TRY_OUT(make_bench(&work, i));
    FB_TRY_OUT(fb_problem_copy(&work.shared.problem, &work.cases[0].terms.problem));
    bool work_them = group->measure.what && any_is_taken(&work);
    status = work_them ? open_shared(&work) : FB_OK;
    const bool unread = status == FB_IO || status == FB_CORRUPT; /* the file of inputs */
    if (status == FB_OK)
        status = work_them ? work_benches(&work) : ask_benches(&work);
    if (is_input_failure(status))
        FB_TRY_OUT(refuse_rest(&work, unread));
out:
    for (size_t i = 0; work.benches && i < group->count; i++) {
        fb_bench_close(&work.benches[i]);
        fb_record_free(&work.benches[i].record);
        fb_case_free(&work.cases[i]);
    }
    fb_judge_close(work.shared.judge);
    fb_buffers_free(&work.shared.inputs);
    free(work.filled.keep);
    fb_problem_free(&work.shared.problem);
    free(work.cases);
    free(work.benches);
    free(work.timeable);
    return status;
}
