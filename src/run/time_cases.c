/* SPDX-License-Identifier: BSD-3-Clause
 *
 * time_cases.c: stage 2 of a group. The backward of all its cases is sampled in turn, then the
 * forward; what is measured goes into the records.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/status.h"
#include "measure/ceilings.h"
#include "measure/machine.h"
#include "measure/plausible.h"
#include "measure/stats.h"
#include "measure/timer.h"
#include "reference/cost.h"
#include "run/bench.h"

/* ---- What the process measures once ------------------------------------------------------------- */

/* The flush buffer and the ceilings belong to the process: measured at the first use, and the
 * ceilings anew for another thread count. */
static struct fb_flush process_flush;
static struct fb_ceilings process_ceilings;

static enum fb_status get_ceilings(int threads, const struct fb_ceilings **ceilings)
{
    if (process_ceilings.threads != threads)
        FB_TRY(fb_ceilings_measure(&process_ceilings, threads));
    *ceilings = &process_ceilings;
    return FB_OK;
}

static enum fb_status make_sampling(const struct fb_measure *measure, struct fb_sampling *sampling)
{
    fb_sampling_default(sampling);
    sampling->warmup = measure->warmup;
    sampling->min_samples = measure->min_samples;
    sampling->max_samples = measure->max_samples;
    sampling->max_seconds = measure->max_seconds;
    sampling->interval = measure->interval;
    sampling->rest = measure->rest;
    sampling->sustained = measure->sustained;
    if (measure->flush && !measure->sustained) {
        if (!process_flush.data)
            FB_TRY(fb_flush_make(&process_flush, 0));
        sampling->flush = &process_flush;
    }
    return FB_OK;
}

/* ---- Columns ------------------------------------------------------------------------------------ */

/* Seconds of a series as milliseconds of a record. */
static enum fb_status store_samples(const struct fb_series *series, double **samples,
                                    size_t *count, struct fb_stats *stats)
{
    for (int i = 0; i < series->count; i++)
        series->samples[i] *= 1e3;
    FB_TRY(fb_samples_set(samples, count, series->samples, (size_t)series->count));
    *stats = fb_stats_of(*samples, *count);
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

static enum fb_status store_backward(struct fb_bench *bench, const struct fb_series *series,
                                     const struct fb_ceilings *ceilings)
{
    struct fb_record *r = &bench->record;
    struct fb_stats s;
    FB_TRY(store_samples(series, &r->bwd_samples, &r->bwd_sample_count, &s));
    r->n_samples = (int64_t)s.count;
    r->bwd_ms = s.median;
    r->bwd_ms_min = s.min;
    r->bwd_ms_q1 = s.q1;
    r->bwd_ms_q3 = s.q3;
    r->bwd_ms_max = s.max;
    r->bwd_ms_lo = s.lo;
    r->bwd_ms_hi = s.hi;
    r->warmup = bench->shared->measure->warmup;
    r->gemm_tflops = ceilings->gemm_gflops * 1e-3;
    r->copy_gbs = ceilings->copy_gbytes;
    if (bench->variant->properties.gemms && s.median > 0) {
        r->bwd_tflops = r->bwd_flops / (s.median * 1e-3) * 1e-12;
        r->bwd_ceiling_pct = 100 * r->bwd_tflops / r->gemm_tflops;
    }
    FB_TRY(store_phases(r, &bench->phases));
    return fb_text_set(&r->stop_rule, "%s", fb_stop_name(series->stop));
}

static enum fb_status store_forward(struct fb_bench *bench, const struct fb_series *series)
{
    struct fb_record *r = &bench->record;
    struct fb_stats s;
    FB_TRY(store_samples(series, &r->fwd_samples, &r->fwd_sample_count, &s));
    r->fwd_n_samples = (int64_t)s.count;
    r->fwd_ms = s.median;
    r->fwd_ms_min = s.min;
    r->fwd_ms_q1 = s.q1;
    r->fwd_ms_q3 = s.q3;
    r->fwd_ms_max = s.max;
    r->fwd_ms_lo = s.lo;
    r->fwd_ms_hi = s.hi;
    if (bench->variant->properties.gemms && s.median > 0)
        r->fwd_tflops = r->fwd_flops / (s.median * 1e-3) * 1e-12;
    return FB_OK;
}

static enum fb_status store_method(struct fb_bench *bench, const struct fb_timer *timer)
{
    const struct fb_measure *m = bench->shared->measure;
    struct fb_record *r = &bench->record;
    FB_TRY(fb_text_set(&r->mode, "%s", m->sustained ? "sustained" : "burst"));
    FB_TRY(fb_text_set(&r->l2, "%s", m->flush && !m->sustained ? "flushed" : "warm"));
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
        fb_plausible(text, r->bwd_ms * 1e-3, &limit);
    return *text ? fb_text_set(&r->reason, "%s%s%s", fb_text(r->reason),
                               r->reason && *r->reason ? "; " : "", text)
                 : FB_OK;
}

/* ---- Sampling ----------------------------------------------------------------------------------- */

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
    *opened = status == FB_OK;
    return *opened ? FB_OK : fb_bench_fail(bench, status);
}

