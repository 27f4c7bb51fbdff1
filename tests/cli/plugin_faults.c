/* SPDX-License-Identifier: BSD-3-Clause
 *
 * plugin_faults.c: plug-ins that misbehave, one a value of -DFAULT=; test_plugin.sh builds them.
 * The kernel is right for one query and one key of fp32 in each item of a batch, with a bias or
 * without: o = v, lse = scale q.k + bias, dv = dout, dq = dk = dbias = 0.
 */
#include <fenv.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "flashback.h"

enum fault {
    SOUND,
    OLD_ABI,
    NEW_ABI,
    HAS_ROLE,
    OTHER_SIZE,
    NO_NAME,
    TAKEN_NAME,
    NO_BACKWARD,
    EMPTY_TABLE,
    CRASH_LOADING,
    HANG_LOADING,
    EXIT_LOADING,
    CRASH,
    HANG,
    OUTSIDE,
    WRONG,
    NOTHING,
    CRASH_ASKED,
    ERROR,
    RESTLESS_BIAS,
    RESTLESS_IN_TURN,
    CRASH_DESCRIBE,
    HANG_DESCRIBE,
    ROUNDS_UP,
    TRAPS_FLOATS,
    CHANGES_PROBLEM,
    CHANGES_LENGTHS,
    FORGES_RECORD,
    FORGES_DONE,
    FORGES_LEAVE,
    FORGES_UNREAD,
    FLOODS,
    RETURNS_TWICE,
    BEFORE,
    PRINTS,
    BATCH_BOUND,
    OWN_LSE,
    NOW_AND_THEN,
    LATER,
    ADDS,
    ERROR_SIZES,
    NO_REASON,
    CRASH_LEAVING,
    HANG_LEAVING,
    CRASH_AT_EXIT,
    LEAVES_PROCESS
};

#ifndef FAULT
#define FAULT SOUND
#endif

static void crash(void)
{
    *(volatile int *)NULL = 0;
}

/* Into every file that is open beyond the three standard ones. */
static void write_everywhere(const char *text, int times)
{
    for (int fd = 3; fd < 32; fd++)
        for (int i = 0; i < times && write(fd, text, strlen(text)) > 0; i++)
            continue;
}

static void flood(void)
{
    static char text[1 << 16];
    memset(text, 'x', sizeof text - 1);
    write_everywhere(text, 4096);
}

/* A process in a session of its own, whose parent has ended: what a service is started by. */
static void start_service(void)
{
    if (fork())
        return;
    setsid();
    if (!fork())
        sleep(60);
    _exit(0);
}

/* What concerns others than the caller. Changing the problem needs a cast, and luck. */
static void disturb(const struct fb_args *a)
{
    if (FAULT == ROUNDS_UP)
        fesetround(FE_UPWARD);
    if (FAULT == TRAPS_FLOATS)
        feenableexcept(FE_INVALID | FE_INEXACT);
    if (FAULT == CHANGES_PROBLEM)
        ((struct fb_problem *)a->problem)->scale = 7;
    if (FAULT == CHANGES_LENGTHS && a->cu_qlens)
        ((int64_t *)a->cu_qlens)[1] = 0;
    if (FAULT == FORGES_RECORD)
        write_everywhere("record 0 {}\n", 1);
    if (FAULT == FORGES_DONE)
        write_everywhere("done\n", 1);
    if (FAULT == FORGES_LEAVE)
        write_everywhere("leave\n", 1);
    if (FAULT == FORGES_UNREAD)
        write_everywhere("unread inputs.h5 is damaged\n", 1);
    if (FAULT == FLOODS)
        flood();
    if (FAULT == RETURNS_TWICE)
        (void)!fork();
    if (FAULT == CRASH_AT_EXIT)
        atexit(crash);
    if (FAULT == LEAVES_PROCESS)
        start_service();
    if (FAULT == PRINTS)
        puts("{\"outcome\":\"pass\"}");
}

__attribute__((constructor)) static void load(void)
{
    if (FAULT == CRASH_LOADING)
        crash();
    if (FAULT == EXIT_LOADING)
        _exit(0);
    while (FAULT == HANG_LOADING)
        pause();
}

__attribute__((destructor)) static void leave(void)
{
    if (FAULT == CRASH_LEAVING)
        crash();
    while (FAULT == HANG_LEAVING)
        pause();
}

static const char *why_not(const struct fb_variant *self, const struct fb_problem *p,
                           const struct fb_numerics *n)
{
    (void)self;
    (void)n;
    if (FAULT == CRASH_ASKED)
        crash();
    if (FAULT == NO_REASON)
        return "";
    return p->nq == 1 && p->nk == 1 && p->h == 1 && (p->b == 1 || !p->bias) ? NULL
                                                                            : "n: must be 1, and h";
}

static void describe(const struct fb_variant *self, const struct fb_problem *p,
                     const struct fb_numerics *n, struct fb_description *what)
{
    (void)self;
    (void)p;
    (void)n;
    if (FAULT == CRASH_DESCRIBE)
        crash();
    while (FAULT == HANG_DESCRIBE)
        pause();
    what->bm = what->bn = 1;
    memset(what->text, '\a', sizeof what->text); /* neither a line nor ended */
    memcpy(what->text, "one row\n", 8);
}

