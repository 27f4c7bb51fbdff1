/* SPDX-License-Identifier: BSD-3-Clause
 *
 * fresh.h: a timed call is a checked call. Before each one its inputs are made such as no call has
 * seen (data/scaling.h) and what it must write is poisoned; after it, outside the span, what it
 * wrote is held against what a judged call wrote. So a call that skips its work, repeats an answer
 * or computes less exactly than it was checked to is found at its first sample.
 *
 *     fb_fresh_init -> { fb_fresh_arm -> span -> fb_fresh_look } ... -> fb_fresh_close
 *
 * Cost: one pass over dout and one over the gradients a call, and copies of both in memory.
 */
#ifndef FB_WORK_FRESH_H
#define FB_WORK_FRESH_H

#include "data/scaling.h"
#include "work/bench.h"

enum { FB_FRESH_INPUTS = 2, FB_FRESH_RESULTS = 5 };

/* A copy of a tensor, without gaps, and how far a result may be away from it. */
struct fb_fresh_copy {
    enum fb_buffer buffer; /* whose tensor it is of */
    struct fb_tensor tensor;
    bool scaled;   /* with the factors; lse is not */
    double square; /* the most that the squares may add up to */
    double worst;  /* the most that an element may be away */
};

/* The copies of one pass of one bench. */
struct fb_fresh {
    struct fb_bench *bench;
    enum fb_pass pass;
    struct fb_scaling scaling;
    struct fb_fresh_copy input[FB_FRESH_INPUTS], result[FB_FRESH_RESULTS];
    int inputs, results;
    uint64_t seed;
    bool open;
    int64_t calls; /* armed so far */
    bool no_room;  /* no memory for the copies */
    bool wrong;    /* a timed call's results were not those of the judged one */
};

void fb_fresh_init(struct fb_fresh *fresh, struct fb_bench *bench, enum fb_pass pass,
                   uint64_t seed);
/* Puts the inputs back as they were. */
void fb_fresh_close(struct fb_fresh *fresh);

/* Before a call; on a device, enqueued. The first time it calls the pass on the inputs as they are,
 * has that judged, and keeps inputs and results: the bench is open by then and, for a backward,
 * holds what a forward left. */
enum fb_status fb_fresh_arm(void *fresh);

/* Next to the span: the supervisor looks at its clock. */
enum fb_status fb_fresh_begin(void *fresh);
enum fb_status fb_fresh_end(void *fresh);

/* After a call that has ended. FB_CORRUPT, with `wrong` set, says which result is how far off. */
enum fb_status fb_fresh_look(void *fresh);

#endif
