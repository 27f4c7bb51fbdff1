/* SPDX-License-Identifier: BSD-3-Clause
 *
 * test_cudnn.c: the cuDNN variants without a device. The graphs are built against a library of our
 * own that counts: how many operations each form has (the engines match whole patterns), and that
 * nothing is leaked wherever a call fails. What the variants refuse, and in which words.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "tests/tap.h"

#ifndef HAVE_CUDNN

int main(void)
{
    tap_skip("cudnn: built without the headers of cuDNN");
    return tap_done();
}

#else

#include <stdlib.h>
#include <string.h>

#include "core/numerics.h"
#include "core/offer.h"
#include "core/problem.h"
#include "core/registry.h"
#include "core/status.h"
#include "kernels/cudnn/attention.h"

/* ---- A library that counts ----------------------------------------------------------------- */

static int alive, calls, fail_at, of_kind[64];

static cudnnStatus_t next_call(void)
{
    return ++calls == fail_at ? CUDNN_STATUS_NOT_SUPPORTED : CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t count_create(cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t *out)
{
    cudnnStatus_t status = next_call();
    if (status != CUDNN_STATUS_SUCCESS)
        return status;
    alive++;
    of_kind[type]++;
    *out = malloc(1);
    return status;
}

static cudnnStatus_t count_destroy(cudnnBackendDescriptor_t descriptor)
{
    alive--;
    free(descriptor);
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t count_set(cudnnBackendDescriptor_t descriptor,
                               cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                               int64_t count, const void *values)
{
    (void)name;
    (void)type;
    return descriptor && count && values ? next_call() : CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
}

static cudnnStatus_t count_finalize(cudnnBackendDescriptor_t descriptor)
{
    return descriptor ? next_call() : CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
}

static const char *name_error(cudnnStatus_t status)
{
    return status == CUDNN_STATUS_NOT_SUPPORTED ? "NOT_SUPPORTED" : "another";
}

static void say_nothing(char *message, size_t size)
{
    if (size)
        *message = '\0';
}

static const struct fb_cudnn_library counting = {.error_name = name_error,
                                                 .last_error = say_nothing,
                                                 .create = count_create,
                                                 .destroy = count_destroy,
                                                 .set = count_set,
                                                 .finalize = count_finalize};

static struct fb_cudnn_attention attention(enum fb_cudnn_pass pass, int64_t hk, int64_t left,
                                           int64_t right)
{
    struct fb_cudnn_attention a;
    memset(&a, 0, sizeof a);
    a.pass = pass;
    a.bf16 = 1;
    a.b = 2;
    a.h = 8;
    a.hk = hk;
    a.nq = 256;
    a.nk = 512;
    a.d = a.dv = 64;
    a.left = left;
    a.right = right;
    a.scale = 0.125;
    return a;
}

/* Operations of the graph; -1 when it fails. */
static int build(const struct fb_cudnn_attention *a, int failing_call)
{
    struct fb_cudnn_graph graph;
    memset(of_kind, 0, sizeof of_kind);
    calls = 0;
    fail_at = failing_call;
    fb_cudnn_graph_init(&graph, &counting);
    fb_cudnn_attention_build(&graph, a);
    int ops = graph.failed ? -1 : graph.op_count;
    fb_cudnn_graph_free(&graph);
    return ops;
}

static void test_operations(void)
{
    static const struct {
        const char *what;
        enum fb_cudnn_pass pass;
        int64_t hk, left, right;
        int ops;
    } forms[] = {
        {"forward, full", FB_CUDNN_FORWARD, 8, FB_CUDNN_OPEN, FB_CUDNN_OPEN, 10},
        {"forward, causal", FB_CUDNN_FORWARD, 8, FB_CUDNN_OPEN, 0, 14},
        {"backward, full", FB_CUDNN_BACKWARD, 8, FB_CUDNN_OPEN, FB_CUDNN_OPEN, 18},
        {"backward, causal", FB_CUDNN_BACKWARD, 8, FB_CUDNN_OPEN, 0, 22},
        {"backward, causal from the right", FB_CUDNN_BACKWARD, 8, FB_CUDNN_OPEN, 256, 23},
        {"backward, causal, grouped", FB_CUDNN_BACKWARD, 2, FB_CUDNN_OPEN, 0, 24},
        {"deterministic, causal", FB_CUDNN_BACKWARD_DETERMINISTIC, 8, FB_CUDNN_OPEN, 0, 21},
        {"backward, a window", FB_CUDNN_BACKWARD, 8, 64, 0, 27},
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        struct fb_cudnn_attention a =
            attention(forms[i].pass, forms[i].hk, forms[i].left, forms[i].right);
        int ops = build(&a, 0);
        tap_ok(ops == forms[i].ops, "%s: %d operations, expected %d", forms[i].what, ops,
               forms[i].ops);
        tap_ok(of_kind[CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR] ==
                   (forms[i].pass == FB_CUDNN_FORWARD ? 2 : 5),
               "%s: two matmuls forth, five back", forms[i].what);
    }
    tap_ok(alive == 0, "every descriptor was given back");
}

static void test_failures(void)
{
    struct fb_cudnn_attention a = attention(FB_CUDNN_BACKWARD, 2, 64, 0);
    build(&a, 0);
    const int all = calls;
    int failed = 0;
    for (int call = 1; call <= all; call++)
        failed += build(&a, call) == -1;
    tap_ok(all > 300 && failed == all, "each of %d calls that fails, fails the graph", all);
    tap_ok(alive == 0, "... and leaks nothing");
}

/* What cuDNN does not offer is a refusal; a mistake of ours, or a library that does not work, is
 * none, and nothing is while the graph is not whole. */
static void test_unsupported(void)
{
    static const struct {
        cudnnStatus_t status;
        bool unsupported;
    } ends[] = {
        {CUDNN_STATUS_NOT_SUPPORTED, true},
        {CUDNN_STATUS_NOT_SUPPORTED_SHAPE, true},
        {CUDNN_STATUS_BAD_PARAM, false},
        {CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE, false},
        {CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED, false},
        {CUDNN_STATUS_INTERNAL_ERROR, false},
        {CUDNN_STATUS_EXECUTION_FAILED, false},
    };
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        struct fb_cudnn_graph graph, whole;
        fb_cudnn_graph_init(&graph, &counting);
        fb_cudnn_graph_init(&whole, &counting);
        whole.described = true;
        fb_cudnn_graph_fail(&graph, "trying", ends[i].status);
        fb_cudnn_graph_fail(&whole, "trying", ends[i].status);
        tap_ok(whole.failed && whole.unsupported == ends[i].unsupported && graph.failed &&
                   !graph.unsupported,
               "status %d is %s", (int)ends[i].status,
               ends[i].unsupported ? "a refusal of whole graphs" : "a failure");
    }
}

static void test_roles(void)
{
    struct fb_cudnn_attention forward = attention(FB_CUDNN_FORWARD, 8, 0, 0);
    struct fb_cudnn_attention back = attention(FB_CUDNN_BACKWARD, 8, 0, 0);
    struct fb_cudnn_attention fixed = attention(FB_CUDNN_BACKWARD_DETERMINISTIC, 8, 0, 0);
    int used[3] = {0};
    for (int role = 0; role < FB_CUDNN_ROLES; role++) {
        used[0] += fb_cudnn_attention_uses(&forward, (enum fb_cudnn_role)role);
        used[1] += fb_cudnn_attention_uses(&back, (enum fb_cudnn_role)role);
        used[2] += fb_cudnn_attention_uses(&fixed, (enum fb_cudnn_role)role);
    }
    tap_ok(used[0] == 5 && used[1] == 11 && used[2] == 10, "tensors of a pass: %d, %d, %d", used[0],
           used[1], used[2]);
}

/* ---- Refusals ------------------------------------------------------------------------------ */

/* Why the variant refuses; "" when it does not, or only for want of the library. */
static const char *refusal(const char *name, const char *text, const char *numerics_text)
{
    static char reason[400];
    struct fb_problem problem;
    struct fb_numerics numerics;
    const struct fb_variant *variant = fb_registry_find(name);
    if (!variant || fb_problem_parse(&problem, text) != FB_OK ||
        fb_numerics_parse(&numerics, numerics_text) != FB_OK)
        return "the test is wrong";
    const char *why = fb_offer_why_not(variant, &problem, &numerics);
    snprintf(reason, sizeof reason, "%s", why && strncmp(why, "no cuDNN", 8) ? why : "");
    fb_problem_free(&problem);
    return reason;
}

static void test_refusals(void)
{
    static const struct {
        const char *problem, *numerics, *word;
    } cases[] = {
        {"n=64,d=64,dtype=fp32", "", "bf16"},
        {"n=64,d=60,dtype=bf16", "", "multiples of 8"},
        {"n=64,d=64,dv=12,dtype=bf16", "", "multiples of 8"},
        {"n=0,d=64,dtype=bf16", "", "1 or more"},
        {"nq=65,nk=64,d=64,dtype=bf16,causal", "", "nq <= nk"},
        {"nq=65,nk=64,d=64,dtype=bf16,window=8:0", "", "nq <= nk"},
        {"nq=32,nk=64,d=64,dtype=bf16,mask=causal-topleft,window=8:0", "", "topleft"},
        {"n=64,d=64,dtype=bf16,softcap=5", "", "softcap"},
        {"n=64,d=64,dtype=bf16,scale=0", "", "scale"},
        {"n=64,d=64,dtype=bf16,scale=-0.125", "", "scale"},
        {"n=64,d=64,dtype=bf16,scale=1e-50", "", "scale"}, /* 0 in fp32 */
        {"n=64,d=64,dtype=bf16,alibi=auto", "", "alibi"},
        {"n=64,d=64,dtype=bf16,bias=full", "", "bias"},
        {"n=64,d=64,dtype=bf16,dropout=0.5@1:0", "", "dropout"},
        {"n=64,d=64,dtype=bf16,sink", "", "sink"},
        {"n=64,d=64,dtype=bf16,dlse", "", "dlse"},
        {"qlens=3+5,d=64,dtype=bf16", "", "qlens"},
        {"n=64,d=64,dtype=bf16", "dq=bf16", "dq: offers"},
        {"n=64,d=64,dtype=bf16", "ps=fp32", "ps: offers in"},
        {"n=64,d=64,dtype=bf16", "lse=bf16", "lse"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *why = refusal("cudnn-deterministic", cases[i].problem, cases[i].numerics);
        tap_ok(strstr(why, cases[i].word) != NULL, "%s %s: %s", cases[i].problem, cases[i].numerics,
               why);
    }
    tap_ok(
        !*refusal("cudnn-deterministic", "b=2,h=8,hk=2,nq=100,nk=128,d=72,dtype=fp16,causal", ""),
        "what it offers is not refused");
}

/* Keys of zeros behind the last one: only the form with an accumulator stumbles over them. */
static void test_open_tail(void)
{
    static const struct {
        const char *problem;
        bool refused;
    } cases[] = {{"n=192,d=64,dtype=bf16", true},
                 {"n=256,d=64,dtype=bf16", false},
                 {"n=192,d=64,dtype=bf16,causal", false},
                 {"nq=100,nk=192,d=64,dtype=bf16,mask=causal-topleft", false},
                 {"nq=200,nk=192,d=64,dtype=bf16,mask=causal-topleft", true},
                 {"n=192,d=64,dtype=bf16,window=8:-1", true},
                 {"n=192,d=64,dtype=bf16,window=-1:0", false},
                 {"n=192,d=64,dtype=bf16,window=8:8", true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *why = refusal("cudnn", cases[i].problem, "");
        tap_ok(cases[i].refused == (strstr(why, "multiple of 128") != NULL) &&
                   !*refusal("cudnn-deterministic", cases[i].problem, ""),
               "%s: %s", cases[i].problem, cases[i].refused ? "refused" : "taken");
    }
}

int main(void)
{
    setenv("FLASHBACK_CUDNN", "/nowhere", 1);
    const char *why = "";
    tap_ok(!fb_cudnn_library(&why) && strstr(why, "FLASHBACK_CUDNN"), "a missing library: %s", why);
    tap_ok(!fb_cudnn_library(&why) && strstr(why, "/nowhere"), "... said again when asked again");
    test_operations();
    test_failures();
    test_unsupported();
    test_roles();
    test_refusals();
    test_open_tail();
    return tap_done();
}

#endif