static enum fb_status sizes(const struct fb_variant *self, const struct fb_problem *p,
                            const struct fb_numerics *n, size_t *saved, size_t *workspace)
{
    (void)self;
    (void)p;
    (void)n;
    *saved = *workspace = 0;
    return FAULT == ERROR_SIZES ? FB_INTERNAL : FB_OK;
}

static float own_lse; /* what OWN_LSE's forward wrote, an ulp beside the truth, and clings to */

static enum fb_status forward(const struct fb_variant *self, struct fb_context *ctx, void *state,
                              const struct fb_args *a)
{
    (void)self;
    const int64_t d = a->problem->d;
    (void)ctx;
    (void)state;
    memcpy(a->o.data, a->v.data, sizeof(float) * (size_t)(a->problem->b * a->problem->dv));
    for (int64_t b = 0; b < a->problem->b; b++) {
        const float *q = (const float *)a->q.data + b * d, *k = (const float *)a->k.data + b * d;
        const float *bias = a->bias.data ? (const float *)a->bias.data + b : NULL;
        double s = 0;
        for (int64_t c = 0; c < d; c++)
            s += (double)q[c] * k[c];
        ((float *)a->lse.data)[b] = (float)(s * a->problem->scale) + (bias ? *bias : 0);
    }
    if (FAULT == OWN_LSE)
        own_lse = *(float *)a->lse.data = nextafterf(*(float *)a->lse.data, INFINITY);
    return FB_OK;
}

/* Far below any bound, and another number in every call. */
static float next_bias_gradient(void)
{
    static float step;
    return FAULT == RESTLESS_BIAS ? (step += 1e-30f) : 0;
}

/* Four calls differ from each other, but dq and dk have two forms each. */
static void change_in_turn(const struct fb_args *a)
{
    static unsigned call;
    *(float *)a->dq.data = call & 1 ? 1e-30f : 0;
    *(float *)a->dk.data = call & 2 ? 1e-30f : 0;
    call++;
}

/* Right in the two calls that anybody looks at closely. LATER stays as wrong as it is then. */
static float late_error(void)
{
    static int calls;
    ++calls;
    return (FAULT == NOW_AND_THEN && calls == 7) || (FAULT == LATER && calls > 2) ? 1 : 0;
}

static enum fb_status backward(const struct fb_variant *self, struct fb_context *ctx, void *state,
                               const struct fb_args *a)
{
    const size_t b = (size_t)a->problem->b, d = sizeof(float) * b * (size_t)a->problem->d;
    (void)self;
    (void)state;
    if (FAULT == CRASH)
        crash();
    while (FAULT == HANG)
        pause();
    if (FAULT == NOTHING)
        return FB_OK;
    if (FAULT == ERROR) {
        ctx->explain(ctx, "the %s is missing", "coffee");
        return FB_DEVICE;
    }
    memcpy(a->dv.data, a->dout.data, sizeof(float) * b * (size_t)a->problem->dv);
    if (FAULT != ADDS)
        memset(a->dq.data, 0, d + (FAULT == OUTSIDE ? sizeof(float) : 0));
    *(float *)a->dq.data += 0;
    memset(a->dk.data, 0, d);
    if (FAULT == BEFORE)
        ((float *)a->dk.data)[-1] = 0;
    disturb(a);
    *(float *)a->dv.data += late_error();
    for (size_t i = 0; a->dbias.data && i < b; i++)
        ((float *)a->dbias.data)[i] = next_bias_gradient();
    if (FAULT == BATCH_BOUND && b > 1)
        *(float *)a->dq.data = 1e-30f;
    if (FAULT == RESTLESS_IN_TURN)
        change_in_turn(a);
    if (FAULT == WRONG || (FAULT == OWN_LSE && *(float *)a->lse.data != own_lse))
        *(float *)a->dv.data += 1e-3f;
    return FB_OK;
}

static const struct fb_variant faulty = {
    .abi_version = FAULT == OLD_ABI   ? FB_ABI_VERSION - 1
                   : FAULT == NEW_ABI ? FB_ABI_VERSION + 1
                                      : FB_ABI_VERSION,
    .struct_size = FAULT == OTHER_SIZE ? 64 : sizeof(struct fb_variant),
    .name = FAULT == NO_NAME      ? "My Kernel"
            : FAULT == TAKEN_NAME ? "cpu-split"
                                  : "faulty",
    .summary = "misbehaves on purpose",
    .backend = "cpu",
    .properties = {.deterministic = FAULT == NOW_AND_THEN ? 0 : FB_DET_ALL,
                   .gemms = 5,
                   .role = FAULT == HAS_ROLE ? FB_ROLE_IDLE : 0},
    .offer = {.dtypes = FB_BIT(FB_FP32),
              .masks = FB_MASKS_KNOWN,
              .terms = FB_TERMS_KNOWN & ~FB_BIT(FB_TERM_SINK) & ~FB_BIT(FB_TERM_KEEP),
              .biases = FB_ANY,
              .layouts = FB_ANY,
              .dkv = FB_ANY,
              .dq = FB_ANY,
              .delta = FB_ANY,
              .lse = FB_ANY,
              .round = FB_ANY},
    .why_not = why_not,
    .sizes = sizes,
    .describe = describe,
    .forward = forward,
    .backward = FAULT == NO_BACKWARD ? NULL : backward,
};

const struct fb_variant *const *fb_plugin_variants(void)
{
    static const struct fb_variant *const table[] = {FAULT == EMPTY_TABLE ? NULL : &faulty, NULL};
    return table;
}
