/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Buffers: layouts, guards, poison and seals. Every fault a variant can make with memory is made
 * here by hand and must be found, named and placed; a call that behaves must pass.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/half.h"
#include "core/numerics.h"
#include "core/problem.h"
#include "core/status.h"
#include "core/tensor.h"
#include "data/buffers.h"
#include "data/buffers_check.h"
#include "data/footprint.h"
#include "data/inputs.h"
#include "measure/memory_host.h"
#include "tests/tap.h"

static struct fb_problem problem;
static struct fb_buffers buffers;

static bool open_buffers(const char *text, int64_t gap, size_t saved, size_t workspace)
{
    const struct fb_buffers_options options = {
        .saved_bytes = saved, .workspace_bytes = workspace, .row_gap = gap};
    bool made = fb_problem_parse(&problem, text) == FB_OK &&
                fb_buffers_make(&buffers, &fb_memory_host, &problem, &fb_numerics_standard,
                                &options) == FB_OK;
    if (!made)
        tap_note("%s", fb_status_message());
    fb_status_clear();
    return made;
}

static void close_buffers(void)
{
    fb_buffers_free(&buffers);
    fb_problem_free(&problem);
}

/* Writes value to every element of a tensor, as a variant would. */
static void write_tensor(const struct fb_tensor *t, double value)
{
    for (int64_t b = 0; b < t->shape[0]; b++)
        for (int64_t h = 0; h < t->shape[1]; h++)
            for (int64_t n = 0; n < t->shape[2]; n++)
                for (int64_t c = 0; c < t->shape[3]; c++)
                    fb_element_write(t->data, t->dtype, fb_tensor_offset(t, b, h, n, c), value);
}

static void behave(enum fb_pass pass)
{
    const struct fb_args *a = &buffers.args;
    const struct fb_tensor *const forward[] = {&a->o, &a->lse};
    const struct fb_tensor *const backward[] = {&a->dq, &a->dk, &a->dv, &a->dbias, &a->dsink};
    if (pass == FB_PASS_FORWARD) {
        for (int i = 0; i < 2; i++)
            write_tensor(forward[i], 1);
        memset(a->saved, 1, a->saved_bytes);
    } else {
        for (int i = 0; i < 5; i++)
            if (backward[i]->data)
                write_tensor(backward[i], 2);
    }
    memset(a->workspace, 3, a->workspace_bytes);
}

static void start(enum fb_pass pass)
{
    struct fb_recipe recipe;
    fb_recipe_parse(&recipe, "randn@1");
    fb_inputs_fill(&recipe, &problem, &buffers.args);
    fb_buffers_poison(&buffers, pass);
    fb_buffers_seal(&buffers, pass);
}

static void check_sound(const char *text, int64_t gap)
{
    struct fb_finding found = {FB_FOUND_NOTHING, "not made"};
    bool sound = open_buffers(text, gap, 100, 333);
    for (int pass = FB_PASS_FORWARD; sound && pass <= FB_PASS_BACKWARD; pass++) {
        start((enum fb_pass)pass);
        behave((enum fb_pass)pass);
        sound = fb_buffers_check(&buffers, (enum fb_pass)pass, &found) == FB_OK && !*found.text;
    }
    if (!tap_ok(sound, "gap %" PRId64 ", %s: a sound call passes", gap, text))
        tap_note("%s", found.text);
    close_buffers();
}

static void test_sound(void)
{
    static const char *const texts[] = {
        "b=2,h=4,hk=2,nq=5,nk=7,d=8,dv=12,dtype=bf16",
        "b=2,h=4,hk=2,nq=5,nk=7,d=8,dtype=fp32,layout=bnhd",
        "b=2,h=4,hk=2,n=5,d=8,dtype=fp16,layout=packed-qkv",
        "b=2,h=4,hk=2,n=5,d=33,dtype=bf16,layout=expanded-dout",
        "b=2,h=2,n=6,d=8,dtype=bf16,sink,dlse,bias=head,alibi=auto",
        "h=2,qlens=3+0+5,klens=1+4+0,d=8,dtype=bf16",
        "b=0,n=4,d=8",
        "b=1,nq=0,nk=4,d=8,layout=bnhd",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        check_sound(texts[i], 0);
        check_sound(texts[i], 8);
    }
}

