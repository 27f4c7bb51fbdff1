/* SPDX-License-Identifier: BSD-3-Clause */
#include "run/supervisor.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "core/numbers.h"
#include "core/status.h"
#include "cases/describe.h"
#include "run/process.h"
#include "run/stopwatch.h"

struct supervisor {
    const struct fb_supervision *order;
    struct fb_process process;
    bool *done;    /* [todo_count] */
    size_t *group; /* places in todo of the cases the worker has, in the order it counts them */
    size_t group_count;
    size_t *positions; /* the same as positions in cases */
    int signals;       /* signalfd of SIGINT, SIGTERM, SIGHUP, SIGCHLD */
    int stop;          /* the signal that ends the run */
    bool left;         /* the worker ends itself: the rest of the group needs another */
    bool garbled;      /* something came over the worker's channel that is not the worker's */
    long long ticked;
    struct fb_stopwatches watches; /* of the group's cases */
};

/* What ended the wait for a group. */
enum ending { GROUP_DONE, WORKER_DIED, DEADLINE, GARBLED, STOPPED };

/* ---- Signals -----------------------------------------------------------------------------------
 */

static bool is_ignored(int signal)
{
    struct sigaction now;
    return !sigaction(signal, NULL, &now) && now.sa_handler == SIG_IGN;
}

/* A run under nohup outlives its terminal: signalfd would tell of a SIGHUP that is ignored, too. */
static enum fb_status watch_signals(struct supervisor *s, sigset_t *before)
{
    sigset_t watched;
    sigemptyset(&watched);
    sigaddset(&watched, SIGINT);
    sigaddset(&watched, SIGTERM);
    if (!is_ignored(SIGHUP))
        sigaddset(&watched, SIGHUP);
    sigaddset(&watched, SIGCHLD);
    sigprocmask(SIG_BLOCK, &watched, before);
    s->signals = signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
    return s->signals >= 0 ? FB_OK
                           : fb_fail(FB_IO, "cannot watch for signals: %s", strerror(errno));
}

static void read_signals(struct supervisor *s)
{
    struct signalfd_siginfo info;
    while (read(s->signals, &info, sizeof info) == (ssize_t)sizeof info)
        if (info.ssi_signo != SIGCHLD && !s->stop)
            s->stop = (int)info.ssi_signo;
}

/* ---- Records -----------------------------------------------------------------------------------
 */

static enum fb_status deliver(struct supervisor *s, size_t in_group, const struct fb_record *record)
{
    size_t place = s->group[in_group];
    s->done[place] = true;
    return s->order->take(s->order->user, s->order->todo[place], record);
}

static enum fb_status deliver_end(struct supervisor *s, size_t in_group, enum fb_outcome outcome,
                                  const char *reason)
{
    struct fb_record record;
    enum fb_status status;
    fb_record_init(&record);
    FB_TRY_OUT(fb_describe_case(&record, &s->order->cases[s->positions[in_group]]));
    FB_TRY_OUT(fb_describe_end(&record, outcome, reason));
    FB_TRY_OUT(deliver(s, in_group, &record));
out:
    fb_record_free(&record);
    return status;
}

/* "INDEX JSON" */
static enum fb_status take_record(struct supervisor *s, char *text)
{
    struct fb_record record;
    enum fb_status status;
    int64_t index;
    char *rest = text;
    const char *number = strsep(&rest, " ");
    if (!rest || !fb_number_int(number, &index) || index < 0 || (size_t)index >= s->group_count ||
        s->done[s->group[index]]) {
        s->garbled = true;
        return FB_OK;
    }
    fb_record_init(&record);
    status = fb_record_from_json(&record, rest);
    if (status != FB_OK || strcmp(fb_text(record.key), s->order->cases[s->positions[index]].key)) {
        fb_status_clear();
        s->garbled = true;
        status = FB_OK;
        goto out;
    }
    fb_stopwatches_compare(&s->watches, (size_t)index, &record);
    FB_TRY_OUT(deliver(s, (size_t)index, &record));
out:
    fb_record_free(&record);
    return status;
}

static size_t count_answered(const struct supervisor *s)
{
    size_t answered = 0;
    for (size_t i = 0; i < s->group_count; i++)
        answered += s->done[s->group[i]];
    return answered;
}

/* The worker's last word but one, once every case has its record: from a call that is under way it
 * is not the worker's. The first one is kept. */
static void note_unread(struct supervisor *s, const char *why)
{
    char *to = s->order->unread;
    s->garbled = count_answered(s) < s->group_count;
    if (to && !*to && !s->garbled)
        snprintf(to, FB_UNREAD_ROOM, "%s", why);
}

