/* SPDX-License-Identifier: BSD-3-Clause
 *
 * buffers.h: all memory of one case. Every tensor, the saved block and the workspace lie in
 * allocations of their own with guard words on both sides, and the gaps that a layout leaves
 * between rows hold guard words too. What a variant must write is poisoned with NaN before the
 * call; what it must not write is hashed.
 *
 *     fb_buffers_make -> fb_inputs_fill -> fb_buffers_poison -> fb_buffers_seal(FORWARD)
 *     -> forward -> fb_buffers_check(FORWARD) -> fb_buffers_poison -> fb_buffers_seal(BACKWARD) ...
 *
 * The memory itself is reached through struct fb_memory, so that a GPU's needs another table of
 * functions and nothing else here.
 */
#ifndef FB_DATA_BUFFERS_H
#define FB_DATA_BUFFERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/memory.h"
#include "data/layout.h"
#include "flashback.h"

/* One allocation: GUARD bytes, the data, GUARD bytes. */
struct fb_block {
    void *memory;   /* NULL: this buffer is absent, or a slice of another's block */
    char *data;     /* memory + the guard */
    uint64_t bytes; /* of data */
    uint64_t hash;  /* since the last seal */
};

struct fb_buffers {
    const struct fb_memory *memory;
    struct fb_block block[FB_BUFFER_COUNT]; /* packed q, k, v share q's */
    struct fb_place place[FB_BUFFER_COUNT];
    int64_t row_gap;
    struct fb_args args; /* points into the blocks; hand it to the variant */
    int64_t *cu_lens;    /* what args.cu_qlens and args.cu_klens point to; in `memory`, too */
};

struct fb_buffers_options {
    size_t saved_bytes, workspace_bytes; /* what the variant's sizes() asked for */
    int64_t row_gap; /* elements of guard between rows of q, k, v, o, dout, dq, dk, dv; 0: none */
};

/* Allocates all and lays out args. problem and numerics are borrowed and must outlive the buffers.
 * FB_NO_MEMORY names the buffer and its GiB. On failure *buffers holds nothing. */
enum fb_status fb_buffers_make(struct fb_buffers *buffers, const struct fb_memory *memory,
                               const struct fb_problem *problem, const struct fb_numerics *numerics,
                               const struct fb_buffers_options *options);
void fb_buffers_free(struct fb_buffers *buffers);

/* 0xFF bytes (a NaN in every dtype) into what the pass must write, and into the workspace. Guards
 * and gaps are written afresh. */
enum fb_status fb_buffers_poison(struct fb_buffers *buffers, enum fb_pass pass);

/* The same without the workspace, which stays as the last call left it. */
enum fb_status fb_buffers_poison_outputs(struct fb_buffers *buffers, enum fb_pass pass);

/* Hashes what the pass must leave alone: the inputs, and for the backward o, lse and saved. */
enum fb_status fb_buffers_seal(struct fb_buffers *buffers, enum fb_pass pass);

const char *fb_buffer_name(enum fb_buffer buffer);

/* Of the tensors a pass must write: all blocks of `from` into those of `to`, which lie in host
 * memory and were made for the same problem without gaps; the saved block stays. */
enum fb_status fb_buffers_fetch(const struct fb_buffers *from, struct fb_buffers *to,
                                enum fb_pass pass);

/* A hash of one buffer's bytes, by whoever holds them: to be compared with others of the same
 * memory. */
enum fb_status fb_buffer_hash(const struct fb_buffers *buffers, enum fb_buffer buffer,
                              uint64_t *hash);

/* The guard behind row `row` of a block with gaps. */
uint64_t fb_gap_offset(const struct fb_buffers *buffers, enum fb_buffer buffer, int64_t row);
uint64_t fb_gap_bytes(const struct fb_buffers *buffers, enum fb_buffer buffer);

#endif