/* ---- Faults ---------------------------------------------------------------------------------- */

#define FAULTY "b=2,h=4,hk=2,nq=5,nk=7,d=8,dtype=bf16,sink"

static void check_found(const char *name, int64_t gap, enum fb_pass pass, void (*fault)(void),
                        const char *expected)
{
    struct fb_finding found = {FB_FOUND_NOTHING, ""};
    open_buffers(FAULTY, gap, 100, 333);
    start(pass);
    behave(pass);
    fault();
    fb_buffers_check(&buffers, pass, &found);
    if (!tap_ok(strstr(found.text, expected) != NULL, "%s is found: %s", name, expected))
        tap_note("got '%s'", found.text);
    close_buffers();
}

static uint16_t *half(const struct fb_tensor *t)
{
    return t->data;
}

static void write_behind_dk(void)
{
    half(&buffers.args.dk)[fb_tensor_elements(&buffers.args.dk)] = 0;
}

static void write_before_dv(void)
{
    half(&buffers.args.dv)[-1] = 0;
}

static void write_between_rows(void)
{
    const struct fb_tensor *dq = &buffers.args.dq;
    half(dq)[fb_tensor_offset(dq, 1, 2, 3, dq->shape[3]) + 2] = 0;
}

static void write_behind_workspace(void)
{
    ((char *)buffers.args.workspace)[buffers.args.workspace_bytes] = 0;
}

static void change_k(void)
{
    half(&buffers.args.k)[17] ^= 1;
}

static void change_o(void)
{
    half(&buffers.args.o)[0] ^= 1;
}

static void change_saved(void)
{
    ((char *)buffers.args.saved)[99] ^= 1;
}

static void change_sink(void)
{
    *(float *)buffers.args.sink.data += 1;
}

static void leave_dq_element(void)
{
    const struct fb_tensor *dq = &buffers.args.dq;
    half(dq)[fb_tensor_offset(dq, 1, 3, 4, 7)] = 0xffff;
}

static void leave_dsink(void)
{
    memset((float *)buffers.args.dsink.data + 2, 0xff, 4);
}

static void leave_lse(void)
{
    memset((float *)buffers.args.lse.data + 39, 0xff, 4);
}

static void write_gradient(void)
{
    half(&buffers.args.dv)[0] = 0;
}

static void test_faults(void)
{
    const enum fb_pass forward = FB_PASS_FORWARD, backward = FB_PASS_BACKWARD;
    check_found("a store behind", 0, backward, write_behind_dk,
                "guard after dk was written, byte 0");
    check_found("a store before", 0, backward, write_before_dv,
                "guard before dv was written, byte 254");
    check_found("a store between rows", 8, backward, write_between_rows,
                "guard between rows of dq was written, byte 4");
    check_found("a store behind the workspace", 0, forward, write_behind_workspace,
                "guard after workspace was written, byte 0");
    check_found("a changed input", 0, backward, change_k, "k was changed");
    check_found("a changed input", 0, forward, change_sink, "sink was changed");
    check_found("a backward that changes o", 0, backward, change_o, "o was changed");
    check_found("a backward that changes saved", 0, backward, change_saved, "saved was changed");
    check_found("a forward that writes a gradient", 0, forward, write_gradient, "dv was changed");
    check_found("an element left out", 8, backward, leave_dq_element,
                "dq was not written at [1,3,4,7], or made from memory that was not");
    check_found("an element left out", 0, backward, leave_dsink,
                "dsink was not written at [0,2,0,0]");
    check_found("an element left out", 0, forward, leave_lse, "lse was not written at [1,3,4,0]");
}

/* ---- Layouts --------------------------------------------------------------------------------- */

static bool is_stride(const struct fb_tensor *t, int64_t b, int64_t h, int64_t n)
{
    return t->stride[0] == b && t->stride[1] == h && t->stride[2] == n && t->stride[3] == 1;
}

