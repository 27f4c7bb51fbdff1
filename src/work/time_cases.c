/* SPDX-License-Identifier: BSD-3-Clause
 *
 * time_cases.c: stage 2 of a group. The backward of all its cases is sampled in turn, then the
 * forward; what is measured goes into the records.
 */
#include "work/time_cases.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "core/cost.h"
#include "core/status.h"
#include "measure/ceilings.h"
#include "measure/machine.h"
#include "measure/plausible.h"
#include "measure/stats.h"
#include "measure/timer.h"
#include "work/fresh.h"

/* ---- How ----------------------------------------------------------------------------------------
 */

static enum fb_status make_sampling(const struct fb_measure *measure, struct fb_device *device,
                                    struct fb_sampling *sampling)
{
    fb_sampling_default(sampling);
    sampling->warmup = measure->warmup;
    sampling->min_samples = measure->min_samples;
    sampling->max_samples = measure->max_samples;
    sampling->max_seconds = measure->max_seconds;
    sampling->interval = measure->interval;
    sampling->rest = measure->rest >= 0 ? measure->rest : fb_device_is_host(device) ? 0 : 20;
    sampling->sustained = measure->sustained;
    sampling->power = device->power;
    if (measure->flush && !measure->sustained)
        FB_TRY(device->flush(device, &sampling->flush));
    return FB_OK;
}

/* ---- Columns ------------------------------------------------------------------------------------
 */

/* Seconds of a series as milliseconds of a record, and what they say. */
static enum fb_status store_pass(const struct fb_bench *bench, struct fb_pass_result *pass,
                                 const struct fb_series *series)
{
    static const int rules[] = {[FB_STOP_INTERVAL] = FB_RULE_INTERVAL,
                                [FB_STOP_SAMPLES] = FB_RULE_SAMPLES,
                                [FB_STOP_SECONDS] = FB_RULE_SECONDS};
    for (int i = 0; i < series->count; i++)
        series->samples[i] *= 1e3;
    FB_TRY(fb_samples_set(pass, series->samples, (size_t)series->count));
    const struct fb_stats s = fb_stats_of(pass->samples, pass->sample_count);
    pass->stop_rule = rules[series->stop];
    pass->n_samples = (int64_t)s.count;
    pass->ms = s.median;
    pass->ms_min = s.min;
    pass->ms_q1 = s.q1;
    pass->ms_q3 = s.q3;
    pass->ms_max = s.max;
    pass->ms_lo = s.lo;
    pass->ms_hi = s.hi;
    if (bench->variant->properties.gemms && s.median > 0) {
        pass->tflops = pass->flops / (s.median * 1e-3) * 1e-12;
        pass->ceiling_pct = 100 * pass->tflops / bench->record.gemm_tflops;
    }
    /* Energy only where the load does not let up between calls. */
    if (bench->shared->measure->sustained && bench->device->power && series->load.calls)
        pass->joules = (series->load.joules_last - series->load.joules_first) / series->load.calls;
    return FB_OK;
}

static enum fb_status store_phases(struct fb_record *r, const struct fb_phases *phases)
{
    char text[FB_PHASES * (FB_PHASE_NAME + 16)] = "";
    size_t used = 0;
    for (int i = 0; i < phases->count && phases->calls; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s=%.4g", i ? ";" : "",
                                 phases->name[i], 1e3 * fb_phases_median(phases, i));
    return fb_text_set(&r->phases, "%s", text);
}

static enum fb_status store_load(struct fb_bench *bench, const struct fb_series *series)
{
    const struct fb_load *load = &series->load;
    struct fb_record *r = &bench->record;
    char throttle[FB_THROTTLE_TEXT];
    if (!bench->device->power)
        return FB_OK;
    r->idle_watts = bench->device->power->idle_watts;
    r->watts = load->watts;
    r->sm_mhz = load->sm_mhz;
    r->celsius = load->celsius;
    fb_throttle_print(load, throttle);
    return fb_text_set(&r->throttle, "%s", throttle);
}

