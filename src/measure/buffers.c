/* SPDX-License-Identifier: BSD-3-Clause */
#include "measure/buffers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/problem.h"
#include "core/status.h"
#include "measure/layout.h"
#include "measure/memory.h"

/* Guard bytes on each side of a block; a multiple of every alignment in use. */
enum { GUARD = 256, GUARD_BYTE = 0xA5, POISON_BYTE = 0xFF };

const char *fb_buffer_name(enum fb_buffer buffer)
{
    static const char *const names[FB_BUFFER_COUNT] = {
        "q",    "k",    "v",     "o",    "lse",   "dout",  "dq",    "dk",       "dv",
        "dlse", "bias", "dbias", "sink", "dsink", "alibi", "saved", "workspace"};
    return names[buffer];
}

int64_t fb_tensor_elements(const struct fb_tensor *t)
{
    return t->shape[0] * t->shape[1] * t->shape[2] * t->shape[3];
}

int64_t fb_tensor_offset(const struct fb_tensor *t, int64_t b, int64_t h, int64_t n, int64_t c)
{
    return b * t->stride[0] + h * t->stride[1] + n * t->stride[2] + c * t->stride[3];
}

/* ---- Host memory -------------------------------------------------------------------------------- */

static enum fb_status host_alloc(const struct fb_memory *memory, size_t bytes, void **out)
{
    (void)memory;
    return posix_memalign(out, 256, bytes ? bytes : 1) ? FB_NO_MEMORY : FB_OK;
}

static void host_free(const struct fb_memory *memory, void *data)
{
    (void)memory;
    free(data);
}

static enum fb_status host_copy(const struct fb_memory *memory, void *to, const void *from,
                                size_t bytes)
{
    (void)memory;
    if (bytes)
        memcpy(to, from, bytes);
    return FB_OK;
}

static enum fb_status host_fill(const struct fb_memory *memory, void *to, int byte, size_t bytes)
{
    (void)memory;
    memset(to, byte, bytes);
    return FB_OK;
}

static uint64_t host_available(const struct fb_memory *memory)
{
    (void)memory;
    return fb_memory_available();
}

const struct fb_memory fb_memory_host = {.name = "host",
                                         .alloc = host_alloc,
                                         .free = host_free,
                                         .write = host_copy,
                                         .read = host_copy,
                                         .fill = host_fill,
                                         .available = host_available};

/* ---- Making ------------------------------------------------------------------------------------- */

static enum fb_status make_block(struct fb_buffers *buffers, enum fb_buffer which, uint64_t bytes)
{
    struct fb_block *block = &buffers->block[which];
    if (bytes > SIZE_MAX - 2 * GUARD ||
        buffers->memory->alloc(buffers->memory, (size_t)bytes + 2 * GUARD, &block->memory)) {
        block->memory = NULL;
        fb_status_clear();
        return fb_fail(FB_NO_MEMORY, "no memory for %s: %.3g GiB", fb_buffer_name(which),
                       (double)bytes / (1 << 30));
    }
    block->data = (char *)block->memory + GUARD;
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
    if (!p->qlens && !p->klens)
        return FB_OK;
    buffers->cu_lens = calloc(2 * ((size_t)p->b + 1), sizeof *buffers->cu_lens);
    if (!buffers->cu_lens)
        return fb_fail(FB_NO_MEMORY, "no memory for %lld lengths", (long long)p->b);
    sum_lengths(buffers->cu_lens, p->qlens, p->nq, p->b);
    sum_lengths(buffers->cu_lens + p->b + 1, p->klens, p->nk, p->b);
    buffers->args.cu_qlens = buffers->cu_lens;
    buffers->args.cu_klens = buffers->cu_lens + p->b + 1;
    return FB_OK;
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
    free(buffers->cu_lens);
    memset(buffers, 0, sizeof *buffers);
}

/* ---- Poison and guards -------------------------------------------------------------------------- */

static bool is_output(enum fb_buffer which, enum fb_pass pass)
{
    if (pass == FB_PASS_FORWARD)
        return which == FB_BUFFER_O || which == FB_BUFFER_LSE || which == FB_BUFFER_SAVED;
    return which == FB_BUFFER_DQ || which == FB_BUFFER_DK || which == FB_BUFFER_DV ||
           which == FB_BUFFER_DBIAS || which == FB_BUFFER_DSINK;
}

/* Everything else but the workspace must come back as it was; before a forward the gradients and
 * before a backward nothing else may be written. */
static bool is_sealed(enum fb_buffer which, enum fb_pass pass)
{
    return which != FB_BUFFER_WORKSPACE && !is_output(which, pass);
}