/* A worker is done when each case has its record, and leaves after one at the earliest; else it was
 * not the worker who said so. */
static bool is_answered(const struct supervisor *s)
{
    const size_t answered = count_answered(s);
    return s->left ? answered > 0 : answered == s->group_count;
}

static enum fb_status take_line(struct supervisor *s, char *line, bool *done)
{
    char *rest;
    const enum fb_word word = fb_word_take(line, &rest);
    switch (word) {
    case FB_WORD_DONE:
    case FB_WORD_LEAVE:
        s->left = word == FB_WORD_LEAVE;
        s->garbled = !is_answered(s);
        *done = !s->garbled;
        return FB_OK;
    case FB_WORD_UNREAD:
        note_unread(s, rest);
        return FB_OK;
    case FB_WORD_RECORD:
        return take_record(s, rest);
    case FB_WORD_BEGIN:
    case FB_WORD_END:
        return fb_stopwatches_take(&s->watches, rest, word == FB_WORD_BEGIN, &s->garbled);
    default:
        s->garbled = true;
        return FB_OK;
    }
}

/* Takes all lines that are there. */
static enum fb_status take_lines(struct supervisor *s, bool *done, bool *closed)
{
    char *line;
    do {
        FB_TRY(fb_process_line(&s->process, &line, closed));
        if (line)
            FB_TRY(take_line(s, line, done));
    } while (line && !s->garbled);
    return FB_OK;
}

/* ---- One group ----------------------------------------------------------------------------------
 */

static bool deadline_passed(const struct supervisor *s)
{
    const struct fb_beacon *beacon = s->process.beacon;
    int stage = atomic_load(&beacon->stage);
    double patience = s->order->measure->deadline * 1e9;
    if (stage == FB_STAGE_IDLE || (atomic_load(&beacon->index) < 0 && stage != FB_STAGE_LOAD))
        return false;
    if (stage == FB_STAGE_REFERENCE) /* the harness's own work after a call: long, not endless */
        patience *= 20;
    return (double)(fb_clock_ns() - atomic_load(&beacon->since)) > patience;
}

static enum fb_status tick(struct supervisor *s)
{
    long long now = fb_clock_ns();
    if (!s->order->tick || now - s->ticked < 1000000000LL)
        return FB_OK;
    s->ticked = now;
    return s->order->tick(s->order->user);
}

static enum fb_status await_group(struct supervisor *s, enum ending *ending)
{
    for (;;) {
        bool done = false, closed = false, alive = fb_process_alive(&s->process);
        FB_TRY(take_lines(s, &done, &closed));
        read_signals(s);
        if (s->garbled) {
            *ending = GARBLED;
            return FB_OK;
        }
        if (s->stop || done || closed || !alive || deadline_passed(s)) {
            *ending = s->stop            ? STOPPED
                      : done             ? GROUP_DONE
                      : closed || !alive ? WORKER_DIED
                                         : DEADLINE;
            return FB_OK;
        }
        FB_TRY(tick(s));
        struct pollfd watched[] = {{.fd = s->process.records, .events = POLLIN},
                                   {.fd = s->signals, .events = POLLIN}};
        double limit = s->order->measure->deadline * 1000 / 4;
        poll(watched, 2, limit < 200 ? (int)limit + 1 : 200);
    }
}

/* The next case without a record, and all later ones with the same inputs. */
static void pick_group(struct supervisor *s)
{
    const struct fb_supervision *order = s->order;
    const struct fb_case *first = NULL;
    s->group_count = 0;
    for (size_t i = 0; i < order->todo_count; i++) {
        const struct fb_case *one = &order->cases[order->todo[i]];
        if (s->done[i] || (first && !fb_case_same_group(first, one)))
            continue;
        if (!first)
            first = one;
        s->positions[s->group_count] = order->todo[i];
        s->group[s->group_count++] = i;
    }
}

/* A check works on one case after the other: whose record is the next to come wrote what came
 * before it, wherever the worker is by now. */
static int first_unanswered(const struct supervisor *s)
{
    size_t i = 0;
    while (i < s->group_count && s->done[s->group[i]])
        i++;
    return i < s->group_count ? (int)i : -1;
}

/* Blames the case that the beacon names: the one whose call is under way, or was the last before
 * the harness died. Without one, the death is nobody's, and all that were waiting go with it, since
 * they would meet it again. */