static enum fb_status fail_series(struct fb_bench *bench, const struct fb_series *series)
{
    fb_status_clear();
    return fb_bench_finish(bench, "crashed", series->message);
}

static enum fb_status finish_timed(struct fb_bench *bench, const struct fb_series *backward,
                                   const struct fb_series *forward, const struct fb_timer *timer,
                                   const struct fb_ceilings *ceilings)
{
    char verdict[32], reason[512];
    if (backward->stop == FB_STOP_FAILED)
        return fail_series(bench, backward);
    if (forward && forward->stop == FB_STOP_FAILED)
        return fail_series(bench, forward);
    FB_TRY(store_backward(bench, backward, ceilings));
    if (forward)
        FB_TRY(store_forward(bench, forward));
    FB_TRY(store_method(bench, timer));
    FB_TRY(flag_implausible(bench, ceilings));
    snprintf(verdict, sizeof verdict, "%s", fb_text(bench->record.verdict));
    snprintf(reason, sizeof reason, "%s", fb_text(bench->record.reason));
    return fb_bench_finish(bench, verdict, reason);
}

/* The series of a group: one a bench, and the GEMM of the ceiling among them. */
struct sampled {
    struct fb_series *backward, *forward; /* [count + 1], [count] */
    struct fb_gemm_probe probe;
    struct fb_ceilings ceilings;
};

static enum fb_status make_series(struct sampled *sampled, struct fb_bench *const *benches,
                                  size_t count)
{
    sampled->backward = calloc(count + 1, sizeof *sampled->backward);
    sampled->forward = calloc(count, sizeof *sampled->forward);
    if (!sampled->backward || !sampled->forward)
        return fb_fail(FB_NO_MEMORY, "no memory for %zu series", count);
    for (size_t i = 0; i < count; i++) {
        sampled->backward[i] = (struct fb_series){
            .call = call_backward, .arg = benches[i], .phases = &benches[i]->phases};
        sampled->forward[i] = (struct fb_series){.call = call_forward, .arg = benches[i]};
    }
    sampled->backward[count] =
        (struct fb_series){.call = fb_gemm_probe_call, .arg = &sampled->probe};
    return fb_gemm_probe_open(&sampled->probe, benches[0]->shared->threads);
}

/* The GEMM's rate while these variants ran takes the place of the one measured before. */
static void renew_ceiling(struct sampled *sampled, const struct fb_series *gemm)
{
    struct fb_ceilings *ceilings = &sampled->ceilings;
    if (!gemm->count)
        return;
    const struct fb_stats stats = fb_stats_of(gemm->samples, (size_t)gemm->count);
    ceilings->gemm_gflops = fb_gemm_probe_gflops(stats.median);
    ceilings->gemm_best = fmax(ceilings->gemm_best, fb_gemm_probe_gflops(stats.min));
}

static void free_series(struct sampled *sampled, size_t count)
{
    for (size_t i = 0; sampled->backward && i <= count; i++)
        fb_series_free(&sampled->backward[i]);
    for (size_t i = 0; sampled->forward && i < count; i++)
        fb_series_free(&sampled->forward[i]);
    free(sampled->backward);
    free(sampled->forward);
    fb_gemm_probe_close(&sampled->probe);
}

/* All open benches, sampled in turn. */
static enum fb_status sample_open(struct fb_bench *const *benches, size_t count)
{
    const struct fb_measure *measure = benches[0]->shared->measure;
    struct sampled sampled = {0};
    struct fb_timer timer = fb_timer_cpu();
    const struct fb_ceilings *ceilings;
    struct fb_sampling sampling;
    enum fb_status status;
    FB_TRY_OUT(make_series(&sampled, benches, count));
    FB_TRY_OUT(make_sampling(measure, &sampling));
    FB_TRY_OUT(get_ceilings(benches[0]->shared->threads, &ceilings));
    sampled.ceilings = *ceilings;
    FB_TRY_OUT(fb_sample(&timer, &sampling, sampled.backward,
                         (int)count + (sampled.probe.matrices ? 1 : 0)));
    renew_ceiling(&sampled, &sampled.backward[count]);
    for (size_t i = 0; i < count; i++)
        benches[i]->host.phases = NULL; /* the forward's are not asked for */
    if (measure->forward)
        FB_TRY_OUT(fb_sample(&timer, &sampling, sampled.forward, (int)count));
    for (size_t i = 0; i < count; i++)
        FB_TRY_OUT(finish_timed(benches[i], &sampled.backward[i],
                                measure->forward ? &sampled.forward[i] : NULL, &timer,
                                &sampled.ceilings));
out:
    free_series(&sampled, count);
    return status;
}

/* How many of the benches fit into memory together: at least one. */
static size_t fitting(struct fb_bench *const *benches, size_t count)
{
    uint64_t room = fb_memory_host.available(&fb_memory_host), sum = 0;
    size_t fit = 0;
    while (fit < count && (!fit || !room || sum + benches[fit]->plan.total <= room / 10 * 6))
        sum += benches[fit++]->plan.total;
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