static uint64_t element_bytes(const struct fb_buffers *buffers, enum fb_buffer which)
{
    struct fb_args args = buffers->args;
    return fb_dtype_bytes(fb_layout_tensor(&args, which)->dtype);
}

static enum fb_status write_guards(struct fb_buffers *buffers, enum fb_buffer which)
{
    const struct fb_memory *m = buffers->memory;
    const struct fb_block *block = &buffers->block[which];
    const struct fb_place *place = &buffers->place[which];
    FB_TRY(m->fill(m, block->memory, GUARD_BYTE, GUARD));
    FB_TRY(m->fill(m, block->data + block->bytes, GUARD_BYTE, GUARD));
    if (!place->gap)
        return FB_OK;
    const uint64_t size = element_bytes(buffers, which), row = (uint64_t)(place->width + place->gap);
    for (int64_t r = 0; r < place->rows; r++)
        FB_TRY(m->fill(m, block->data + ((uint64_t)r * row + (uint64_t)place->width) * size,
                       GUARD_BYTE, (size_t)((uint64_t)place->gap * size)));
    return FB_OK;
}

enum fb_status fb_buffers_poison(struct fb_buffers *buffers, enum fb_pass pass)
{
    for (int i = 0; i < FB_BUFFER_COUNT; i++) {
        const struct fb_block *block = &buffers->block[i];
        if (!block->memory)
            continue;
        if (is_output(i, pass) || i == FB_BUFFER_WORKSPACE)
            FB_TRY(buffers->memory->fill(buffers->memory, block->data, POISON_BYTE,
                                         (size_t)block->bytes));
        FB_TRY(write_guards(buffers, i));
    }
    return FB_OK;
}

/* ---- Reading back ------------------------------------------------------------------------------- */

enum { CHUNK = 1 << 20 };

/* Hands the bytes of a range, in pieces, to `look`, which returns false to stop. */
static enum fb_status scan(const struct fb_memory *memory, const char *from, uint64_t bytes,
                           bool (*look)(void *user, const unsigned char *piece, size_t length),
                           void *user)
{
    unsigned char *piece = malloc(bytes < CHUNK ? (size_t)bytes + 1 : CHUNK);
    enum fb_status status = piece ? FB_OK : fb_fail(FB_NO_MEMORY, "no memory to look at buffers");
    for (uint64_t done = 0; status == FB_OK && done < bytes;) {
        size_t length = bytes - done < CHUNK ? (size_t)(bytes - done) : CHUNK;
        status = memory->read(memory, piece, from + done, length);
        if (status == FB_OK && !look(user, piece, length))
            break;
        done += length;
    }
    free(piece);
    return status;
}

/* Eight bytes a step, each step a bijection of the state: any single change is seen. */
static bool hash_piece(void *user, const unsigned char *piece, size_t length)
{
    uint64_t hash = *(uint64_t *)user, word;
    size_t i = 0;
    for (; i + 8 <= length; i += 8) {
        memcpy(&word, piece + i, 8);
        hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
        hash ^= hash >> 29;
    }
    for (; i < length; i++)
        hash = (hash ^ piece[i]) * 0x9E3779B97F4A7C15u;
    *(uint64_t *)user = hash;
    return true;
}

static enum fb_status hash_block(const struct fb_buffers *buffers, const struct fb_block *block,
                                 uint64_t *hash)
{
    *hash = 0x243F6A8885A308D3u;
    return scan(buffers->memory, block->data, block->bytes, hash_piece, hash);
}

enum fb_status fb_buffers_seal(struct fb_buffers *buffers, enum fb_pass pass)
{
    for (int i = 0; i < FB_BUFFER_COUNT; i++)
        if (buffers->block[i].memory && is_sealed(i, pass))
            FB_TRY(hash_block(buffers, &buffers->block[i], &buffers->block[i].hash));
    return FB_OK;
}

/* ---- Checks ------------------------------------------------------------------------------------- */

struct guard_scan {
    uint64_t at; /* of the first wrong byte, counted over what was scanned */
    bool wrong;
};

static bool look_guard(void *user, const unsigned char *piece, size_t length)
{
    struct guard_scan *scan_state = user;
    for (size_t i = 0; i < length; i++) {
        if (piece[i] != GUARD_BYTE) {
            scan_state->wrong = true;
            return false;
        }
        scan_state->at++;
    }
    return true;
}

static enum fb_status check_guard(const struct fb_buffers *buffers, enum fb_buffer which,
                                  const char *from, uint64_t bytes, const char *where,
                                  struct fb_finding *found)
{
    struct guard_scan state = {0};
    if (*found->text)
        return FB_OK;
    FB_TRY(scan(buffers->memory, from, bytes, look_guard, &state));
    if (state.wrong)
        snprintf(found->text, sizeof found->text, "guard %s %s was written, byte %llu of it", where,
                 fb_buffer_name(which), (unsigned long long)state.at);
    return FB_OK;
}

