/* SPDX-License-Identifier: BSD-3-Clause
 *
 * make_records.c: synthetic records. Linked into the tests of the store and of the figures.
 */
#include "tests/report/make_records.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/status.h"
#include "store/columns.h"

/* ---- Numbers ----------------------------------------------------------------------------------
 */

static uint64_t mix(uint64_t x)
{
    x ^= x >> 31;
    x *= 0x9e3779b97f4a7c15u;
    return x ^ (x >> 29);
}

/* In [0, 1), a function of its two arguments. */
static double noise(uint64_t a, uint64_t b)
{
    return (double)(mix(mix(a) + b) >> 11) * 0x1p-53;
}

static uint64_t hash_text(const char *text)
{
    uint64_t hash = 5381;
    while (*text)
        hash = mix(hash + (unsigned char)*text++);
    return hash;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quantile(const double *sorted, size_t count, double p)
{
    double at = p * (double)(count - 1);
    size_t below = (size_t)at;
    double above = sorted[below + 1 < count ? below + 1 : below];
    return sorted[below] + (at - (double)below) * (above - sorted[below]);
}

enum fb_status make_value(struct fb_record *record, const char *column, const char *name)
{
    return fb_column_take(fb_column_find(column), record, name);
}

/* ---- One record -------------------------------------------------------------------------------
 */

static enum fb_status put_names(struct fb_record *r, const struct make_case *c)
{
    FB_TRY(fb_text_set(&r->variant, "%s", c->variant));
    FB_TRY(fb_text_set(&r->backend, "%.*s", (int)strcspn(c->variant, "-"), c->variant));
    FB_TRY(fb_text_set(&r->problem,
                       "b=%lld,h=%lld,hk=%lld,nq=%lld,nk=%lld,d=%lld,dv=%lld,dtype=%s,mask=%s",
                       (long long)c->b, (long long)c->h, (long long)c->h, (long long)c->n,
                       (long long)c->n, (long long)c->d, (long long)c->d, c->dtype, c->mask));
    FB_TRY(fb_text_set(&r->numerics, "dkv=%s,dq=%s,ps=in,delta=fp32,lse=fp32,round=tile",
                       c->acc_dkv, c->acc_dq));
    FB_TRY(fb_text_set(&r->recipe, "randn@%llu", (unsigned long long)c->seed));
    FB_TRY(fb_text_set(&r->key, "%s|%s|%s|%s", r->variant, r->problem, r->numerics, r->recipe));
    FB_TRY(make_value(r, "dtype", c->dtype));
    FB_TRY(make_value(r, "mask", c->mask));
    FB_TRY(make_value(r, "acc_dkv", c->acc_dkv));
    FB_TRY(make_value(r, "acc_dq", c->acc_dq));
    FB_TRY(make_value(r, "ps_type", "in"));
    FB_TRY(make_value(r, "delta_type", "fp32"));
    FB_TRY(make_value(r, "lse_type", "fp32"));
    FB_TRY(make_value(r, "round_step", "tile"));
    FB_TRY(fb_text_set(&r->checked, "all"));
    FB_TRY(make_value(r, "mode", "burst"));
    FB_TRY(make_value(r, "l2", "flushed"));
    FB_TRY(fb_text_set(&r->timer, "cpu"));
    FB_TRY(fb_text_set(&r->isa, "x86-64-v3"));
    FB_TRY(make_value(r, "bwd_stop_rule", "interval"));
    FB_TRY(fb_text_set(&r->throttle, "none"));
    FB_TRY(fb_text_set(&r->started, "2000-01-01T00:00:00Z"));
    return FB_OK;
}

static void put_sizes(struct fb_record *r, const struct make_case *c)
{
    double causal = strcmp(c->mask, "full") ? 0.5 : 1;
    int bytes = strcmp(c->dtype, "fp32") ? 2 : 4;
    bool naive = strstr(c->variant, "naive") != NULL;
    int64_t heads = c->b * c->h;
    r->run = 0;
    r->b = c->b;
    r->h = r->hk = c->h;
    r->nq = r->nk = c->n;
    r->d = r->dv = c->d;
    r->scale = 1 / sqrt((double)c->d);
    r->softcap = r->dropout = 0;
    r->seed = c->seed;
    r->pairs = (int64_t)(causal * (double)heads * (double)c->n * (double)c->n);
    r->bm = r->bn = naive ? 0 : 64;
    r->threads = 2;
    r->warmup = 2;
    r->fwd.flops = 4 * (double)r->pairs * (double)c->d;
    r->bwd.flops = 2.5 * r->fwd.flops;
    r->gemms_executed = strstr(c->variant, "split") ? 7 : naive ? 4 : 5;
    r->saved_bytes = naive ? heads * c->n * c->n * bytes : 0;
    r->workspace_bytes = naive ? heads * c->n * c->n * bytes : heads * c->n * (4 * c->d + 4);
    r->outputs_bytes = 3 * heads * c->n * c->d * bytes;
    r->state_bytes = 0;
    r->peak_bytes = r->saved_bytes + r->workspace_bytes + r->outputs_bytes + (2 << 20);
}

/* A rate that saturates with n, per variant, in TFLOP/s. */
static double rate_of(const struct make_case *c)
{
    double top = strstr(c->variant, "naive")      ? 0.055
                 : strstr(c->variant, "split")    ? 0.062
                 : strstr(c->variant, "ordered")  ? 0.071
                 : strstr(c->variant, "partials") ? 0.068
                                                  : 0.080;
    if (strcmp(c->mask, "full"))
        top *= strstr(c->variant, "naive") ? 0.5 : 0.92;
    return top * (c->d > 64 ? 1.1 : 1) * (double)c->n / ((double)c->n + 180);
}

static enum fb_status put_times(struct fb_record *r, const struct make_case *c)
{
    double ms = r->bwd.flops / rate_of(c) * 1e-9;
    double *samples = malloc((c->samples + 1) * sizeof *samples);
    if (!samples || !c->samples) {
        free(samples);
        return FB_OK;
    }
    for (size_t i = 0; i < c->samples; i++)
        samples[i] = ms * (0.98 + 0.06 * noise(hash_text(r->key), i));
    enum fb_status status = fb_samples_set(&r->bwd, samples, c->samples);
    qsort(samples, c->samples, sizeof *samples, by_value);
    r->bwd.n_samples = (int64_t)c->samples;
    r->bwd.ms_min = samples[0];
    r->bwd.ms_q1 = quantile(samples, c->samples, 0.25);
    r->bwd.ms = quantile(samples, c->samples, 0.5);
    r->bwd.ms_q3 = quantile(samples, c->samples, 0.75);
    r->bwd.ms_max = samples[c->samples - 1];
    r->bwd.ms_lo = quantile(samples, c->samples, 0.4);
    r->bwd.ms_hi = quantile(samples, c->samples, 0.6);
    r->fwd.ms = r->bwd.ms / 2.7;
    r->fwd.tflops = r->fwd.flops / r->fwd.ms * 1e-9;
    r->bwd.tflops = r->bwd.flops / r->bwd.ms * 1e-9;
    r->gemm_tflops = 0.098;
    r->copy_gbs = 17.5;
    r->bwd.ceiling_pct = 100 * r->bwd.tflops / r->gemm_tflops;
    r->wall_s = 1.5;
    free(samples);
    return status;
}

/* An error floor by dtype, and growth with n where the accumulator is narrow. */
static enum fb_status put_errors(struct fb_record *r, const struct make_case *c)
{
    static const char *const names[] = {"o", "dq", "dk", "dv"};
    double floor = !strcmp(c->dtype, "fp32") ? 2e-7 : !strcmp(c->dtype, "bf16") ? 2.4e-3 : 4e-4;
    int verdict = FB_OUTCOME_PASS;
    for (size_t i = 0; i < 4; i++) {
        struct fb_tensor_result *t = fb_record_tensor(r, names[i]);
        const char *acc = i == 1 ? c->acc_dq : i ? c->acc_dkv : "fp32";
        double steps = (double)c->n / 64;
        double grow = !strcmp(acc, "bf16")              ? 8e-4 * sqrt(steps)
                      : !strcmp(acc, "bf16-stochastic") ? 1.1e-3 * sqrt(steps)
                      : !strcmp(acc, "bf16-truncate")   ? 1.2e-3 * steps
                      : !strcmp(acc, "fp16")            ? 1e-4 * sqrt(steps)
                                                        : 0;
        double error = sqrt(floor * floor + grow * grow) * (1 + 0.02 * (double)i);
        t->rel_l2 = error;
        t->max_abs = error * 8;
        t->cosine = 1 - error * error / 2;
        t->norm_ratio = 1 + error / 10;
        t->nonfinite = 0;
        t->bound_ratio = 0.3 + 0.05 * (double)i;
        t->deterministic = i == 1 && strstr(c->variant, "atomic") ? 0 : 1;
        FB_TRY(fb_text_set(&t->worst, "[0,%zu,%lld,%zu]", i, (long long)c->n - 1, 3 * i));
        t->verdict = FB_OUTCOME_PASS;
        t->verdict_standard = grow > 2e-3 ? FB_OUTCOME_FAIL : FB_OUTCOME_PASS;
        t->band = error * 8 > 4e-2 ? FB_OUTCOME_FAIL : FB_OUTCOME_PASS;
        FB_TRY(fb_text_set(&t->hash, "%016llx", (unsigned long long)hash_text(r->key) + i));
        if (grow > 2e-3)
            verdict = FB_OUTCOME_FAIL;
    }
    r->outcome = FB_OUTCOME_PASS;
    r->verdict_standard = r->verdict_bands = verdict;
    bool atomic = strstr(c->variant, "atomic") != NULL;
    r->det_runs = 10;
    r->det_equal = atomic ? 3 : 10;
    r->batch_invariant = !atomic;
    FB_TRY(make_value(r, "det_level", atomic ? "none" : "D1+D2"));
    FB_TRY(make_value(r, "det_claim", atomic ? "dk+dv" : "dq+dk+dv"));
    return FB_OK;
}

enum fb_status make_record(struct fb_record *record, const struct make_case *one)
{
    fb_record_init(record);
    FB_TRY(put_names(record, one));
    put_sizes(record, one);
    FB_TRY(put_times(record, one));
    FB_TRY(put_errors(record, one));
    return FB_OK;
}

enum fb_status make_numbered(struct fb_record *record, int number, size_t samples)
{
    double values[64];
    fb_record_init(record);
    FB_TRY(fb_text_set(&record->key, "cpu-split|n=64,d=64|standard|randn@%d", number));
    FB_TRY(fb_text_set(&record->variant, "cpu-split"));
    record->outcome = FB_OUTCOME_UNJUDGED;
    record->nq = record->nk = 64;
    record->seed = (uint64_t)number;
    record->bwd.ms = noise(1, (uint64_t)number);
    record->tensor.dq.max_abs = noise(2, (uint64_t)number) * 1e-7;
    for (size_t i = 0; i < samples && i < 64; i++)
        values[i] = noise((uint64_t)number, i);
    return fb_samples_set(&record->bwd, values, samples < 64 ? samples : 64);
}

/* ---- Sets -------------------------------------------------------------------------------------
 */

enum fb_status make_run(struct fb_run *run, const char *host, int shard, int shards)
{
    fb_run_init(run);
    FB_TRY(fb_run_set(run, "program", "flashback"));
    FB_TRY(fb_run_set(run, "version", "0.0.0"));
    FB_TRY(fb_run_set(run, "git_describe", "synthetic"));
    FB_TRY(fb_run_set(run, "argv", "tests/report/make_records"));
    FB_TRY(fb_run_set(run, "host", "%s", host));
    FB_TRY(fb_run_set(run, "cpu_model", "synthetic values, no machine"));
    FB_TRY(fb_run_set(run, "threads", "2"));
    FB_TRY(fb_run_set(run, "isa", "x86-64-v3"));
    FB_TRY(fb_run_set(run, "started", "2000-01-01T00:00:00Z"));
    FB_TRY(fb_run_set(run, "experiment", "synthetic"));
    FB_TRY(fb_run_set(run, "experiment_text", "[experiment]\nquestion = none; \"synthetic\"\n"));
    FB_TRY(fb_run_set(run, "question", "synthetic values for tests, not measured"));
    FB_TRY(fb_run_set(run, "grid_hash", "0123456789abcdef"));
    FB_TRY(fb_run_set(run, "shard", "%d", shard));
    FB_TRY(fb_run_set(run, "shards", "%d", shards));
    return FB_OK;
}

static enum fb_status add_case(struct fb_results *results, const struct make_case *one)
{
    struct fb_record record;
    enum fb_status status = make_record(&record, one);
    if (status == FB_OK && one->n > 2048 && !strcmp(one->variant, "cpu-naive")) {
        struct make_case refused = *one;
        refused.samples = 0;
        fb_record_free(&record);
        fb_record_init(&record);
        FB_TRY(put_names(&record, &refused));
        put_sizes(&record, &refused);
        record.saved_bytes = record.workspace_bytes = record.peak_bytes = FB_MISSING_INT;
        record.outcome = FB_OUTCOME_REFUSED;
        FB_TRY(fb_text_set(&record.reason, "needs 2.1 GB for P, 1.0 GB is free"));
    }
    if (status == FB_OK)
        status = fb_results_add(results, &record);
    fb_record_free(&record);
    return status;
}

static enum fb_status add_speed(struct fb_results *results)
{
    static const char *const variants[] = {"cpu-naive", "cpu-atomic", "cpu-split", "cpu-ordered",
                                           "cpu-partials"};
    for (int causal = 0; causal < 2; causal++)
        for (int64_t d = 64; d <= 128; d += 64)
            for (int64_t n = 256; n <= 4096; n *= 2)
                for (size_t v = 0; v < sizeof variants / sizeof *variants; v++) {
                    struct make_case one = {
                        variants[v], "fp32", causal ? "causal" : "full", "fp32", "fp32", 1, 8, n, d,
                        21,          1};
                    FB_TRY(add_case(results, &one));
                }
    return FB_OK;
}

static enum fb_status add_memory(struct fb_results *results)
{
    static const char *const variants[] = {"cpu-naive-recompute", "cpu-atomic", "cpu-split"};
    for (int64_t n = 2048; n <= 32768; n *= 2)
        for (size_t v = 0; v < sizeof variants / sizeof *variants; v++) {
            struct make_case one = {variants[v], "bf16", "full", "fp32", "fp32", 1,
                                    1,           n,      128,    0,      2};
            FB_TRY(add_case(results, &one));
        }
    return FB_OK;
}

static enum fb_status add_drift(struct fb_results *results)
{
    static const char *const accs[] = {"fp32", "bf16", "bf16-stochastic", "bf16-truncate", "fp16"};
    for (int64_t n = 256; n <= 16384; n *= 2)
        for (size_t a = 0; a < sizeof accs / sizeof *accs; a++) {
            struct make_case one = {"cpu-split", "bf16", "full", accs[a], accs[a], 1,
                                    1,           n,      64,     3,       3};
            FB_TRY(add_case(results, &one));
        }
    return FB_OK;
}

enum fb_status make_results(struct fb_results *results, const char *grid)
{
    bool all = !strcmp(grid, "all");
    struct fb_run run;
    fb_results_init(results);
    FB_TRY(make_run(&run, "synthetic", 0, 1));
    FB_TRY(fb_results_add_run(results, &run));
    if (all || !strcmp(grid, "speed") || !strcmp(grid, "determinism"))
        FB_TRY(add_speed(results));
    if (all || !strcmp(grid, "memory"))
        FB_TRY(add_memory(results));
    if (all || !strcmp(grid, "drift"))
        FB_TRY(add_drift(results));
    return FB_OK;
}

/* ---- Comparison -------------------------------------------------------------------------------
 */

static bool same_samples(const double *a, size_t a_count, const double *b, size_t b_count)
{
    return a_count == b_count && (!a_count || !memcmp(a, b, a_count * sizeof *a));
}

static bool same_column(const struct fb_column *column, const struct fb_record *a,
                        const struct fb_record *b)
{
    char of_a[FB_SET_TEXT], of_b[FB_SET_TEXT];
    if (fb_column_is_text(column))
        return !strcmp(fb_column_text(column, a, of_a), fb_column_text(column, b, of_b));
    if (fb_column_missing(column, a)) /* any NaN is as good as another */
        return fb_column_missing(column, b);
    return !memcmp((const char *)a + column->offset, (const char *)b + column->offset, 8);
}

bool same_record(const struct fb_record *a, const struct fb_record *b)
{
    for (size_t i = 0; i < fb_column_count; i++)
        if (!same_column(&fb_columns[i], a, b)) {
            printf("# column %s differs\n", fb_columns[i].name);
            return false;
        }
    return same_samples(a->fwd.samples, a->fwd.sample_count, b->fwd.samples, b->fwd.sample_count) &&
           same_samples(a->bwd.samples, a->bwd.sample_count, b->bwd.samples, b->bwd.sample_count);
}
