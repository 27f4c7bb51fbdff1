/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cudnn/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ENGINES = 8 };

struct fb_cudnn_plan {
    struct fb_cudnn_plan *next;
    struct fb_cudnn_attention what;
    struct fb_cudnn_graph graph; /* owns the descriptors; holds the scalars */
    cudnnBackendDescriptor_t execution;
    int64_t workspace;
    char name[32];
    /* What is bound to which addresses; made anew when a call brings others. */
    cudnnBackendDescriptor_t pack;
    void *bound[FB_CUDNN_ROLES + 1];
};

static struct fb_cudnn_plan *plans;

/* The process's handle. Opening it takes a context on the current device. */
static cudnnHandle_t handle_of(const struct fb_cudnn_library *library, const char **why)
{
    static cudnnHandle_t handle;
    static char reason[160];
    if (!handle && !*reason) {
        cudnnStatus_t status = library->open(&handle);
        if (status != CUDNN_STATUS_SUCCESS) {
            handle = NULL;
            snprintf(reason, sizeof reason, "cuDNN: no handle: %s", library->error_name(status));
        }
    }
    *why = handle ? NULL : reason;
    return handle;
}

/* ---- From a graph to a plan ---------------------------------------------------------------- */

static cudnnBackendDescriptor_t close_graph(struct fb_cudnn_graph *g, cudnnHandle_t handle)
{
    g->described = true;
    cudnnBackendDescriptor_t all = fb_cudnn_begin(g, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    fb_cudnn_set(g, all, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle);
    fb_cudnn_set(g, all, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, g->op_count,
                 g->op);
    return fb_cudnn_end(g, all, "closing the graph");
}

/* Fills config[] with what the heuristics propose, best first; the count. */
static int64_t propose(struct fb_cudnn_graph *g, cudnnBackendDescriptor_t all,
                       cudnnBackendDescriptor_t config[MOST_ENGINES])
{
    const cudnnBackendHeurMode_t mode = CUDNN_HEUR_MODE_A;
    int64_t count = 0;
    cudnnBackendDescriptor_t heuristics = fb_cudnn_begin(g, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    fb_cudnn_set_descriptor(g, heuristics, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, all);
    fb_cudnn_set(g, heuristics, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
    fb_cudnn_end(g, heuristics, "asking the heuristics");
    for (int i = 0; i < MOST_ENGINES; i++)
        config[i] = fb_cudnn_begin(g, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    if (g->failed)
        return 0;
    cudnnStatus_t status =
        g->library->get(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                        MOST_ENGINES, &count, config);
    if (status != CUDNN_STATUS_SUCCESS)
        fb_cudnn_graph_fail(g, "reading the proposals", status);
    else if (count < 1)
        fb_cudnn_graph_fail(g, "no engine takes this problem (CUDNN_LOGLEVEL_DBG=2 tells why)",
                            CUDNN_STATUS_NOT_SUPPORTED);
    return g->failed ? 0 : count < MOST_ENGINES ? count : MOST_ENGINES;
}

static cudnnBackendDescriptor_t try_engine(struct fb_cudnn_graph *g, cudnnHandle_t handle,
                                           cudnnBackendDescriptor_t config)
{
    cudnnBackendDescriptor_t plan = fb_cudnn_begin(g, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    fb_cudnn_set(g, plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle);
    fb_cudnn_set_descriptor(g, plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config);
    return fb_cudnn_end(g, plan, "the plan of an engine");
}

/* "engine-6"; an unknown number is no failure. */
static void name_engine(struct fb_cudnn_plan *plan, cudnnBackendDescriptor_t config)
{
    struct fb_cudnn_graph *g = &plan->graph;
    cudnnBackendDescriptor_t engine = fb_cudnn_begin(g, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    int64_t count = 0, index = -1;
    snprintf(plan->name, sizeof plan->name, "engine-unknown");
    if (g->failed) {
        g->failed = false;
        return;
    }
    if (g->library->get(config, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
                        &count, &engine) == CUDNN_STATUS_SUCCESS)
        g->library->get(engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &count,
                        &index);
    if (index >= 0)
        snprintf(plan->name, sizeof plan->name, "engine-%lld", (long long)index);
}

/* The first proposal that compiles; its index. Where none does, the graph is unsupported if every
 * engine says so; else what is told is the first failure of another kind. */
static int64_t first_that_compiles(struct fb_cudnn_plan *plan, cudnnHandle_t handle,
                                   cudnnBackendDescriptor_t *config, int64_t count)
{
    struct fb_cudnn_graph *g = &plan->graph;
    char broken[sizeof g->why] = "";
    for (int64_t i = 0; i < count; i++) {
        g->failed = false;
        plan->execution = try_engine(g, handle, config[i]);
        if (plan->execution)
            return i;
        if (!g->unsupported && !*broken)
            memcpy(broken, g->why, sizeof broken);
    }
    if (*broken) {
        g->unsupported = false;
        memcpy(g->why, broken, sizeof broken);
    }
    return -1;
}

static void choose(struct fb_cudnn_plan *plan, cudnnHandle_t handle)
{
    struct fb_cudnn_graph *g = &plan->graph;
    cudnnBackendDescriptor_t config[MOST_ENGINES];
    int64_t read = 0, count = propose(g, close_graph(g, handle), config);
    const int64_t used = first_that_compiles(plan, handle, config, count);
    if (used < 0)
        return;
    name_engine(plan, config[used]);
    cudnnStatus_t status =
        g->library->get(plan->execution, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64,
                        1, &read, &plan->workspace);
    if (status != CUDNN_STATUS_SUCCESS)
        fb_cudnn_graph_fail(g, "reading the size of the workspace", status);
}

static void make_plan(struct fb_cudnn_plan *plan, const struct fb_cudnn_library *library)
{
    const char *why;
    fb_cudnn_graph_init(&plan->graph, library);
    cudnnHandle_t handle = handle_of(library, &why);
    if (!handle) {
        plan->graph.failed = true;
        snprintf(plan->graph.why, sizeof plan->graph.why, "%s", why);
        return;
    }
    fb_cudnn_attention_build(&plan->graph, &plan->what);
    choose(plan, handle);
    if (plan->graph.failed)
        fb_cudnn_graph_free(&plan->graph);
}

static struct fb_cudnn_plan *look_up(const struct fb_cudnn_attention *what)
{
    struct fb_cudnn_plan *plan = plans;
    while (plan && memcmp(&plan->what, what, sizeof *what) != 0)
        plan = plan->next;
    return plan;
}

const struct fb_cudnn_plan *fb_cudnn_plan_known(const struct fb_cudnn_attention *what)
{
    const struct fb_cudnn_plan *plan = look_up(what);
    return plan && !plan->graph.failed ? plan : NULL;
}

struct fb_cudnn_plan *fb_cudnn_plan_find(const struct fb_cudnn_attention *what, bool *unsupported,
                                         const char **why)
{
    const struct fb_cudnn_library *library = fb_cudnn_library(why);
    *unsupported = false;
    if (!library)
        return NULL;
    struct fb_cudnn_plan *plan = look_up(what);
    if (!plan) {
        plan = calloc(1, sizeof *plan);
        if (!plan) {
            *why = "no memory for a plan";
            return NULL;
        }
        plan->what = *what;
        plan->next = plans;
        plans = plan;
        make_plan(plan, library);
    }
    *unsupported = plan->graph.failed && plan->graph.unsupported;
    *why = plan->graph.failed ? plan->graph.why : NULL;
    return plan->graph.failed ? NULL : plan;
}

size_t fb_cudnn_plan_workspace(const struct fb_cudnn_plan *plan)
{
    return plan->workspace > 0 ? (size_t)plan->workspace : 0;
}

const char *fb_cudnn_plan_name(const struct fb_cudnn_plan *plan)
{
    return plan->name;
}

/* ---- Running ------------------------------------------------------------------------------- */

/* Binds tensors, scalars and the workspace to addresses. */
static cudnnStatus_t bind(struct fb_cudnn_plan *plan, void *const pointer[FB_CUDNN_ROLES],
                          void *workspace)
{
    const struct fb_cudnn_library *library = plan->graph.library;
    struct fb_cudnn_graph *g = &plan->graph;
    int64_t uid[FB_CUDNN_ROLES + FB_CUDNN_SCALARS], count = 0;
    void *address[FB_CUDNN_ROLES + FB_CUDNN_SCALARS];
    cudnnStatus_t status;
    for (int role = 0; role < FB_CUDNN_ROLES; role++)
        if (fb_cudnn_attention_uses(&plan->what, (enum fb_cudnn_role)role)) {
            uid[count] = role + 1;
            address[count++] = pointer[role];
        }
    for (int i = 0; i < g->scalar_count; i++) {
        uid[count] = g->scalar[i].uid;
        address[count++] = &g->scalar[i].value;
    }
    if (plan->pack)
        library->destroy(plan->pack);
    plan->pack = NULL;
    status = library->create(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, &plan->pack);
    if (status == CUDNN_STATUS_SUCCESS)
        status = library->set(plan->pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64,
                              count, uid);
    if (status == CUDNN_STATUS_SUCCESS)
        status = library->set(plan->pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS,
                              CUDNN_TYPE_VOID_PTR, count, address);
    if (status == CUDNN_STATUS_SUCCESS)
        status = library->set(plan->pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1,
                              &workspace);
    return status == CUDNN_STATUS_SUCCESS ? library->finalize(plan->pack) : status;
}

static const char *explain(const struct fb_cudnn_library *library, const char *what,
                           cudnnStatus_t status)
{
    static char line[320];
    fb_cudnn_say(library, what, status, line, sizeof line);
    return line;
}

const char *fb_cudnn_plan_run(struct fb_cudnn_plan *plan, void *stream,
                              void *const pointer[FB_CUDNN_ROLES], void *workspace)
{
    const struct fb_cudnn_library *library = plan->graph.library;
    const char *why;
    cudnnHandle_t handle = handle_of(library, &why);
    void *wanted[FB_CUDNN_ROLES + 1] = {NULL};
    for (int role = 0; role < FB_CUDNN_ROLES; role++)
        wanted[role] = pointer[role];
    wanted[FB_CUDNN_ROLES] = workspace;
    cudnnStatus_t status = library->set_stream(handle, (cudaStream_t)stream);
    if (status != CUDNN_STATUS_SUCCESS)
        return explain(library, "setting the stream", status);
    if (!plan->pack || memcmp(wanted, plan->bound, sizeof wanted) != 0) {
        status = bind(plan, pointer, workspace);
        memcpy(plan->bound, wanted, sizeof wanted);
        if (status != CUDNN_STATUS_SUCCESS) {
            memset(plan->bound, 0, sizeof plan->bound);
            return explain(library, "binding the tensors", status);
        }
    }
    status = library->execute(handle, plan->execution, plan->pack);
    return status == CUDNN_STATUS_SUCCESS ? NULL : explain(library, "running the plan", status);
}
