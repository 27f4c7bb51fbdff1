/* SPDX-License-Identifier: BSD-3-Clause */
#include "work/fresh.h"

#include <math.h>
#include <string.h>

#include "core/problem.h"
#include "core/status.h"
#include "core/tensor.h"
#include "data/buffers_check.h"
#include "data/layout.h"
#include "work/check_call.h"

/* ---- Copies -------------------------------------------------------------------------------------
 */

static const struct fb_factors ones = {NULL, 1, 1};

static const struct fb_memory *memory_of(const struct fb_fresh *fresh)
{
    return fresh->bench->buffers.memory;
}

static struct fb_tensor tensor_of(const struct fb_fresh *fresh, const struct fb_fresh_copy *copy)
{
    struct fb_args args = fresh->bench->buffers.args;
    return fb_tensor_distinct(fb_layout_tensor(&args, copy->buffer));
}

/* A copy of the tensor in `buffer` as it is now; none where the problem has no such tensor. */
static enum fb_status keep(struct fb_fresh *fresh, struct fb_fresh_copy *list, int *count,
                           enum fb_buffer buffer)
{
    const struct fb_memory *memory = memory_of(fresh);
    struct fb_fresh_copy *copy = &list[*count];
    *copy = (struct fb_fresh_copy){.buffer = buffer, .scaled = buffer != FB_BUFFER_LSE};
    const struct fb_tensor tensor = tensor_of(fresh, copy);
    const int64_t elements = fb_tensor_elements(&tensor);
    void *data;
    if (!tensor.data || !elements)
        return FB_OK;
    FB_TRY(memory->alloc(memory, (size_t)elements * fb_dtype_bytes(tensor.dtype), &data));
    copy->tensor = fb_tensor_dense(&tensor, data);
    (*count)++;
    return memory->scale(memory, &copy->tensor, &tensor, &ones);
}

static enum fb_status keep_all(struct fb_fresh *fresh, const enum fb_buffer *buffers, size_t count,
                               struct fb_fresh_copy *list, int *kept)
{
    for (size_t i = 0; i < count; i++)
        FB_TRY(keep(fresh, list, kept, buffers[i]));
    return FB_OK;
}

static enum fb_status keep_inputs(struct fb_fresh *fresh)
{
    static const enum fb_buffer backward[] = {FB_BUFFER_DOUT, FB_BUFFER_DLSE};
    static const enum fb_buffer forward[] = {FB_BUFFER_V};
    return fresh->pass == FB_PASS_FORWARD
               ? keep_all(fresh, forward, 1, fresh->input, &fresh->inputs)
               : keep_all(fresh, backward, 2, fresh->input, &fresh->inputs);
}

static enum fb_status keep_results(struct fb_fresh *fresh)
{
    static const enum fb_buffer backward[] = {FB_BUFFER_DQ, FB_BUFFER_DK, FB_BUFFER_DV,
                                              FB_BUFFER_DBIAS, FB_BUFFER_DSINK};
    static const enum fb_buffer forward[] = {FB_BUFFER_O, FB_BUFFER_LSE};
    return fresh->pass == FB_PASS_FORWARD
               ? keep_all(fresh, forward, 2, fresh->result, &fresh->results)
               : keep_all(fresh, backward, 5, fresh->result, &fresh->results);
}

/* ---- Limits -------------------------------------------------------------------------------------
 */

/* What a copy is away from a zero that stands for all elements: the sum of its squares, and its
 * largest magnitude. */
static enum fb_status size_of(const struct fb_fresh *fresh, const struct fb_fresh_copy *copy,
                              struct fb_difference *size)
{
    const struct fb_memory *memory = memory_of(fresh);
    struct fb_tensor zero = copy->tensor;
    enum fb_status status;
    FB_TRY(memory->alloc(memory, sizeof(double), &zero.data));
    memset(zero.stride, 0, sizeof zero.stride);
    FB_TRY_OUT(memory->fill(memory, zero.data, 0, sizeof(double)));
    FB_TRY_OUT(memory->compare(memory, &copy->tensor, &zero, &ones, size));
out:
    memory->free(memory, zero.data);
    return status;
}

/* The largest magnitude among what factors go to: inputs and results. */
static enum fb_status find_largest(const struct fb_fresh *fresh, double *largest)
{
    struct fb_difference size;
    *largest = 0;
    for (int i = 0; i < fresh->inputs; i++) {
        FB_TRY(size_of(fresh, &fresh->input[i], &size));
        *largest = fmax(*largest, size.worst);
    }
    for (int i = 0; i < fresh->results; i++) {
        FB_TRY(size_of(fresh, &fresh->result[i], &size));
        if (fresh->result[i].scaled)
            *largest = fmax(*largest, size.worst);
    }
    return FB_OK;
}

