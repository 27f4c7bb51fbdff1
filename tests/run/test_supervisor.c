/* SPDX-License-Identifier: BSD-3-Clause
 *
 * test_supervisor.c: variants that misbehave in every way cost one record each, and nothing else.
 * The test brings its own registry; its workers are this program itself.
 */
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/registry.h"
#include "core/status.h"
#include "run/supervisor.h"
#include "store/columns.h"
#include "tests/tap.h"
#include "work/worker.h"

/* ---- Variants: one that is right for n = 1, and faults around it --------------------------------
 */

static enum fb_status no_sizes(const struct fb_variant *self, const struct fb_problem *p,
                               const struct fb_numerics *n, size_t *saved, size_t *workspace)
{
    (void)self;
    (void)p;
    (void)n;
    *saved = 0;
    *workspace = 64;
    return FB_OK;
}

/* With one key, o = v, lse = scale q.k, dv = dout and dq = dk = 0. */
static enum fb_status one_forward(const struct fb_variant *self, struct fb_context *ctx,
                                  void *state, const struct fb_args *a)
{
    (void)self;
    const float *q = a->q.data, *k = a->k.data;
    double s = 0;
    (void)ctx;
    (void)state;
    memcpy(a->o.data, a->v.data, sizeof(float) * (size_t)a->problem->dv);
    for (int64_t c = 0; c < a->problem->d; c++)
        s += (double)q[c] * k[c];
    *(float *)a->lse.data = (float)(s * a->problem->scale);
    return FB_OK;
}

static enum fb_status one_backward(const struct fb_variant *self, struct fb_context *ctx,
                                   void *state, const struct fb_args *a)
{
    (void)self;
    (void)ctx;
    (void)state;
    memcpy(a->dv.data, a->dout.data, sizeof(float) * (size_t)a->problem->dv);
    memset(a->dq.data, 0, sizeof(float) * (size_t)a->problem->d);
    memset(a->dk.data, 0, sizeof(float) * (size_t)a->problem->d);
    return FB_OK;
}

static enum fb_status crash(const struct fb_variant *self, struct fb_context *ctx, void *state,
                            const struct fb_args *a)
{
    (void)self;
    (void)ctx;
    (void)state;
    (void)a;
    signal(SIGSEGV, SIG_DFL); /* AddressSanitizer would turn it into an exit */
    raise(SIGSEGV);
    return FB_OK;
}

static enum fb_status hang(const struct fb_variant *self, struct fb_context *ctx, void *state,
                           const struct fb_args *a)
{
    (void)self;
    (void)ctx;
    (void)state;
    (void)a;
    for (;;)
        pause();
    return FB_OK;
}

static enum fb_status leave(const struct fb_variant *self, struct fb_context *ctx, void *state,
                            const struct fb_args *a)
{
    (void)self;
    (void)ctx;
    (void)state;
    (void)a;
    _exit(3);
}

static enum fb_status refuse(const struct fb_variant *self, struct fb_context *ctx, void *state,
                             const struct fb_args *a)
{
    (void)self;
    (void)state;
    (void)a;
    ctx->explain(ctx, "the device is %s", "on fire");
    return FB_DEVICE;
}

static enum fb_status scribble(const struct fb_variant *self, struct fb_context *ctx, void *state,
                               const struct fb_args *a)
{
    float *dv = a->dv.data;
    dv[a->problem->dv] = 1; /* one past the end: into the guard */
    return one_backward(self, ctx, state, a);
}

static enum fb_status touch_input(const struct fb_variant *self, struct fb_context *ctx,
                                  void *state, const struct fb_args *a)
{
    *(float *)a->k.data += 1;
    return one_backward(self, ctx, state, a);
}

static enum fb_status forget(const struct fb_variant *self, struct fb_context *ctx, void *state,
                             const struct fb_args *a)
{
    (void)self;
    (void)ctx;
    (void)state;
    memset(a->dq.data, 0, sizeof(float) * (size_t)a->problem->d);
    memset(a->dk.data, 0, sizeof(float) * (size_t)a->problem->d);
    return FB_OK;
}

static enum fb_status drift(const struct fb_variant *self, struct fb_context *ctx, void *state,
                            const struct fb_args *a)
{
    static float step;
    enum fb_status status = one_backward(self, ctx, state, a);
    *(float *)a->dq.data = step += 1e-30f;
    return status;
}

