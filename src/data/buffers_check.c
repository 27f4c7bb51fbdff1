/* SPDX-License-Identifier: BSD-3-Clause
 *
 * buffers_check.c: what a call did to the buffers: guards, sealed blocks, elements never written.
 */
#include "data/buffers_check.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/problem.h"
#include "core/status.h"
#include "data/layout.h"

/* ---- What a pass may write ----------------------------------------------------------------------
 */

bool fb_buffer_is_output(enum fb_buffer which, enum fb_pass pass)
{
    if (pass == FB_PASS_FORWARD)
        return which == FB_BUFFER_O || which == FB_BUFFER_LSE || which == FB_BUFFER_SAVED;
    return which == FB_BUFFER_DQ || which == FB_BUFFER_DK || which == FB_BUFFER_DV ||
           which == FB_BUFFER_DBIAS || which == FB_BUFFER_DSINK;
}

bool fb_buffer_is_sealed(enum fb_buffer which, enum fb_pass pass)
{
    return which != FB_BUFFER_WORKSPACE && !fb_buffer_is_output(which, pass);
}

/* ---- Reading back -------------------------------------------------------------------------------
 */

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

enum fb_status fb_buffer_hash(const struct fb_buffers *buffers, enum fb_buffer which,
                              uint64_t *hash)
{
    const struct fb_block *block = &buffers->block[which];
    return buffers->memory->hash(buffers->memory, block->data, (size_t)block->bytes, hash);
}

/* ---- Checks -------------------------------------------------------------------------------------
 */

static void say(struct fb_finding *found, enum fb_found kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void say(struct fb_finding *found, enum fb_found kind, const char *format, ...)
{
    va_list arguments;
    found->kind = kind;
    va_start(arguments, format);
    vsnprintf(found->text, sizeof found->text, format, arguments);
    va_end(arguments);
}

struct guard_scan {
    uint64_t at; /* of the first wrong byte, counted from the start of the guard */
    bool wrong;
};

static bool look_guard(void *user, const unsigned char *piece, size_t length)
{
    struct guard_scan *guard = user;
    for (size_t i = 0; i < length && !guard->wrong; i++) {
        if (piece[i] == fb_guard_byte(guard->at))
            guard->at++;
        else
            guard->wrong = true;
    }
    return !guard->wrong;
}

static enum fb_status check_guard(const struct fb_buffers *buffers, enum fb_buffer which,
                                  const char *from, uint64_t bytes, const char *where,
                                  struct fb_finding *found)
{
    struct guard_scan state = {0};
    if (found->kind)
        return FB_OK;
    FB_TRY(scan(buffers->memory, from, bytes, look_guard, &state));
    if (state.wrong)
        say(found, FB_FOUND_GUARD, "guard %s %s was written, byte %llu of it", where,
            fb_buffer_name(which), (unsigned long long)state.at);
    return FB_OK;
}

enum fb_status fb_buffers_check_guards(const struct fb_buffers *buffers, struct fb_finding *found)
{
    *found = (struct fb_finding){FB_FOUND_NOTHING, ""};
    for (int i = 0; i < FB_BUFFER_COUNT; i++) {
        const struct fb_block *block = &buffers->block[i];
        const struct fb_place *place = &buffers->place[i];
        if (!block->memory)
            continue;
        FB_TRY(check_guard(buffers, i, block->memory, FB_GUARD, "before", found));
        FB_TRY(check_guard(buffers, i, block->data + block->bytes, FB_GUARD, "after", found));
        for (int64_t r = 0; place->gap && r < place->rows && !found->kind; r++)
            FB_TRY(check_guard(buffers, i, block->data + fb_gap_offset(buffers, i, r),
                               fb_gap_bytes(buffers, i), "between rows of", found));
    }
    return FB_OK;
}

enum fb_status fb_buffers_check_sealed(const struct fb_buffers *buffers, enum fb_pass pass,
                                       struct fb_finding *found)
{
    *found = (struct fb_finding){FB_FOUND_NOTHING, ""};
    for (int i = 0; i < FB_BUFFER_COUNT && !found->kind; i++) {
        uint64_t hash;
        if (!buffers->block[i].memory || !fb_buffer_is_sealed(i, pass))
            continue;
        FB_TRY(fb_buffer_hash(buffers, i, &hash));
        if (hash != buffers->block[i].hash)
            say(found, FB_FOUND_CHANGED, "%s was changed, which this call may not do",
                fb_buffer_name(i));
    }
    return FB_OK;
}

/* NaN keeps its bits through arithmetic: sums on top of what was not cleared show here, too. */
static void say_unwritten(enum fb_buffer which, const struct fb_tensor *t, int64_t row,
                          int64_t column, struct fb_finding *found)
{
    say(found, FB_FOUND_UNWRITTEN,
        "%s was not written at [%lld,%lld,%lld,%lld], or made from memory that was not",
        fb_buffer_name(which), (long long)(row / t->shape[2] / t->shape[1]),
        (long long)(row / t->shape[2] % t->shape[1]), (long long)(row % t->shape[2]),
        (long long)column);
}

static enum fb_status check_rows(const struct fb_buffers *buffers, enum fb_buffer which,
                                 const struct fb_tensor *t, struct fb_finding *found)
{
    int64_t first;
    FB_TRY(buffers->memory->find_ones(buffers->memory, t, &first));
    if (first >= 0)
        say_unwritten(which, t, first / t->shape[3], first % t->shape[3], found);
    return FB_OK;
}

enum fb_status fb_buffers_check_written(const struct fb_buffers *buffers, enum fb_pass pass,
                                        struct fb_finding *found)
{
    struct fb_args args = buffers->args;
    *found = (struct fb_finding){FB_FOUND_NOTHING, ""};
    for (int i = 0; i < FB_BUFFER_COUNT && !found->kind; i++)
        if (fb_buffer_is_output(i, pass) && fb_layout_tensor(&args, i) && buffers->block[i].memory)
            FB_TRY(check_rows(buffers, i, fb_layout_tensor(&args, i), found));
    return FB_OK;
}

enum fb_status fb_buffers_check(const struct fb_buffers *buffers, enum fb_pass pass,
                                struct fb_finding *found)
{
    FB_TRY(fb_buffers_check_guards(buffers, found));
    if (!found->kind)
        FB_TRY(fb_buffers_check_sealed(buffers, pass, found));
    if (!found->kind)
        FB_TRY(fb_buffers_check_written(buffers, pass, found));
    return FB_OK;
}