static enum fb_status bury(struct supervisor *s, enum ending ending)
{
    char how[128], reason[256];
    int index = atomic_load(&s->process.beacon->index);
    index = index < (int)s->group_count ? index : -1; /* overwritten */
    if (ending == GARBLED && !s->order->timed)
        index = first_unanswered(s);
    const enum fb_stage at = (enum fb_stage)atomic_load(&s->process.beacon->stage);
    const char *stage = fb_stage_name(at);
    const char *after = index >= 0 && at == FB_STAGE_REFERENCE ? "after its call, " : "";
    const enum fb_outcome outcome = ending == DEADLINE ? FB_OUTCOME_HUNG : FB_OUTCOME_CRASHED;
    fb_process_stop(&s->process, ending != WORKER_DIED, how, sizeof how);
    if (ending == GARBLED)
        snprintf(reason, sizeof reason, "wrote into the worker's own channel, in %s", stage);
    else if (ending == DEADLINE)
        snprintf(reason, sizeof reason, "no answer within the deadline of %g s in %s",
                 s->order->measure->deadline, stage);
    else
        snprintf(reason, sizeof reason, "%s %sin %s", how, after, stage);
    for (size_t i = 0; i < s->group_count; i++)
        if (!s->done[s->group[i]] && (index < 0 || (size_t)index == i))
            FB_TRY(deliver_end(s, i, outcome, reason));
    return FB_OK;
}

static enum fb_status run_group(struct supervisor *s)
{
    enum ending ending = WORKER_DIED;
    s->garbled = s->left = false;
    fb_stopwatches_reset(&s->watches, s->group_count);
    if (!s->process.pid)
        FB_TRY(fb_process_start(&s->process, s->order->plugins, s->order->plugin_count, false));
    atomic_store(&s->process.beacon->index, -1);
    if (fb_group_write(s->process.orders, s->order->cases, s->positions, s->group_count,
                       s->order->measure, s->order->timed) == FB_OK)
        FB_TRY(await_group(s, &ending));
    fb_status_clear(); /* a worker that died before it had its orders */
    if (ending == STOPPED || (ending == GROUP_DONE && s->left))
        fb_process_stop(&s->process, true, NULL, 0);
    else if (ending != GROUP_DONE)
        FB_TRY(bury(s, ending));
    return FB_OK;
}

/* A worker that says it is done without a record for each case breaks the protocol. */
static enum fb_status check_group(const struct supervisor *s)
{
    for (size_t i = 0; i < s->group_count; i++)
        if (s->done[s->group[i]])
            return FB_OK;
    return fb_fail(FB_INTERNAL, "a worker gave no record for any of its cases");
}

static enum fb_status run_all(struct supervisor *s)
{
    while (!s->stop) {
        pick_group(s);
        if (!s->group_count)
            return FB_OK;
        FB_TRY(run_group(s));
        if (!s->stop)
            FB_TRY(check_group(s));
    }
    return FB_OK;
}

/* After its last word a worker only leaves, and what a plug-in has it do on the way may fail. */
static void end_worker(struct supervisor *s, bool kill_it)
{
    char how[128];
    const bool has_left = fb_process_stop(&s->process, kill_it, how, sizeof how);
    const bool idle = !kill_it && !s->stop;
    if (idle && !has_left && s->order->plugin_count && s->order->ended)
        snprintf(s->order->ended, FB_UNREAD_ROOM,
                 "an exit handler or destructor of a plug-in, after the last case: %s", how);
}

enum fb_status fb_supervise(const struct fb_supervision *supervision, int *signal_out)
{
    struct supervisor s = {.order = supervision, .signals = -1, .process.records = -1};
    size_t count = supervision->todo_count + 1;
    enum fb_status status;
    sigset_t before;
    struct sigaction ignore = {.sa_handler = SIG_IGN}, pipe_before;

    *signal_out = 0;
    sigprocmask(SIG_SETMASK, NULL, &before);
    sigaction(SIGPIPE, &ignore, &pipe_before); /* a worker's death is seen at its record pipe */
    s.done = calloc(count, sizeof *s.done);
    s.group = calloc(count, sizeof *s.group);
    s.positions = calloc(count, sizeof *s.positions);
    if (!s.done || !s.group || !s.positions || !fb_stopwatches_make(&s.watches, count)) {
        status = fb_fail(FB_NO_MEMORY, "no memory for %zu cases", count);
        goto out;
    }
    FB_TRY_OUT(watch_signals(&s, &before));
    FB_TRY_OUT(run_all(&s));
out:
    end_worker(&s, status != FB_OK);
    if (s.signals >= 0)
        close(s.signals);
    if (!s.stop)
        sigprocmask(SIG_SETMASK, &before, NULL);
    sigaction(SIGPIPE, &pipe_before, NULL);
    fb_stopwatches_free(&s.watches);
    free(s.done);
    free(s.group);
    free(s.positions);
    *signal_out = s.stop;
    return status;
}