static void test_layouts(void)
{
    open_buffers("b=2,h=4,hk=2,nq=5,nk=7,d=8,dv=12,dtype=bf16", 0, 0, 0);
    tap_ok(is_stride(&buffers.args.q, 160, 40, 8) && is_stride(&buffers.args.dv, 168, 84, 12),
           "bhnd strides");
    tap_ok(buffers.args.lse.dtype == FB_FP32 && buffers.args.lse.shape[3] == 1 &&
               !buffers.args.bias.data && !buffers.args.dlse.data,
           "lse is fp32, what was not asked for is absent");
    close_buffers();
    open_buffers("b=2,h=4,hk=2,nq=5,nk=7,d=8,layout=bnhd", 4, 0, 0);
    tap_ok(is_stride(&buffers.args.q, 240, 12, 48) && is_stride(&buffers.args.dk, 168, 12, 24),
           "bnhd strides with gaps");
    close_buffers();
    open_buffers("b=2,h=4,hk=2,n=5,d=8,layout=packed-qkv", 0, 0, 0);
    tap_ok(is_stride(&buffers.args.q, 320, 8, 64) && is_stride(&buffers.args.v, 320, 8, 64) &&
               (float *)buffers.args.k.data == (float *)buffers.args.q.data + 32 &&
               (float *)buffers.args.v.data == (float *)buffers.args.q.data + 48,
           "packed-qkv: slices of one buffer");
    close_buffers();
    open_buffers("b=2,h=4,n=5,d=8,layout=expanded-dout", 0, 0, 0);
    tap_ok(is_stride(&buffers.args.dout, 0, 0, 0) && buffers.block[FB_BUFFER_DOUT].bytes == 32,
           "expanded-dout: one row");
    close_buffers();
    open_buffers("h=2,qlens=3+0+5,nk=4,d=8", 0, 0, 0);
    tap_ok(buffers.args.q.shape[0] == 1 && buffers.args.q.shape[2] == 8 &&
               buffers.args.k.shape[2] == 12 && buffers.args.cu_qlens[2] == 3 &&
               buffers.args.cu_qlens[3] == 8 && buffers.args.cu_klens[3] == 12,
           "packed sequences: totals and offsets");
    close_buffers();
}

static void test_memory(void)
{
    open_buffers("b=2,h=4,hk=2,nq=5,nk=7,d=7,dtype=bf16,bias=full", 0, 3, 5);
    int aligned = 0, blocks = 0;
    for (int i = 0; i < FB_BUFFER_COUNT; i++) {
        blocks += buffers.block[i].memory != NULL;
        aligned += buffers.block[i].memory && (uintptr_t)buffers.block[i].data % 256 == 0;
    }
    tap_ok(blocks == 13 && aligned == blocks, "%d blocks, all aligned to 256 bytes", aligned);
    const uint16_t *guard = (const uint16_t *)(buffers.args.k.data) + 2 * 2 * 7 * 7;
    tap_ok(isnan(fb_bf16_to_float(guard[0])) && isnan(fb_fp16_to_float(guard[1])) &&
               isnan(*(const float *)(const void *)(guard + 2)) && guard[0] != 0xffff,
           "a guard reads as NaN in every dtype, and is no poison");
    tap_ok(isnan(fb_bf16_to_float(half(&buffers.args.dq)[5])),
           "outputs are poisoned from the start");
    close_buffers();
    tap_ok(!buffers.block[0].memory && !buffers.cu_lens, "free leaves nothing");
}

/* ---- Plans ----------------------------------------------------------------------------------- */

static enum fb_status big_sizes(const struct fb_variant *self, const struct fb_problem *p,
                                const struct fb_numerics *n, size_t *saved, size_t *workspace)
{
    (void)self;
    (void)n;
    *saved = (size_t)(p->b * p->h * p->nq * p->nk) * 2;
    *workspace = 4096;
    return FB_OK;
}

static uint64_t have(const struct fb_memory *memory)
{
    return *(const uint64_t *)memory->own;
}