static enum fb_status store_backward(struct fb_bench *bench, const struct fb_series *series,
                                     const struct fb_ceilings *ceilings)
{
    struct fb_record *r = &bench->record;
    r->warmup = bench->shared->measure->warmup;
    r->gemm_tflops = ceilings->gemm_gflops * 1e-3;
    r->copy_gbs = ceilings->copy_gbytes;
    r->launch_us = ceilings->launch_us;
    FB_TRY(store_pass(bench, &r->bwd, series));
    FB_TRY(store_phases(r, &bench->phases));
    return store_load(bench, series);
}

static enum fb_status store_method(struct fb_bench *bench, const struct fb_timer *timer)
{
    const struct fb_measure *m = bench->shared->measure;
    struct fb_record *r = &bench->record;
    r->mode = m->sustained ? FB_MODE_SUSTAINED : FB_MODE_BURST;
    r->l2 = m->flush && !m->sustained ? FB_L2_FLUSHED : FB_L2_WARM;
    return fb_text_set(&r->timer, "%s", timer->kind);
}

/* A time that no machine could reach is kept, but said to be one. */
static enum fb_status flag_implausible(struct fb_bench *bench, const struct fb_ceilings *ceilings)
{
    struct fb_record *r = &bench->record;
    char text[FB_PLAUSIBLE_TEXT] = "";
    const int gemms = bench->variant->properties.gemms;
    const struct fb_plausibility limit = {
        .flops = fb_cost_executed(&bench->shared->problem, r->pairs, gemms < 5 ? gemms : 5),
        .gemm_gflops = ceilings->gemm_best};
    if (gemms)
        fb_plausible(text, r->bwd.ms * 1e-3, &limit);
    return *text ? fb_text_set(&r->reason, "%s%s%s", fb_text(r->reason),
                               r->reason && *r->reason ? "; " : "", text)
                 : FB_OK;
}

/* ---- Sampling -----------------------------------------------------------------------------------
 */

static enum fb_status call_forward(void *bench)
{
    return fb_bench_forward(bench);
}

static enum fb_status call_backward(void *bench)
{
    return fb_bench_backward(bench);
}

/* Opens a bench for timing: buffers hold what a forward leaves. A failure ends that case alone. */
static enum fb_status open_for_timing(struct fb_bench *bench, bool *opened)
{
    enum fb_status status = fb_bench_open(bench);
    if (status == FB_OK)
        status = fb_bench_forward(bench);
    if (status == FB_OK)
        status = fb_bench_wait(bench);
    *opened = status == FB_OK;
    return *opened ? FB_OK : fb_bench_fail(bench, status);
}

/* A call that failed is a crash, one whose results are wrong a failed verdict, and where there was
 * no memory to look at them the case is not taken. */
static enum fb_status fail_series(struct fb_bench *bench, const struct fb_series *series)
{
    const struct fb_fresh *fresh = series->hook_arg;
    fb_status_clear();
    bench->torn |= series->status == FB_DEVICE;
    return fb_bench_finish(bench,
                           fresh && fresh->wrong     ? FB_OUTCOME_FAIL
                           : fresh && fresh->no_room ? FB_OUTCOME_REFUSED
                                                     : FB_OUTCOME_CRASHED,
                           series->message);
}

/* Where a call has failed on the device, or written where it must not, that case ends with its
 * words, and the process with it: the cases that were sampled beside it go to a fresh one. */
static enum fb_status leave_if_lost(struct fb_bench *const *benches, const struct fb_series *series,
                                    size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (series[i].stop == FB_STOP_FAILED &&
            (series[i].status == FB_DEVICE || benches[i]->torn)) {
            FB_TRY(fail_series(benches[i], &series[i]));
            return fb_channel_leave(benches[i]->shared->channel);
        }
    return FB_OK;
}

static enum fb_status finish_timed(struct fb_bench *bench, const struct fb_series *backward,
                                   const struct fb_series *forward, const struct fb_timer *timer,
                                   const struct fb_ceilings *ceilings)
{
    if (backward->stop == FB_STOP_FAILED || backward->stop == FB_STOP_LOST)
        return fail_series(bench, backward);
    if (forward && (forward->stop == FB_STOP_FAILED || forward->stop == FB_STOP_LOST))
        return fail_series(bench, forward);
    FB_TRY(store_backward(bench, backward, ceilings));
    if (forward)
        FB_TRY(store_pass(bench, &bench->record.fwd, forward));
    FB_TRY(store_method(bench, timer));
    FB_TRY(flag_implausible(bench, ceilings));
    return fb_bench_send(bench);
}