enum fb_status fb_buffers_check_guards(const struct fb_buffers *buffers, struct fb_finding *found)
{
    found->text[0] = '\0';
    for (int i = 0; i < FB_BUFFER_COUNT; i++) {
        const struct fb_block *block = &buffers->block[i];
        const struct fb_place *place = &buffers->place[i];
        if (!block->memory)
            continue;
        FB_TRY(check_guard(buffers, i, block->memory, GUARD, "before", found));
        FB_TRY(check_guard(buffers, i, block->data + block->bytes, GUARD, "after", found));
        const uint64_t size = place->gap ? element_bytes(buffers, i) : 0;
        for (int64_t r = 0; place->gap && r < place->rows; r++)
            FB_TRY(check_guard(buffers, i,
                               block->data + (uint64_t)(r * (place->width + place->gap) +
                                                        place->width) * size,
                               (uint64_t)place->gap * size, "between rows of", found));
    }
    return FB_OK;
}

enum fb_status fb_buffers_check_sealed(const struct fb_buffers *buffers, enum fb_pass pass,
                                       struct fb_finding *found)
{
    found->text[0] = '\0';
    for (int i = 0; i < FB_BUFFER_COUNT && !*found->text; i++) {
        uint64_t hash;
        if (!buffers->block[i].memory || !is_sealed(i, pass))
            continue;
        FB_TRY(hash_block(buffers, &buffers->block[i], &hash));
        if (hash != buffers->block[i].hash)
            snprintf(found->text, sizeof found->text, "%s was changed, which this call may not do",
                     fb_buffer_name(i));
    }
    return FB_OK;
}

/* Does a row hold an element whose bytes are all poison? Gives its column, else -1. */
static int64_t find_poison(const unsigned char *row, int64_t elements, size_t size)
{
    for (int64_t c = 0; c < elements; c++) {
        const unsigned char *e = row + (size_t)c * size;
        bool poison = true;
        for (size_t i = 0; i < size; i++)
            poison &= e[i] == POISON_BYTE;
        if (poison)
            return c;
    }
    return -1;
}

static enum fb_status check_rows(const struct fb_buffers *buffers, enum fb_buffer which,
                                 const struct fb_tensor *t, struct fb_finding *found)
{
    const size_t size = fb_dtype_bytes(t->dtype), bytes = (size_t)t->shape[3] * size;
    const int64_t rows = t->shape[0] * t->shape[1] * t->shape[2];
    unsigned char *row = malloc(bytes + 1);
    enum fb_status status = row ? FB_OK : fb_fail(FB_NO_MEMORY, "no memory for a row");
    for (int64_t r = 0; r < rows && status == FB_OK && !*found->text; r++) {
        int64_t n = r % t->shape[2], h = r / t->shape[2] % t->shape[1];
        int64_t b = r / t->shape[2] / t->shape[1];
        const char *from = (const char *)t->data + (size_t)fb_tensor_offset(t, b, h, n, 0) * size;
        status = buffers->memory->read(buffers->memory, row, from, bytes);
        int64_t column = status == FB_OK ? find_poison(row, t->shape[3], size) : -1;
        if (column >= 0)
            snprintf(found->text, sizeof found->text, "%s was not written at [%lld,%lld,%lld,%lld]",
                     fb_buffer_name(which), (long long)b, (long long)h, (long long)n,
                     (long long)column);
    }
    free(row);
    return status;
}

enum fb_status fb_buffers_check_written(const struct fb_buffers *buffers, enum fb_pass pass,
                                        struct fb_finding *found)
{
    struct fb_args args = buffers->args;
    found->text[0] = '\0';
    for (int i = 0; i < FB_BUFFER_COUNT && !*found->text; i++)
        if (is_output(i, pass) && fb_layout_tensor(&args, i) && buffers->block[i].memory)
            FB_TRY(check_rows(buffers, i, fb_layout_tensor(&args, i), found));
    return FB_OK;
}

enum fb_status fb_buffers_check(const struct fb_buffers *buffers, enum fb_pass pass,
                                struct fb_finding *found)
{
    FB_TRY(fb_buffers_check_guards(buffers, found));
    if (!*found->text)
        FB_TRY(fb_buffers_check_sealed(buffers, pass, found));
    if (!*found->text)
        FB_TRY(fb_buffers_check_written(buffers, pass, found));
    return FB_OK;
}