static const struct fb_metrics *metrics_of(const struct fb_judgement *judgement,
                                           enum fb_buffer buffer)
{
    for (int i = 0; i < FB_JUDGED_COUNT; i++)
        if (!strcmp(fb_judged_name(i), fb_buffer_name(buffer)))
            return &judgement->metrics[i];
    return NULL;
}

/* Two correct calls are at most as far apart as both are from the truth. What the judge saw of one
 * call stands for either: four times its error, eight times its largest (it may have seen a sample
 * of rows alone). fp16 has a smallest number; below it digits go. */
static enum fb_status set_limits(struct fb_fresh *fresh, const struct fb_judgement *judgement)
{
    for (int i = 0; i < fresh->results; i++) {
        struct fb_fresh_copy *copy = &fresh->result[i];
        const struct fb_metrics *m = metrics_of(judgement, copy->buffer);
        const double elements = (double)fb_tensor_elements(&copy->tensor);
        const double tiny = copy->tensor.dtype == FB_FP16 ? 0x1p-24 : 0x1p-120;
        struct fb_difference size;
        if (!m)
            return fb_fail(FB_INTERNAL, "%s is not judged", fb_buffer_name(copy->buffer));
        FB_TRY(size_of(fresh, copy, &size));
        const bool relative = isfinite(m->rel_l2) && isfinite(size.square);
        const double error =
            relative ? m->rel_l2 * m->rel_l2 * size.square : elements * m->max_abs * m->max_abs;
        copy->square = 16 * error + elements * tiny * tiny;
        copy->worst = 8 * m->max_abs + tiny;
    }
    return FB_OK;
}

/* ---- Opening ------------------------------------------------------------------------------------
 */

static enum fb_status judge(struct fb_fresh *fresh, struct fb_judgement *judgement)
{
    struct fb_bench *bench = fresh->bench;
    struct fb_args outputs;
    FB_TRY(fb_bench_fetch(bench, fresh->pass, &outputs));
    if (fresh->pass == FB_PASS_BACKWARD)
        outputs.o.data = outputs.lse.data = NULL;
    else
        outputs.dq.data = outputs.dk.data = outputs.dv.data = outputs.dbias.data =
            outputs.dsink.data = NULL;
    return fb_check_compare(bench, &outputs, judgement);
}

/* What the first call did is no yardstick unless the judge passes it, too: it may be the call at
 * which a kernel that was checked stops to be honest. (A variant that failed its check is timed
 * only when asked to be.) */
static enum fb_status accept(struct fb_fresh *fresh, const struct fb_findings *findings,
                             const struct fb_judgement *judgement)
{
    const bool failed = findings->reason[0] || judgement->verdict == FB_VERDICT_FAIL;
    if (!failed || fresh->bench->record.outcome == FB_OUTCOME_FAIL)
        return FB_OK;
    fresh->wrong = true;
    return fb_fail(FB_CORRUPT,
                   "the first call of the timing is wrong, where the check's were not: %s",
                   findings->reason[0] ? findings->reason : judgement->reason);
}

/* A variant that computes nothing is not judged: its calls are held to the bits of the first. */
static enum fb_status first_call(struct fb_fresh *fresh)
{
    struct fb_bench *bench = fresh->bench;
    struct fb_findings findings = {.bands_hold = true};
    struct fb_judgement judgement;
    FB_TRY(fb_check_fresh_call(bench, fresh->pass, &findings));
    FB_TRY(keep_results(fresh));
    if (!bench->shared->judge || bench->record.outcome == FB_OUTCOME_UNJUDGED)
        return FB_OK;
    FB_TRY(judge(fresh, &judgement));
    FB_TRY(accept(fresh, &findings, &judgement));
    return set_limits(fresh, &judgement);
}

void fb_fresh_init(struct fb_fresh *fresh, struct fb_bench *bench, enum fb_pass pass, uint64_t seed)
{
    *fresh = (struct fb_fresh){.bench = bench, .pass = pass, .seed = seed};
}

static enum fb_status open_copies(struct fb_fresh *fresh)
{
    double largest;
    fresh->open = true;
    FB_TRY(keep_inputs(fresh));
    FB_TRY(first_call(fresh));
    FB_TRY(find_largest(fresh, &largest));
    return fb_scaling_make(&fresh->scaling, memory_of(fresh), &fresh->bench->shared->problem,
                           &fresh->bench->numerics, largest, fresh->seed);
}

static void free_copies(const struct fb_memory *memory, struct fb_fresh_copy *list, int count)
{
    for (int i = 0; i < count; i++)
        memory->free(memory, list[i].tensor.data);
}