/* Right the first time; afterwards it returns at once and lives on what is there. */
static enum fb_status lazy(const struct fb_variant *self, struct fb_context *ctx, void *state,
                           const struct fb_args *a)
{
    static int calls;
    return calls++ ? FB_OK : one_backward(self, ctx, state, a);
}

/* Far past the guards: the heap's own words go, and the harness dies later, in the next free. */
static enum fb_status tear_heap(const struct fb_variant *self, struct fb_context *ctx, void *state,
                                const struct fb_args *a)
{
    memset((char *)a->workspace - 4096, 0x5a, 3000);
    memset((char *)a->workspace + 64 + 300, 0x5a, 4096);
    return one_backward(self, ctx, state, a);
}

#define VARIANT(id, text, fwd, bwd)                                                                \
    static const struct fb_variant id = {.abi_version = FB_ABI_VERSION,                            \
                                         .struct_size = sizeof(struct fb_variant),                 \
                                         .name = text,                                             \
                                         .summary = text,                                          \
                                         .backend = "cpu",                                         \
                                         .properties = {.deterministic = FB_DET_ALL, .gemms = 5},  \
                                         .offer = {.masks = FB_MASKS_KNOWN, .layouts = FB_ANY},    \
                                         .sizes = no_sizes,                                        \
                                         .forward = fwd,                                           \
                                         .backward = bwd}

VARIANT(good, "good", one_forward, one_backward);
VARIANT(bad_crash, "bad-crash", one_forward, crash);
VARIANT(bad_hang, "bad-hang", hang, one_backward);
VARIANT(bad_exit, "bad-exit", one_forward, leave);
VARIANT(bad_device, "bad-device", refuse, one_backward);
VARIANT(bad_guard, "bad-guard", one_forward, scribble);
VARIANT(bad_input, "bad-input", one_forward, touch_input);
VARIANT(bad_forget, "bad-forget", one_forward, forget);
VARIANT(bad_drift, "bad-drift", one_forward, drift);
VARIANT(bad_lazy, "bad-lazy", one_forward, lazy);
VARIANT(bad_heap, "bad-heap", one_forward, tear_heap);
VARIANT(good_last, "good-last", one_forward, one_backward);

static const struct fb_variant *const table[] = {
    &good,       &bad_crash, &bad_hang, &bad_exit, &bad_device, &bad_guard, &bad_input,
    &bad_forget, &bad_drift, &bad_lazy, &bad_heap, &good_last,  NULL};
const struct fb_variant *const *const fb_registry_tables[] = {table, NULL};

enum { VARIANTS = 12 };

/* ---- Running them -------------------------------------------------------------------------------
 */

struct seen {
    struct fb_case cases[VARIANTS + 1];
    int outcome[VARIANTS + 1];
    char reason[VARIANTS + 1][256];
    int records[VARIANTS + 1];
    int64_t threads[VARIANTS + 1];
    bool has_isa[VARIANTS + 1];
};

static enum fb_status take(void *user, size_t position, const struct fb_record *record)
{
    struct seen *seen = user;
    seen->records[position]++;
    seen->threads[position] = record->threads;
    seen->has_isa[position] = *fb_text(record->isa);
    seen->outcome[position] = record->outcome;
    snprintf(seen->reason[position], sizeof seen->reason[0], "%s", fb_text(record->reason));
    return FB_OK;
}

static enum fb_status supervise(struct seen *seen, const size_t *todo, size_t count,
                                double deadline, bool timed, int *signal)
{
    struct fb_measure measure;
    fb_measure_default(&measure);
    measure.what |= FB_WHAT_DETERMINISM;
    measure.deadline = deadline;
    measure.det_runs = 4;
    measure.flush = false;
    measure.max_samples = 6;
    const struct fb_supervision order = {.cases = seen->cases,
                                         .todo = todo,
                                         .todo_count = count,
                                         .measure = &measure,
                                         .timed = timed,
                                         .take = take,
                                         .user = seen};
    return fb_supervise(&order, signal);
}

