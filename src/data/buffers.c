/* SPDX-License-Identifier: BSD-3-Clause
 *
 * buffers.c: allocates the buffers of a case, poisons and seals them. buffers_check.c looks at them
 * afterwards.
 */
#include "data/buffers.h"

#include <stdlib.h>
#include <string.h>

#include "core/problem.h"
#include "core/status.h"
#include "data/layout.h"

const char *fb_buffer_name(enum fb_buffer buffer)
{
    static const char *const names[FB_BUFFER_COUNT] = {
        "q",    "k",    "v",     "o",    "lse",   "dout",  "dq",    "dk",       "dv",
        "dlse", "bias", "dbias", "sink", "dsink", "alibi", "saved", "workspace"};
    return names[buffer];
}

/* ---- Making -------------------------------------------------------------------------------------
 */

static enum fb_status make_block(struct fb_buffers *buffers, enum fb_buffer which, uint64_t bytes)
{
    struct fb_block *block = &buffers->block[which];
    enum fb_status status = FB_NO_MEMORY;
    if (bytes <= SIZE_MAX - 2 * FB_GUARD)
        status =
            buffers->memory->alloc(buffers->memory, (size_t)bytes + 2 * FB_GUARD, &block->memory);
    if (status != FB_OK) {
        block->memory = NULL;
        if (status != FB_NO_MEMORY) /* the device has failed: its own words */
            return status;
        fb_status_clear();
        return fb_fail(FB_NO_MEMORY, "no memory for %s: %.3g GiB", fb_buffer_name(which),
                       (double)bytes / (1 << 30));
    }
    block->data = (char *)block->memory + FB_GUARD;
    block->bytes = bytes;
    return FB_OK;
}

static bool is_absent(const struct fb_tensor *t)
{
    return t && !t->stride[3];
}

static enum fb_status make_tensors(struct fb_buffers *buffers)
{
    for (int i = 0; i < FB_BUFFER_COUNT; i++) {
        struct fb_tensor *t = fb_layout_tensor(&buffers->args, i);
        const struct fb_place *place = &buffers->place[i];
        bool slice = (i == FB_BUFFER_K || i == FB_BUFFER_V) &&
                     buffers->args.problem->layout == FB_LAYOUT_PACKED_QKV;
        if (!t || is_absent(t))
            continue;
        if (!slice)
            FB_TRY(make_block(buffers, i, place->bytes));
        const struct fb_block *home = &buffers->block[slice ? FB_BUFFER_Q : i];
        t->data = home->data + (size_t)place->offset * fb_dtype_bytes(t->dtype);
    }
    return FB_OK;
}

/* [b + 1] offsets from lengths, or from one length for all. */
static void sum_lengths(int64_t *offsets, const int64_t *lengths, int64_t same, int64_t b)
{
    offsets[0] = 0;
    for (int64_t i = 0; i < b; i++)
        offsets[i + 1] = offsets[i] + (lengths ? lengths[i] : same);
}

static enum fb_status make_lengths(struct fb_buffers *buffers)
{
    const struct fb_problem *p = buffers->args.problem;
    const struct fb_memory *memory = buffers->memory;
    const size_t bytes = 2 * ((size_t)p->b + 1) * sizeof(int64_t);
    enum fb_status status;
    void *place = NULL;
    if (!p->qlens && !p->klens)
        return FB_OK;
    int64_t *sums = malloc(bytes);
    status = sums ? memory->alloc(memory, bytes, &place) : FB_NO_MEMORY;
    if (status != FB_OK) {
        status = fb_fail(status, "no memory for %lld lengths", (long long)p->b);
        goto out;
    }
    buffers->cu_lens = place;
    sum_lengths(sums, p->qlens, p->nq, p->b);
    sum_lengths(sums + p->b + 1, p->klens, p->nk, p->b);
    FB_TRY_OUT(memory->write(memory, buffers->cu_lens, sums, bytes));
    buffers->args.cu_qlens = buffers->cu_lens;
    buffers->args.cu_klens = buffers->cu_lens + p->b + 1;
out:
    free(sums);
    return status;
}

enum fb_status fb_buffers_make(struct fb_buffers *buffers, const struct fb_memory *memory,
                               const struct fb_problem *problem, const struct fb_numerics *numerics,
                               const struct fb_buffers_options *options)
{
    enum fb_status status;
    memset(buffers, 0, sizeof *buffers);
    buffers->memory = memory;
    buffers->row_gap = options->row_gap;
    buffers->args.problem = problem;
    buffers->args.numerics = numerics;
    buffers->args.saved_bytes = options->saved_bytes;
    buffers->args.workspace_bytes = options->workspace_bytes;
    FB_TRY_OUT(fb_layout_make(&buffers->args, buffers->place, problem, options->row_gap));
    FB_TRY_OUT(make_tensors(buffers));
    FB_TRY_OUT(make_block(buffers, FB_BUFFER_SAVED, options->saved_bytes));
    FB_TRY_OUT(make_block(buffers, FB_BUFFER_WORKSPACE, options->workspace_bytes));
    buffers->args.saved = buffers->block[FB_BUFFER_SAVED].data;
    buffers->args.workspace = buffers->block[FB_BUFFER_WORKSPACE].data;
    FB_TRY_OUT(make_lengths(buffers));
    FB_TRY_OUT(fb_buffers_poison(buffers, FB_PASS_FORWARD));
    FB_TRY_OUT(fb_buffers_poison(buffers, FB_PASS_BACKWARD));
out:
    if (status != FB_OK)
        fb_buffers_free(buffers);
    return status;
}