static void test_plan(void)
{
    const struct fb_variant variant = {.sizes = big_sizes};
    uint64_t room;
    struct fb_memory memory = fb_memory_host;
    struct fb_plan plan;
    memory.available = have;
    memory.own = &room;
    fb_problem_parse(&problem, "b=1,h=8,n=49999,d=64,dtype=bf16");
    tap_ok(fb_plan_make(&plan, &problem, &fb_numerics_standard, &variant) == FB_OK &&
               plan.inputs == UINT64_C(4) * 8 * 49999 * 64 * 2 &&
               plan.forward == UINT64_C(8) * 49999 * (64 * 2 + 4) &&
               plan.outputs == UINT64_C(3) * 8 * 49999 * 64 * 2 &&
               plan.saved == UINT64_C(8) * 49999 * 49999 * 2 && plan.workspace == 4096 &&
               plan.total == plan.inputs + plan.forward + plan.outputs + plan.saved + 4096,
           "a plan counts in 64 bits");
    room = plan.total + 7;
    tap_ok(fb_plan_check(&plan, &memory, 7) == FB_OK, "exactly enough is enough");
    room--;
    tap_ok(fb_plan_check(&plan, &memory, 7) == FB_REFUSED &&
               strstr(fb_status_message(), "needs 37.6 GiB (saved 37.3"),
           "a byte less is refused: %s", fb_status_message());
    fb_status_clear();
    room = 0;
    tap_ok(fb_plan_check(&plan, &memory, 7) == FB_OK, "unknown room refuses nothing");
    fb_problem_free(&problem);
    fb_problem_parse(&problem, "b=1,h=1,n=8,d=8");
    const struct fb_buffers_options huge = {.workspace_bytes = SIZE_MAX - 64};
    tap_ok(fb_buffers_make(&buffers, &fb_memory_host, &problem, &fb_numerics_standard, &huge) ==
                   FB_NO_MEMORY &&
               strstr(fb_status_message(), "no memory for workspace"),
           "a wrapped size is no small allocation");
    fb_status_clear();
    fb_problem_free(&problem);
}

/* What memory says of large blocks, which many threads look at: every byte counts, and so does the
 * place of a piece; the least index of several is found. */
static void test_looks(void)
{
    enum { BYTES = 5 * 65536 + 13, ROWS = 700, WIDTH = 96 };
    const struct fb_memory *memory = &fb_memory_host;
    unsigned char *data = calloc(1, BYTES);
    uint64_t hash, other;
    int seen = 0, all = 0;
    for (size_t i = 0; i < BYTES; i++)
        data[i] = (unsigned char)(i * 7 + i / 65536);
    memory->hash(memory, data, BYTES, &hash);
    for (size_t i = 0; i < BYTES; i += 4099, all++) {
        data[i] ^= 0x10;
        memory->hash(memory, data, BYTES, &other);
        data[i] ^= 0x10;
        seen += other != hash;
    }
    tap_ok(seen == all, "a changed byte anywhere changes the hash: %d of %d", seen, all);
    for (size_t i = 0; i < 65536; i++) {
        unsigned char kept = data[i];
        data[i] = data[i + 65536];
        data[i + 65536] = kept;
    }
    memory->hash(memory, data, BYTES, &other);
    tap_ok(other != hash, "and so do two pieces in each other's place");
    memset(data, 0, BYTES);
    const struct fb_tensor t = {.data = data,
                                .dtype = FB_BF16,
                                .shape = {1, 2, ROWS / 2, WIDTH},
                                .stride = {0, ROWS / 2 * WIDTH, WIDTH, 1}};
    int64_t first = 0, least = 0;
    memory->find_ones(memory, &t, &first);
    tap_ok(first == -1, "no element is all ones");
    for (int64_t at = ROWS * WIDTH - 1; at > 40000; at -= 7001) {
        memset(data + 2 * at, 0xff, 2);
        least = at;
    }
    data[2 * 40001] = 0xff; /* half of one is none */
    memory->find_ones(memory, &t, &first);
    tap_ok(first == least, "the least of four that are: %lld", (long long)first);
    free(data);
}

int main(void)
{
    test_sound();
    test_faults();
    test_layouts();
    test_memory();
    test_plan();
    test_looks();
    return tap_done();
}