static void make_cases(struct seen *seen)
{
    memset(seen, 0, sizeof *seen);
    for (int i = 0; i < VARIANTS; i++)
        if (fb_case_parse(&seen->cases[i], table[i]->name, "n=1,d=8,dtype=fp32", "", "randn@1", 1))
            tap_ok(false, "case %d: %s", i, fb_status_message());
    if (fb_case_parse(&seen->cases[VARIANTS], "good", "n=1,d=8,dtype=bf16", "", "randn@1", 1))
        tap_ok(false, "case of another type: %s", fb_status_message());
}

static void expect(const struct seen *seen, size_t i, enum fb_outcome outcome,
                   const char *in_reason)
{
    tap_ok(seen->records[i] == 1 && seen->outcome[i] == (int)outcome &&
               strstr(seen->reason[i], in_reason) && seen->threads[i] == 1 && seen->has_isa[i],
           "%s: %d record, '%s' (%s), reason '%s', threads %lld", seen->cases[i].variant,
           seen->records[i], fb_value_name(fb_values_outcome, seen->outcome[i]),
           fb_value_name(fb_values_outcome, (int)outcome), seen->reason[i],
           (long long)seen->threads[i]);
}

static void test_all(bool timed)
{
    static const size_t todo[VARIANTS + 1] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    struct seen seen;
    int signal;
    make_cases(&seen);
    tap_note("%s", timed ? "run" : "check");
    tap_ok(supervise(&seen, todo, VARIANTS + 1, 1.0, timed, &signal) == FB_OK && !signal,
           "the supervisor survives: %s", fb_status_message());
    expect(&seen, 0, FB_OUTCOME_PASS, "");
    expect(&seen, 1, FB_OUTCOME_CRASHED, "killed by signal 11");
    expect(&seen, 2, FB_OUTCOME_HUNG, "deadline of 1 s in forward");
    expect(&seen, 3, FB_OUTCOME_CRASHED, "exited with status 3 in backward");
    expect(&seen, 4, FB_OUTCOME_CRASHED, "the device is on fire");
    expect(&seen, 5, FB_OUTCOME_FAIL, "guard after dv");
    expect(&seen, 6, FB_OUTCOME_FAIL, "k was changed");
    expect(&seen, 7, FB_OUTCOME_FAIL, "dv was not written");
    expect(&seen, 8, FB_OUTCOME_FAIL, "dq is declared deterministic");
    expect(&seen, 9, FB_OUTCOME_FAIL, "was not written");
    tap_ok(seen.records[10] == 1 && seen.outcome[10] != FB_OUTCOME_PASS,
           "a torn heap does not pass: %s, %s", fb_value_name(fb_values_outcome, seen.outcome[10]),
           seen.reason[10]);
    expect(&seen, 11, FB_OUTCOME_PASS, "");
    expect(&seen, 12, FB_OUTCOME_REFUSED, "dtype: offers fp32");
    for (int i = 0; i <= VARIANTS; i++)
        fb_case_free(&seen.cases[i]);
}

/* ---- Interrupt ----------------------------------------------------------------------------------
 */

static void *interrupt_later(void *thread)
{
    usleep(400000);
    kill(getpid(), SIGINT);
    return thread;
}

static void test_interrupt(void)
{
    static const size_t todo[] = {2, 0};
    struct seen seen;
    pthread_t thread;
    sigset_t interrupt;
    int signal = 0;
    make_cases(&seen);
    sigemptyset(&interrupt);
    sigaddset(&interrupt, SIGINT);
    pthread_sigmask(SIG_BLOCK, &interrupt, NULL); /* the helper thread must not die of it */
    pthread_create(&thread, NULL, interrupt_later, NULL);
    long long start = fb_clock_ns();
    enum fb_status status = supervise(&seen, todo, 2, 60, false, &signal);
    double seconds = (double)(fb_clock_ns() - start) * 1e-9;
    pthread_join(thread, NULL);
    tap_ok(status == FB_OK && signal == SIGINT, "an interrupt inside a long call stops the run");
    tap_ok(seconds < 1.4, "within a second (%.2f s after 0.4 s)", seconds);
    tap_ok(!seen.records[2] && !seen.records[0], "the case under way has no record");
    for (int i = 0; i <= VARIANTS; i++)
        fb_case_free(&seen.cases[i]);
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "worker"))
        return fb_worker_serve(NULL, 0, false) == FB_OK ? 0 : 1;
    test_all(false);
    test_all(true);
    test_interrupt();
    return tap_done();
}
