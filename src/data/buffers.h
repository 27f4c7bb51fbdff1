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

#include "flashback.h"

/* Where buffers lie. read and write move bytes between that memory and the host's. */
struct fb_memory {
    const char *name;                                                                  /* "host" */
    enum fb_status (*alloc)(const struct fb_memory *memory, size_t bytes, void **out); /* 256 B */
    void (*free)(const struct fb_memory *memory, void *data);
    enum fb_status (*write)(const struct fb_memory *memory, void *to, const void *from,
                            size_t bytes);
    enum fb_status (*read)(const struct fb_memory *memory, void *to, const void *from,
                           size_t bytes);
    enum fb_status (*fill)(const struct fb_memory *memory, void *to, int byte, size_t bytes);
    /* Bytes that can be allocated now, 0 if unknown. */
    uint64_t (*available)(const struct fb_memory *memory);
    /* Looks, taken where the bytes lie. A number that any change of a byte changes; and the least
     * index, over [b, h, n, c], of an element whose bits are all ones, -1 if there is none. */
    enum fb_status (*hash)(const struct fb_memory *memory, const void *from, size_t bytes,
                           uint64_t *out);
    enum fb_status (*find_ones)(const struct fb_memory *memory, const struct fb_tensor *tensor,
                                int64_t *first);
    void *own; /* of the implementation, a stream say */
};

extern const struct fb_memory fb_memory_host;

/* What a case will allocate, before anything is allocated. In bytes, guards left out. */
struct fb_plan {
    uint64_t inputs;    /* q, k, v, dout, dlse, bias, sink, alibi */
    uint64_t forward;   /* o and lse */
    uint64_t outputs;   /* dq, dk, dv, dbias, dsink */
    uint64_t saved;     /* the variant's saved block, beyond o and lse */
    uint64_t workspace; /* the variant's workspace */
    uint64_t total;     /* all of these */
};

/* FB_REFUSED with the GiB figure when the sizes do not fit 64 bits; else what sizes() says. variant
 * may be NULL: saved and workspace are 0. */
enum fb_status fb_plan_make(struct fb_plan *plan, const struct fb_problem *problem,
                            const struct fb_numerics *numerics, const struct fb_variant *variant);

/* FB_REFUSED, naming both figures in GiB, when `total` and `extra` (the harness's own needs, such
 * as a reference) exceed what memory->available() reports. */
enum fb_status fb_plan_check(const struct fb_plan *plan, const struct fb_memory *memory,
                             uint64_t extra);

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

/* One allocation: GUARD bytes, the data, GUARD bytes. */
struct fb_block {
    void *memory;   /* NULL: this buffer is absent, or a slice of another's block */
    char *data;     /* memory + the guard */
    uint64_t bytes; /* of data */
    uint64_t hash;  /* since the last seal */
};

/* A tensor's place: bytes of the block that holds it, in rows of `width` elements and `gap` more.
 * Slices of a packed block have bytes == 0 and an offset into the block of q. */
struct fb_place {
    uint64_t bytes;
    int64_t offset; /* elements from the start of the block */
    int64_t rows, width, gap;
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

/* What a check found: text is "" when all is well, else one line ("guard after dk: byte 12"). */
struct fb_finding {
    char text[160];
};

/* Guards and gaps hold their pattern. */
enum fb_status fb_buffers_check_guards(const struct fb_buffers *buffers, struct fb_finding *found);
/* The sealed buffers still have their hash. */
enum fb_status fb_buffers_check_sealed(const struct fb_buffers *buffers, enum fb_pass pass,
                                       struct fb_finding *found);
/* No element of a tensor the pass must write still holds the poison; names the first index. */
enum fb_status fb_buffers_check_written(const struct fb_buffers *buffers, enum fb_pass pass,
                                        struct fb_finding *found);
/* All three; the first fault found. */
enum fb_status fb_buffers_check(const struct fb_buffers *buffers, enum fb_pass pass,
                                struct fb_finding *found);

const char *fb_buffer_name(enum fb_buffer buffer);

/* Of the tensors a pass must write: all blocks of `from` into those of `to`, which lie in host
 * memory and were made for the same problem without gaps; the saved block stays. */
enum fb_status fb_buffers_fetch(const struct fb_buffers *from, struct fb_buffers *to,
                                enum fb_pass pass);

/* A hash of one buffer's bytes, by whoever holds them: to be compared with others of the same
 * memory. */
enum fb_status fb_buffer_hash(const struct fb_buffers *buffers, enum fb_buffer buffer,
                              uint64_t *hash);

/* Elements of a tensor, stride-0 dimensions counted in full. */
int64_t fb_tensor_elements(const struct fb_tensor *tensor);
/* Element offset of [b, h, n, c]. */
int64_t fb_tensor_offset(const struct fb_tensor *tensor, int64_t b, int64_t h, int64_t n,
                         int64_t c);

#endif
