/* SPDX-License-Identifier: BSD-3-Clause
 *
 * bench.h: one case at work inside a worker: its variant, its buffers, its record. Checking
 * (check_case.h) and timing (time_cases.h) both go through the calls below, which tell the beacon
 * whose call is under way.
 */
#ifndef FB_WORK_BENCH_H
#define FB_WORK_BENCH_H

#include "data/buffers.h"
#include "data/footprint.h"
#include "measure/context.h"
#include "measure/device.h"
#include "measure/phases.h"
#include "verify/judge.h"
#include "work/channel.h"

/* What the cases of a group share. */
struct fb_shared {
    struct fb_channel *channel;
    const struct fb_measure *measure;
    struct fb_problem problem;
    struct fb_buffers inputs; /* host memory: the master copy of the inputs; its outputs are where
                                 those of a device are fetched to */
    struct fb_judge *judge;
    const uint8_t *keep; /* dropout mask given from outside (golden data), or NULL */
    int threads;
    bool control_known; /* what the positive control of the determinism test showed; asked once */
    enum fb_control control;
};

struct fb_bench {
    struct fb_shared *shared;
    size_t index; /* in the group */
    const struct fb_variant *variant;
    struct fb_numerics numerics;
    size_t saved_bytes, workspace_bytes;
    struct fb_plan plan;
    struct fb_record record;
    double begun;
    bool sent;
    bool torn; /* it wrote where it must not, or the device failed under it: the process is not
                  to be trusted any more */
    struct fb_device *device; /* where it runs; NULL before fb_bench_ask */
    /* While open: */
    bool open;
    struct fb_problem problem; /* its own copy: the others' stays what it is, whatever is done */
    struct fb_buffers buffers;
    struct fb_host_context host;
    struct fb_phases phases;
    void *state;
};

/* Asks the variant whether and with how much memory it takes the case. FB_REFUSED says why not. */
enum fb_status fb_bench_ask(struct fb_bench *bench);

/* Allocates, copies the inputs, prepares. */
enum fb_status fb_bench_open(struct fb_bench *bench);
void fb_bench_close(struct fb_bench *bench);

/* Enqueue; on a device the beacon stays until fb_bench_wait, which waits for the work. */
enum fb_status fb_bench_forward(struct fb_bench *bench);
enum fb_status fb_bench_backward(struct fb_bench *bench);
enum fb_status fb_bench_wait(struct fb_bench *bench);

/* The tensors that the pass wrote, in host memory; valid until the next fetch of the group. */
enum fb_status fb_bench_fetch(struct fb_bench *bench, enum fb_pass pass, struct fb_args *outputs);

/* Ends the case: outcome and reason into the record, and the record to the supervisor. */
enum fb_status fb_bench_finish(struct fb_bench *bench, enum fb_outcome outcome, const char *reason);

/* The same of a case whose record holds both already. */
enum fb_status fb_bench_send(struct fb_bench *bench);

/* The same after a failed call or allocation: takes the message, and clears it. FB_REFUSED and
 * FB_NO_MEMORY are refusals, FB_DEVICE and the rest crashes of the variant. */
enum fb_status fb_bench_fail(struct fb_bench *bench, enum fb_status status);

#endif