/* The series of a group: one a bench, and the GEMM of the ceiling among them. */
struct sampled {
    struct fb_series *backward, *forward, *phases; /* [count + 1], [count], [count] */
    struct fb_fresh *fresh;                        /* [2 count]: backwards, then forwards */
    struct fb_gemm_probe probe;
    struct fb_ceilings ceilings;
};

static enum fb_status make_series(struct sampled *sampled, struct fb_bench *const *benches,
                                  size_t count)
{
    struct fb_device *device = benches[0]->device;
    sampled->backward = calloc(count + 1, sizeof *sampled->backward);
    sampled->forward = calloc(count, sizeof *sampled->forward);
    sampled->phases = calloc(count, sizeof *sampled->phases);
    sampled->fresh = calloc(2 * count, sizeof *sampled->fresh);
    if (!sampled->backward || !sampled->forward || !sampled->phases || !sampled->fresh)
        return fb_fail(FB_NO_MEMORY, "no memory for %zu series", count);
    for (size_t i = 0; i < count; i++) {
        sampled->backward[i] = (struct fb_series){.call = call_backward, .arg = benches[i]};
        sampled->forward[i] = (struct fb_series){.call = call_forward, .arg = benches[i]};
        sampled->phases[i] = sampled->backward[i];
        sampled->phases[i].phases = &benches[i]->phases;
        if (fb_device_is_host(device))
            sampled->backward[i].phases = &benches[i]->phases;
        else
            benches[i]->host.phases = NULL;
    }
    FB_TRY(device->probe(device, benches[0]->shared->problem.dtype, benches[0]->shared->threads,
                         &sampled->probe));
    sampled->backward[count] =
        (struct fb_series){.call = sampled->probe.call, .arg = &sampled->probe};
    return FB_OK;
}

/* The GEMM's rate while these variants ran takes the place of the one measured before. */
static void renew_ceiling(struct sampled *sampled, const struct fb_series *gemm)
{
    struct fb_ceilings *ceilings = &sampled->ceilings;
    if (!gemm->count)
        return;
    const struct fb_stats stats = fb_stats_of(gemm->samples, (size_t)gemm->count);
    ceilings->gemm_gflops = fb_gemm_probe_gflops(&sampled->probe, stats.median);
    ceilings->gemm_best =
        fmax(ceilings->gemm_best, fb_gemm_probe_gflops(&sampled->probe, stats.min));
}

static void free_series(struct sampled *sampled, size_t count)
{
    for (size_t i = 0; sampled->backward && i <= count; i++)
        fb_series_free(&sampled->backward[i]);
    for (size_t i = 0; sampled->forward && i < count; i++)
        fb_series_free(&sampled->forward[i]);
    for (size_t i = 0; sampled->phases && i < count; i++)
        fb_series_free(&sampled->phases[i]);
    free(sampled->backward);
    free(sampled->forward);
    free(sampled->phases);
    free(sampled->fresh);
    fb_gemm_probe_close(&sampled->probe);
}

/* The phases of a device, between events of their own, in calls apart: the events would stand in
 * the way of the samples. */
static enum fb_status sample_phases(struct sampled *sampled, const struct fb_sampling *like,
                                    struct fb_bench *const *benches, size_t count)
{
    struct fb_device *device = benches[0]->device;
    struct fb_sampling few = *like;
    few.warmup = 1;
    few.min_samples = few.max_samples = 5; /* shares of a call, not times to be told apart */
    few.sustained = false;
    few.power = NULL;
    for (size_t i = 0; i < count; i++)
        benches[i]->host.phases = &benches[i]->phases;
    FB_TRY(fb_sample(&device->timer, &few, sampled->phases, (int)count));
    return leave_if_lost(benches, sampled->phases, count);
}

/* Samples series of one pass, `count` of them of benches, every call on inputs that none has seen
 * and looked at afterwards. */
