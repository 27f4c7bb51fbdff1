/* SPDX-License-Identifier: BSD-3-Clause
 *
 * layout.h: shape and strides of every tensor of a problem, before any memory exists, and how
 * guards and poison look.
 */
#ifndef FB_DATA_LAYOUT_H
#define FB_DATA_LAYOUT_H

#include <stdint.h>

#include <stdbool.h>

#include "flashback.h"

enum fb_buffer {
    FB_BUFFER_Q,
    FB_BUFFER_K,
    FB_BUFFER_V,
    FB_BUFFER_O,
    FB_BUFFER_LSE,
    FB_BUFFER_DOUT,
    FB_BUFFER_DQ,
    FB_BUFFER_DK,
    FB_BUFFER_DV,
    FB_BUFFER_DLSE,
    FB_BUFFER_BIAS,
    FB_BUFFER_DBIAS,
    FB_BUFFER_SINK,
    FB_BUFFER_DSINK,
    FB_BUFFER_ALIBI,
    FB_BUFFER_SAVED,
    FB_BUFFER_WORKSPACE,
    FB_BUFFER_COUNT
};

enum fb_pass { FB_PASS_FORWARD, FB_PASS_BACKWARD };

/* A tensor's place: bytes of the block that holds it, in rows of `width` elements and `gap` more.
 * Slices of a packed block have bytes == 0 and an offset into the block of q. */
struct fb_place {
    uint64_t bytes;
    int64_t offset; /* elements from the start of the block */
    int64_t rows, width, gap;
};

/* Fills args' tensors (data stays NULL) and the places. An absent tensor has shape all 0 and no
 * bytes. FB_REFUSED when a size does not fit 63 bits. */
enum fb_status fb_layout_make(struct fb_args *args, struct fb_place place[FB_BUFFER_COUNT],
                              const struct fb_problem *problem, int64_t row_gap);

/* The tensor of args a buffer holds; NULL for saved and workspace. */
struct fb_tensor *fb_layout_tensor(struct fb_args *args, enum fb_buffer buffer);

/* Guard bytes on each side of a block; a multiple of every alignment in use. */
enum { FB_GUARD = 256, FB_POISON_BYTE = 0xFF };

/* Byte i of a guard: the halves 0xFFA5, so that who reads a guard as bf16, fp16 or fp32 reads NaN,
 * and yet not the poison. */
static inline unsigned char fb_guard_byte(uint64_t i)
{
    return i & 1 ? 0xFF : 0xA5;
}

/* What the pass must write, and what it must leave as it was: all the rest but the workspace (a
 * forward may not touch the gradients either). */
bool fb_buffer_is_output(enum fb_buffer buffer, enum fb_pass pass);
bool fb_buffer_is_sealed(enum fb_buffer buffer, enum fb_pass pass);

#endif