static enum fb_status put_inputs(struct fb_fresh *fresh, const struct fb_factors *factors)
{
    const struct fb_memory *memory = memory_of(fresh);
    for (int i = 0; i < fresh->inputs; i++) {
        const struct fb_tensor to = tensor_of(fresh, &fresh->input[i]);
        FB_TRY(memory->scale(memory, &to, &fresh->input[i].tensor, factors));
    }
    return FB_OK;
}

void fb_fresh_close(struct fb_fresh *fresh)
{
    if (!fresh->open)
        return;
    if (fresh->calls)
        put_inputs(fresh, &ones);
    fb_scaling_free(&fresh->scaling);
    free_copies(memory_of(fresh), fresh->input, fresh->inputs);
    free_copies(memory_of(fresh), fresh->result, fresh->results);
    fresh->open = false;
}

/* ---- Before and after a call --------------------------------------------------------------------
 */

enum fb_status fb_fresh_arm(void *own)
{
    struct fb_fresh *fresh = own;
    if (!fresh->open) {
        const enum fb_status status = open_copies(fresh);
        fresh->no_room = status == FB_NO_MEMORY;
        FB_TRY(status);
    }
    FB_TRY(fb_scaling_draw(&fresh->scaling, (uint64_t)fresh->calls++));
    const struct fb_factors factors = fb_scaling_factors(&fresh->scaling);
    FB_TRY(put_inputs(fresh, &factors));
    return fb_buffers_poison(&fresh->bench->buffers, fresh->pass);
}

static enum fb_span span_of(const struct fb_fresh *fresh)
{
    return fresh->pass == FB_PASS_FORWARD ? FB_SPAN_FORWARD : FB_SPAN_BACKWARD;
}

/* An empty span of the same kind stands before each: on a device it has its flush, too. */
static enum fb_status empty_span(const struct fb_fresh *fresh, struct fb_channel *channel)
{
    struct fb_device *device = fresh->bench->device;
    const struct fb_measure *measure = fresh->bench->shared->measure;
    FB_TRY(fb_channel_begin(channel, fresh->bench->index, FB_SPAN_EMPTY));
    if (measure->flush && !fb_device_is_host(device)) {
        struct fb_flush *flush;
        FB_TRY(device->flush(device, &flush));
        fb_flush_run(flush);
        FB_TRY(device->wait(device));
    }
    return fb_channel_end(channel, fresh->bench->index, FB_SPAN_EMPTY);
}

enum fb_status fb_fresh_begin(void *own)
{
    const struct fb_fresh *fresh = own;
    struct fb_channel *channel = fresh->bench->shared->channel;
    FB_TRY(empty_span(fresh, channel));
    return fb_channel_begin(channel, fresh->bench->index, span_of(fresh));
}

enum fb_status fb_fresh_end(void *own)
{
    struct fb_fresh *fresh = own;
    return fb_channel_end(fresh->bench->shared->channel, fresh->bench->index, span_of(fresh));
}

static enum fb_status fail(struct fb_fresh *fresh, const struct fb_fresh_copy *copy,
                           const struct fb_difference *d)
{
    const int64_t elements = fb_tensor_elements(&copy->tensor);
    fresh->wrong = true;
    return fb_fail(FB_CORRUPT,
                   "timed call %lld: %s is not what a checked call gives: %lld of %lld elements "
                   "differ, by up to %.3g (%.3g is allowed)",
                   (long long)fresh->calls, fb_buffer_name(copy->buffer), (long long)d->count,
                   (long long)elements, d->worst, copy->worst);
}

static enum fb_status look_at(struct fb_fresh *fresh, const struct fb_fresh_copy *copy)
{
    const struct fb_memory *memory = memory_of(fresh);
    const struct fb_factors factors = copy->scaled ? fb_scaling_factors(&fresh->scaling) : ones;
    const struct fb_tensor tensor = tensor_of(fresh, copy);
    struct fb_difference d;
    FB_TRY(memory->compare(memory, &tensor, &copy->tensor, &factors, &d));
    if (!d.count || (d.square <= copy->square && d.worst <= copy->worst))
        return FB_OK;
    return fail(fresh, copy, &d);
}

enum fb_status fb_fresh_look(void *own)
{
    struct fb_fresh *fresh = own;
    struct fb_finding found;
    for (int i = 0; i < fresh->results; i++)
        FB_TRY(look_at(fresh, &fresh->result[i]));
    FB_TRY(fb_buffers_check_guards(&fresh->bench->buffers, &found));
    if (!found.text[0])
        return FB_OK;
    fresh->wrong = fresh->bench->torn = true;
    return fb_fail(FB_CORRUPT, "timed call %lld: %s", (long long)fresh->calls, found.text);
}