static enum fb_status sample_fresh(struct sampled *sampled, const struct fb_sampling *sampling,
                                   struct fb_bench *const *benches, size_t count,
                                   struct fb_series *series, int all, enum fb_pass pass)
{
    struct fb_fresh *fresh = sampled->fresh + (pass == FB_PASS_FORWARD ? count : 0);
    uint64_t seed;
    if (getrandom(&seed, sizeof seed, 0) != sizeof seed)
        return fb_fail(FB_IO, "the system gives no random numbers");
    for (size_t i = 0; i < count; i++) {
        fb_fresh_init(&fresh[i], benches[i], pass, seed + i);
        series[i].arm = fb_fresh_arm;
        series[i].look = fb_fresh_look;
        series[i].begin = fb_fresh_begin;
        series[i].end = fb_fresh_end;
        series[i].hook_arg = &fresh[i];
    }
    enum fb_status status = fb_sample(&benches[0]->device->timer, sampling, series, all);
    if (status == FB_OK)
        status = leave_if_lost(benches, series, count);
    for (size_t i = 0; i < count; i++)
        fb_fresh_close(&fresh[i]);
    return status;
}

/* The backward of all, with the ceiling's GEMM among them. */
static enum fb_status sample_backward(struct sampled *sampled, const struct fb_sampling *sampling,
                                      struct fb_bench *const *benches, size_t count)
{
    struct fb_device *device = benches[0]->device;
    const int gemm = sampled->probe.call != NULL;
    FB_TRY(sample_fresh(sampled, sampling, benches, count, sampled->backward, (int)count + gemm,
                        FB_PASS_BACKWARD));
    renew_ceiling(sampled, &sampled->backward[count]);
    if (fb_device_is_host(device))
        return FB_OK;
    return sample_phases(sampled, sampling, benches, count);
}

/* All open benches, sampled in turn. */
static enum fb_status sample_open(struct fb_bench *const *benches, size_t count)
{
    const struct fb_measure *measure = benches[0]->shared->measure;
    struct fb_device *device = benches[0]->device;
    struct sampled sampled = {0};
    const struct fb_ceilings *ceilings;
    struct fb_sampling sampling;
    enum fb_status status;
    FB_TRY_OUT(make_sampling(measure, device, &sampling));
    FB_TRY_OUT(device->ceilings(device, benches[0]->shared->problem.dtype,
                                benches[0]->shared->threads, &ceilings));
    sampled.ceilings = *ceilings;
    FB_TRY_OUT(make_series(&sampled, benches, count));
    FB_TRY_OUT(sample_backward(&sampled, &sampling, benches, count));
    for (size_t i = 0; i < count; i++)
        benches[i]->host.phases = NULL; /* the forward's are not asked for */
    if (measure->forward)
        FB_TRY_OUT(sample_fresh(&sampled, &sampling, benches, count, sampled.forward, (int)count,
                                FB_PASS_FORWARD));
    for (size_t i = 0; i < count; i++)
        FB_TRY_OUT(finish_timed(benches[i], &sampled.backward[i],
                                measure->forward ? &sampled.forward[i] : NULL, &device->timer,
                                &sampled.ceilings));
out:
    free_series(&sampled, count);
    return status;
}

/* How many of the benches run on one device and fit into its memory together: at least one. */
static size_t fitting(struct fb_bench *const *benches, size_t count)
{
    const struct fb_memory *memory = benches[0]->device->memory;
    uint64_t room = memory->available(memory), sum = 0;
    size_t fit = 0;
    for (; fit < count && benches[fit]->device == benches[0]->device; fit++) {
        sum += benches[fit]->plan.total + fb_plan_copies(&benches[fit]->plan);
        if (fit && room && sum > room / 10 * 6)
            break;
    }
    return fit;
}

enum fb_status fb_benches_time(struct fb_bench *const *benches, size_t count)
{
    struct fb_bench **open = calloc(count + 1, sizeof *open);
    enum fb_status status = FB_OK;
    if (!open)
        return fb_fail(FB_NO_MEMORY, "no memory for %zu cases", count);
    for (size_t done = 0; done < count;) {
        size_t fit = fitting(benches + done, count - done), opened = 0;
        for (size_t i = 0; i < fit; i++) {
            bool is_open;
            FB_TRY_OUT(open_for_timing(benches[done + i], &is_open));
            if (benches[done + i]->torn)
                FB_TRY_OUT(fb_channel_leave(benches[0]->shared->channel));
            if (is_open)
                open[opened++] = benches[done + i];
        }
        if (opened)
            FB_TRY_OUT(sample_open(open, opened));
        done += fit;
    }
out:
    free(open);
    return status;
}
