/* SPDX-License-Identifier: BSD-3-Clause
 *
 * test_cudnn_plan.c: what becomes of a graph, without a device: it is refused only where cuDNN says
 * that no engine takes it; a mistake of ours, or a library that does not work, is a failure. The
 * library is one of our own: fb_cudnn_library is defined here, so that of kernels/cudnn stays out.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "tests/tap.h"

#ifndef HAVE_CUDNN

int main(void)
{
    tap_skip("cudnn plan: built without the headers of cuDNN");
    return tap_done();
}

#else

#include <stdlib.h>
#include <string.h>

#include "kernels/cudnn/plan.h"

/* ---- The library --------------------------------------------------------------------------- */

enum { MOST_ENGINES = 3, WORKSPACE = 4096, FIRST_ENGINE = 6 };

/* What the library answers: the status of finalizing descriptors of one type, and of the plan of
 * each engine that is proposed. */
struct answers {
    cudnnBackendDescriptorType_t type;
    cudnnStatus_t finalize, query;
    int engines;
    cudnnStatus_t plan[MOST_ENGINES];
};

static struct answers answers;
static int alive, calls, plans;

struct descriptor {
    cudnnBackendDescriptorType_t type;
    int64_t engine; /* of a configuration and of an engine: its number */
};

static cudnnStatus_t create(cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t *out)
{
    struct descriptor *made = malloc(sizeof *made);
    calls++;
    alive++;
    *made = (struct descriptor){.type = type};
    *out = made;
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t destroy(cudnnBackendDescriptor_t descriptor)
{
    alive--;
    free(descriptor);
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t set(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                         cudnnBackendAttributeType_t type, int64_t count, const void *values)
{
    (void)descriptor;
    (void)name;
    (void)type;
    (void)count;
    (void)values;
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t finalize(cudnnBackendDescriptor_t descriptor)
{
    const struct descriptor *d = descriptor;
    if (d->type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR)
        return answers.plan[plans++];
    return d->type == answers.type ? answers.finalize : CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t propose(cudnnBackendDescriptor_t *config, int64_t room, int64_t *count)
{
    *count = answers.engines < room ? answers.engines : room;
    for (int64_t i = 0; i < *count; i++)
        ((struct descriptor *)config[i])->engine = FIRST_ENGINE + i;
    return answers.query;
}

static cudnnStatus_t get(cudnnBackendDescriptor_t const descriptor,
                         cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                         int64_t room, int64_t *count, void *values)
{
    const struct descriptor *d = descriptor;
    (void)type;
    *count = 1;
    if (name == CUDNN_ATTR_ENGINEHEUR_RESULTS)
        return propose(values, room, count);
    if (name == CUDNN_ATTR_ENGINECFG_ENGINE)
        (*(struct descriptor **)values)->engine = d->engine;
    if (name == CUDNN_ATTR_ENGINE_GLOBAL_INDEX)
        *(int64_t *)values = d->engine;
    if (name == CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE)
        *(int64_t *)values = WORKSPACE;
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t open_handle(cudnnHandle_t *handle)
{
    *handle = (cudnnHandle_t)&answers;
    return CUDNN_STATUS_SUCCESS;
}

const struct fb_cudnn_library *fb_cudnn_library(const char **why)
{
    static const struct fb_cudnn_library own = {.open = open_handle,
                                                .create = create,
                                                .destroy = destroy,
                                                .set = set,
                                                .get = get,
                                                .finalize = finalize};
    *why = NULL;
    return &own;
}

void fb_cudnn_say(const struct fb_cudnn_library *from, const char *what, cudnnStatus_t status,
                  char *line, size_t size)
{
    (void)from;
    snprintf(line, size, "%s: %d", what, (int)status);
}

/* ---- The tests ----------------------------------------------------------------------------- */

/* Another problem each time: plans are remembered. */
static struct fb_cudnn_attention next_problem(void)
{
    static int64_t b;
    struct fb_cudnn_attention a;
    memset(&a, 0, sizeof a);
    a.pass = FB_CUDNN_BACKWARD;
    a.b = ++b;
    a.h = a.hk = 2;
    a.nq = a.nk = 128;
    a.d = a.dv = 64;
    a.left = a.right = FB_CUDNN_OPEN;
    a.scale = 0.125;
    return a;
}

enum end { TAKEN, REFUSED, FAILED };

#define DONE CUDNN_STATUS_SUCCESS
#define NO CUDNN_STATUS_NOT_SUPPORTED
#define NO_SHAPE CUDNN_STATUS_NOT_SUPPORTED_SHAPE
#define BAD CUDNN_STATUS_BAD_PARAM
#define BROKEN CUDNN_STATUS_INTERNAL_ERROR
#define TENSOR CUDNN_BACKEND_TENSOR_DESCRIPTOR
#define MATMUL CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR
#define GRAPH CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR
#define HEURISTICS CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR

static const struct {
    const char *what;
    struct answers answers;
    enum end end;
    const char *words;
} cases[] = {
    {"the first engine", {TENSOR, DONE, DONE, 2, {DONE}}, TAKEN, ""},
    {"the second engine", {TENSOR, DONE, DONE, 2, {NO, DONE}}, TAKEN, ""},
    {"... behind one that breaks", {TENSOR, DONE, DONE, 2, {BROKEN, DONE}}, TAKEN, ""},
    {"no engine is proposed", {TENSOR, DONE, DONE, 0, {DONE}}, REFUSED, "no engine takes"},
    {"no engine takes it", {TENSOR, DONE, DONE, 2, {NO, NO_SHAPE}}, REFUSED, "plan of an engine"},
    {"the heuristics know none", {HEURISTICS, NO, DONE, 2, {DONE}}, REFUSED, "heuristics"},
    {"the graph is not supported", {GRAPH, NO, DONE, 2, {DONE}}, REFUSED, "closing the graph"},
    {"a tensor is wrong", {TENSOR, BAD, DONE, 2, {DONE}}, FAILED, "a tensor"},
    {"an operation is wrong", {MATMUL, BAD, DONE, 2, {DONE}}, FAILED, "a matmul"},
    {"... and told as not supported", {MATMUL, NO, DONE, 2, {DONE}}, FAILED, "a matmul"},
    {"the graph is wrong", {GRAPH, BAD, DONE, 2, {DONE}}, FAILED, "closing the graph"},
    {"the heuristics are asked wrongly", {HEURISTICS, BAD, DONE, 2, {DONE}}, FAILED, "heuristics"},
    {"the question for engines fails", {TENSOR, DONE, BROKEN, 0, {DONE}}, FAILED, "proposals"},
    {"a plan is asked for wrongly",
     {TENSOR, DONE, DONE, 2, {BAD, NO}},
     FAILED,
     "plan of an engine"},
    {"an engine breaks, others refuse", {TENSOR, DONE, DONE, 3, {NO, BROKEN, NO}}, FAILED, ""},
};

static void test_ends(void)
{
    static const char *const names[] = {"taken", "refused", "a failure"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fb_cudnn_attention problem = next_problem();
        const char *why = "", *again = "";
        bool unsupported, still;
        const int before = alive;
        answers = cases[i].answers;
        plans = 0;
        const struct fb_cudnn_plan *plan = fb_cudnn_plan_find(&problem, &unsupported, &why);
        const enum end end = plan ? TAKEN : unsupported ? REFUSED : FAILED;
        tap_ok(end == cases[i].end && (plan ? !why : strstr(why, cases[i].words) != NULL),
               "%s: %s (%s)", cases[i].what, names[end], why ? why : "no words");
        tap_ok(plan ? fb_cudnn_plan_workspace(plan) == WORKSPACE : alive == before, "... %s",
               plan ? "with its workspace" : "and leaks nothing");
        const int asked = calls;
        tap_ok(fb_cudnn_plan_find(&problem, &still, &again) == plan && still == unsupported &&
                   again == why && calls == asked,
               "... which is remembered");
    }
}

/* What is told is the failure, not the refusals around it; which engine runs. */
static void test_words(void)
{
    struct fb_cudnn_attention problem = next_problem();
    const char *why = "";
    bool unsupported;
    char status[16];
    answers = (struct answers){TENSOR, DONE, DONE, 2, {NO, DONE}};
    plans = 0;
    const struct fb_cudnn_plan *second = fb_cudnn_plan_find(&problem, &unsupported, &why);
    tap_ok(second && !strcmp(fb_cudnn_plan_name(second), "engine-7"), "the engine has its name");
    problem = next_problem();
    answers = (struct answers){TENSOR, DONE, DONE, 3, {NO, BROKEN, NO}};
    plans = 0;
    fb_cudnn_plan_find(&problem, &unsupported, &why);
    snprintf(status, sizeof status, ": %d", (int)BROKEN);
    tap_ok(why && strstr(why, status), "the engine that broke is told: %s", why);
}

int main(void)
{
    test_ends();
    test_words();
    return tap_done();
}

#endif