void fb_buffers_free(struct fb_buffers *buffers)
{
    for (int i = 0; i < FB_BUFFER_COUNT; i++)
        if (buffers->block[i].memory)
            buffers->memory->free(buffers->memory, buffers->block[i].memory);
    if (buffers->cu_lens)
        buffers->memory->free(buffers->memory, buffers->cu_lens);
    memset(buffers, 0, sizeof *buffers);
}

/* ---- Poison and guards --------------------------------------------------------------------------
 */

/* The guard pattern into `bytes` bytes. */
static enum fb_status write_pattern(const struct fb_memory *memory, char *to, uint64_t bytes)
{
    unsigned char pattern[FB_GUARD];
    for (int i = 0; i < FB_GUARD; i++)
        pattern[i] = fb_guard_byte((uint64_t)i);
    for (uint64_t done = 0; done < bytes; done += FB_GUARD) {
        uint64_t left = bytes - done;
        FB_TRY(memory->write(memory, to + done, pattern, left < FB_GUARD ? left : FB_GUARD));
    }
    return FB_OK;
}

static enum fb_status write_guards(struct fb_buffers *buffers, enum fb_buffer which)
{
    const struct fb_block *block = &buffers->block[which];
    const struct fb_place *place = &buffers->place[which];
    FB_TRY(write_pattern(buffers->memory, block->memory, FB_GUARD));
    FB_TRY(write_pattern(buffers->memory, block->data + block->bytes, FB_GUARD));
    for (int64_t r = 0; place->gap && r < place->rows; r++)
        FB_TRY(write_pattern(buffers->memory, block->data + fb_gap_offset(buffers, which, r),
                             fb_gap_bytes(buffers, which)));
    return FB_OK;
}

static enum fb_status poison(struct fb_buffers *buffers, enum fb_pass pass, bool workspace)
{
    for (int i = 0; i < FB_BUFFER_COUNT; i++) {
        const struct fb_block *block = &buffers->block[i];
        if (!block->memory)
            continue;
        if (fb_buffer_is_output(i, pass) || (workspace && i == FB_BUFFER_WORKSPACE))
            FB_TRY(buffers->memory->fill(buffers->memory, block->data, FB_POISON_BYTE,
                                         (size_t)block->bytes));
        FB_TRY(write_guards(buffers, i));
    }
    return FB_OK;
}

enum fb_status fb_buffers_poison(struct fb_buffers *buffers, enum fb_pass pass)
{
    return poison(buffers, pass, true);
}

enum fb_status fb_buffers_poison_outputs(struct fb_buffers *buffers, enum fb_pass pass)
{
    return poison(buffers, pass, false);
}

enum fb_status fb_buffers_fetch(const struct fb_buffers *from, struct fb_buffers *to,
                                enum fb_pass pass)
{
    for (int i = 0; i < FB_BUFFER_COUNT; i++) {
        const struct fb_block *block = &from->block[i];
        if (block->memory && i != FB_BUFFER_SAVED && fb_buffer_is_output(i, pass))
            FB_TRY(from->memory->read(from->memory, to->block[i].data, block->data,
                                      (size_t)block->bytes));
    }
    return FB_OK;
}

enum fb_status fb_buffers_seal(struct fb_buffers *buffers, enum fb_pass pass)
{
    for (int i = 0; i < FB_BUFFER_COUNT; i++)
        if (buffers->block[i].memory && fb_buffer_is_sealed(i, pass))
            FB_TRY(fb_buffer_hash(buffers, i, &buffers->block[i].hash));
    return FB_OK;
}

static uint64_t element_bytes(const struct fb_buffers *buffers, enum fb_buffer which)
{
    struct fb_args args = buffers->args;
    return fb_dtype_bytes(fb_layout_tensor(&args, which)->dtype);
}

uint64_t fb_gap_bytes(const struct fb_buffers *buffers, enum fb_buffer which)
{
    return (uint64_t)buffers->place[which].gap * element_bytes(buffers, which);
}

uint64_t fb_gap_offset(const struct fb_buffers *buffers, enum fb_buffer which, int64_t row)
{
    const struct fb_place *place = &buffers->place[which];
    return (uint64_t)(row * (place->width + place->gap) + place->width) *
           element_bytes(buffers, which);
}
